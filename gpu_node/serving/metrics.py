"""Tells CloudWatch how busy the model server of this task is: a line every half minute, in embedded metric format.

CloudWatch makes metrics of such lines wherever they reach a log group.
https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import http.client
import json
import math
import os
import time
import urllib.request
from collections.abc import Callable
from typing import NoReturn

INTERVAL_SECONDS = 30
TIMEOUT_SECONDS = 10
LONGEST_ANSWER_BYTES = 8 * 1024 * 1024

# vLLM's names; a release renamed the last one. Of several engines in one server the requests add up.
# https://docs.vllm.ai/en/latest/design/metrics.html
WAITING = ("vllm:num_requests_waiting",)
RUNNING = ("vllm:num_requests_running",)
CACHE_USE = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")

# The server stands beside this process, whatever proxy the image is set up for.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class UnusableAnswerError(ValueError):
    """The server's answer does not tell how many requests wait."""


def read(url: str) -> str:
    """The server's metrics as Prometheus text; raises OSError or http.client.HTTPException without an answer."""
    with OPENER.open(url, timeout=TIMEOUT_SECONDS) as answer:
        return answer.read(LONGEST_ANSWER_BYTES).decode(errors="replace")


def values_of(text: str, names: tuple[str, ...]) -> list[float]:
    """The finite values of one metric, one for each set of labels; lines that cannot be read are passed over."""
    found = []
    for line in text.splitlines():
        name, _, rest = line.partition("{") if "{" in line else line.partition(" ")
        # The value follows the labels, in whose texts anything may stand, and a time stamp may follow the value.
        fields = (rest.rpartition("}")[2] if "{" in line else rest).split()
        if name.strip() in names and fields:
            value = _number(fields[0])
            found += [] if value is None else [value]
    return found


def embedded_metrics(text: str, namespace: str, service: str, now_seconds: float) -> str:
    """One line for CloudWatch; UnusableAnswerError where the number of waiting requests is missing.

    A wrong zero would make scaling end servers that are needed.
    """
    waiting, running, cache_use = (values_of(text, names) for names in (WAITING, RUNNING, CACHE_USE))
    if not waiting:
        raise UnusableAnswerError(f"the answer holds no {WAITING[0]}")
    metrics = {"WaitingRequests": sum(waiting)}
    units = {"WaitingRequests": "Count", "RunningRequests": "Count", "CacheUse": "Percent"}
    if running:
        metrics["RunningRequests"] = sum(running)
    if cache_use:
        metrics["CacheUse"] = 100 * max(cache_use)
    told = {
        "Namespace": namespace,
        "Dimensions": [["Service"]],
        "Metrics": [{"Name": name, "Unit": units[name]} for name in metrics],
    }
    header = {"Timestamp": round(now_seconds * 1000), "CloudWatchMetrics": [told]}
    return json.dumps({"_aws": header, "Service": service, **metrics})


def publish(url: str, namespace: str, service: str, wait: Callable[[float], object] = time.sleep) -> NoReturn:
    """Prints a line after every wait, and says once why there is none; nothing that the server answers ends this."""
    silence = ""
    while True:
        try:
            line = embedded_metrics(read(url), namespace, service, time.time())
            silence = ""
        except (OSError, http.client.HTTPException, ValueError) as error:
            reason = f"no metrics of the model server: {error or type(error).__name__}"
            line, silence = ("" if reason == silence else reason), reason
        if line:
            print(line, flush=True)
        wait(INTERVAL_SECONDS)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


if __name__ == "__main__":
    publish(os.environ["METRICS_URL"], os.environ["METRICS_NAMESPACE"], os.environ["SERVICE"])
