"""The newest value of CloudWatch metrics."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from ops.status.sections import Deployed

# https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html
MOST_QUERIES = 500


def newest_values(
    deployed: Deployed, metrics: Sequence[Mapping[str, Any]], statistic: str, period_seconds: int, hours: int
) -> list[float | None]:
    """The value of the newest period of each metric, in their order; None where there was none in so many hours."""
    values: list[float | None] = []
    for start in range(0, len(metrics), MOST_QUERIES):
        values += _of_some(deployed, metrics[start : start + MOST_QUERIES], statistic, period_seconds, hours)
    return values


def _of_some(
    deployed: Deployed, metrics: Sequence[Mapping[str, Any]], statistic: str, period_seconds: int, hours: int
) -> list[float | None]:
    queries = [
        {
            "Id": f"m{place}",
            "MetricStat": {"Metric": dict(metric), "Period": period_seconds, "Stat": statistic},
        }
        for place, metric in enumerate(metrics)
    ]
    asked = {
        "MetricDataQueries": queries,
        "StartTime": deployed.now - timedelta(hours=hours),
        "EndTime": deployed.now,
        "ScanBy": "TimestampDescending",
    }
    newest: dict[str, float] = {}
    for result in deployed.account.listed("cloudwatch", "get_metric_data", "MetricDataResults", asked):
        # A metric may come in several pages, the newest values first.
        if result.get("Values") and result["Id"] not in newest:
            newest[result["Id"]] = result["Values"][0]
    return [newest.get(query["Id"]) for query in queries]
