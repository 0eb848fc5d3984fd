"""Where data lies and who moves it: stores, workloads, events and callers. Pure."""

from ops.capture.recording import RecordedResource, Recording
from ops.diagram.flows import QUEUE, Act, acts, entries, events
from ops.diagram.mermaid import BOTH_WAYS, Chart, Edge
from ops.diagram.world import COLLECTION, Place, World, class_of

BUCKET = "aws:s3/bucket:Bucket"
# Where data lies; what else can be read, such as a repository of images or a log, is no data of the platform.
STORES = frozenset(
    {
        BUCKET,
        "aws:efs/accessPoint:AccessPoint",
        COLLECTION,
        "aws:sns/topic:Topic",
        QUEUE,
    }
)
# Verbs whose data moves from the store to the reader, and those where it goes both ways.
INWARD = frozenset({"reads"})
MUTUAL = frozenset({"mounts", "calls"})


def data_flow_diagram(recording: Recording) -> str:
    """Arrows go the way that the data goes; a bucket is shown by the prefixes that somebody has to do with."""
    world = World(recording)
    chart = Chart()
    all_acts = list(acts(world))
    for act in all_acts:
        if act.place and not _holds_data(act.place):
            continue
        store = (
            _store(chart, world, act.place)
            if act.place
            else chart.node(act.outside, act.outside, shape="outside")
        )
        _arrows(chart, _workload(chart, world, act.role), store, act.verb)
    for event in events(world):
        begin, end = (_end(chart, world, place) for place in (event.source, event.target))
        # Who is triggered reads: one arrow says it.
        chart.edges.discard(Edge(begin, end, "reads"))
        chart.edge(begin, end, event.what)
    for entry in entries(world):
        owner = world.top(entry.resource)
        if owner:
            who = chart.node(entry.who, entry.who, shape="outside")
            chart.edge(who, _workload(chart, world, _asked(world, all_acts, owner)), entry.how)
    return chart.render()


def _holds_data(place: Place) -> bool:
    """A bucket as a whole is only listed."""
    return place.resource.type in STORES and not (
        place.resource.type == BUCKET and not place.rest.strip("/*")
    )


def _arrows(chart: Chart, workload: str, store: str, verb: str) -> None:
    if verb in INWARD:
        chart.edge(store, workload, verb)
    else:
        chart.edge(workload, store, verb, line=BOTH_WAYS if verb in MUTUAL else "-->")


def _end(chart: Chart, world: World, place: Place) -> str:
    return (_store if place.resource.type in STORES else _workload_of_place)(chart, world, place)


def _workload_of_place(chart: Chart, world: World, place: Place) -> str:
    return _workload(chart, world, place.resource)


def _workload(chart: Chart, world: World, resource: RecordedResource) -> str:
    """The innermost component around a role or function stands for what works with it."""
    inner, outer = world.around(resource)[0], world.around(resource)[-1]
    frame = chart.group(f"in {outer.name}", outer.name)
    return frame.node(f"work {inner.name}", inner.name, class_of(inner))


def _store(chart: Chart, world: World, place: Place) -> str:
    outer = world.around(place.resource)[-1]
    frame = chart.group(f"in {outer.name}", outer.name)
    prefix = place.rest.strip("*").lstrip("/") if place.resource.type == BUCKET else ""
    label = prefix or _shown(place.resource)
    return frame.node(f"store {place.resource.name} {prefix}".strip(), label, shape="store")


def _shown(resource: RecordedResource) -> str:
    """A directory for an access point, the program's name for the rest."""
    directory = (resource.inputs.get("rootDirectory") or {}).get("path")
    return str(directory or resource.name)


def _asked(world: World, all_acts: list[Act], owner: RecordedResource) -> RecordedResource:
    """What answers callers inside of `owner`: the role that moves data."""
    for act in all_acts:
        if act.verb in INWARD | MUTUAL and owner is world.top(act.role):
            return act.role
    return owner
