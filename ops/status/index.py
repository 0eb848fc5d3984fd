"""The vector index: whether its collection is up, and how many documents each index holds."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ops.preflight.account import UnansweredError
from ops.progress import byte_count
from ops.status.metrics import newest_values
from ops.status.sections import Area, Deployed, Line, Part, absent, judged, ok

OUTPUT = "vector_endpoint"
# A collection may only be reachable inside its network, so its size is read from what it tells CloudWatch.
# https://docs.aws.amazon.com/opensearch-service/latest/developerguide/monitoring-cloudwatch.html
NAMESPACE, DOCUMENTS, BYTES = "AWS/AOSS", "SearchableDocuments", "StorageUsedInS3"
PERIOD_SECONDS = 60
LOOK_BACK_HOURS = 24


def area() -> Area:
    actions = ("aoss:BatchGetCollection", "cloudwatch:ListMetrics", "cloudwatch:GetMetricData")
    return Area(title="Vector index", actions=actions, read=_read)


def _read(deployed: Deployed) -> Iterator[Line | Part]:
    if not deployed.has(OUTPUT):
        yield absent("not in this stack")
        return
    collection = collection_id(deployed.outputs.text(OUTPUT))
    yield Part(lambda: [_collection(deployed, collection)])
    yield Part(lambda: _documents(deployed, collection))


def collection_id(endpoint: str) -> str:
    """The id at the start of a collection's endpoint. Raises UnansweredError for what is no endpoint."""
    found = re.match(r"https://([a-z0-9]+)\.", endpoint)
    if found is None:
        raise UnansweredError(f"{endpoint} is not the endpoint of a collection. Fix: run `pulumi up`")
    return found[1]


def _collection(deployed: Deployed, collection: str) -> Line:
    answer = deployed.client("opensearchserverless").batch_get_collection(ids=[collection])
    found = answer.get("collectionDetails", ())
    if not found:
        return judged(False, f"there is no collection {collection} any more. Fix: run `pulumi up`.")
    status, name = found[0].get("status", ""), found[0].get("name", collection)
    why = f": {found[0]['failureMessage']}" if found[0].get("failureMessage") else ""
    good = status in ("ACTIVE", "UPDATING")
    return judged(good, f"collection {name} is {status.lower()}{why}", collection=name, status=status)


def _documents(deployed: Deployed, collection: str) -> Iterator[Line]:
    """Every index that reported in the last two weeks; the alias points to one of them."""
    asked = {
        "Namespace": NAMESPACE,
        "MetricName": DOCUMENTS,
        "Dimensions": [{"Name": "CollectionId", "Value": collection}],
    }
    metrics = list(deployed.account.listed("cloudwatch", "list_metrics", "Metrics", asked))
    # An index that was made anew under its name has another id.
    unique = {key: metric for metric in metrics if (key := _name_and_id(metric))[0]}
    if not unique:
        yield ok("no index has reported documents to CloudWatch yet", documents=None)
        return
    asked_for = [{**metric, "MetricName": name} for name in (DOCUMENTS, BYTES) for metric in unique.values()]
    values = newest_values(deployed, asked_for, "Sum", PERIOD_SECONDS, LOOK_BACK_HOURS)
    sizes = zip(unique, values[: len(unique)], values[len(unique) :], strict=True)
    for (index, _), documents, size in sizes:
        yield _size(index, documents, size)


def _size(index: str, documents: float | None, size: float | None) -> Line:
    if documents is None:
        text = f"{index}: nothing reported for {LOOK_BACK_HOURS} h: idle, asleep or deleted"
        return ok(text, index=index, documents=None, bytes=None)
    stored = "" if size is None else f", {byte_count(int(size))} stored"
    text = f"{index}: about {documents:,.0f} documents{stored}"
    return ok(text, index=index, documents=int(documents), bytes=None if size is None else int(size))


def _name_and_id(metric: Mapping[str, Any]) -> tuple[str, str]:
    """Each "" where the metric is not of an index."""
    names = {item["Name"]: item["Value"] for item in metric.get("Dimensions", ())}
    return names.get("IndexName", ""), names.get("IndexId", "")
