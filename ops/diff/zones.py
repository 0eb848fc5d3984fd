"""Whether a change moves zones: `awsx.ec2.Vpc` numbers its subnets by the position of the zone. Pure."""

from collections.abc import Iterable, Iterator

from ops.diff.matching import Pair

NETWORK = "awsx:ec2:Vpc"
ZONES = "availabilityZoneNames"


def moved_zones(pairs: Iterable[Pair]) -> Iterator[str]:
    """A sentence for each network in which a position has another zone than before. More or fewer at the end are none."""
    for pair in pairs:
        if pair.head.type != NETWORK:
            continue
        zones = zip(pair.base.inputs.get(ZONES) or (), pair.head.inputs.get(ZONES) or (), strict=False)
        moved = [(old, new) for old, new in zones if old != new]
        if moved:
            old, new = moved[0]
            yield (
                f"{pair.head.name} has {new} where {old} was: subnets keep their numbers and move to other zones, which "
                "replaces them and all that lies in them, and AWS refuses their address blocks as long as the old ones are there. "
                "Fix: keep the order of availabilityZones and add zones at the end."
            )
