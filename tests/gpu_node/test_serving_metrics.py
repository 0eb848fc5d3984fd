"""What the model server's task tells CloudWatch of its load."""

import http.client
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

import pytest

from components.inference_containers import METRIC_NAMESPACE, PUBLISHER_FILE
from components.node_archive import without_comments
from gpu_node.serving import metrics
from tests.standins.loopback import Cut, Reply, Request, serving

# As vLLM writes it, with the lines around what is looked for.
SERVER_TEXT = """\
# HELP python_gc_objects_collected_total Objects collected during gc
# TYPE python_gc_objects_collected_total counter
python_gc_objects_collected_total{generation="0"} 10863.0
# HELP vllm:num_requests_running Number of requests in model execution batches.
# TYPE vllm:num_requests_running gauge
vllm:num_requests_running{engine="0",model_name="Qwen/Qwen2.5-7B-Instruct"} 12.0
# HELP vllm:num_requests_waiting Number of requests waiting to be processed.
# TYPE vllm:num_requests_waiting gauge
vllm:num_requests_waiting{engine="0",model_name="Qwen/Qwen2.5-7B-Instruct"} 3.0
# HELP vllm:num_requests_waiting_by_reason Number of waiting requests by reason.
# TYPE vllm:num_requests_waiting_by_reason gauge
vllm:num_requests_waiting_by_reason{engine="0",model_name="Qwen/Qwen2.5-7B-Instruct",reason="capacity"} 2.0
# HELP vllm:kv_cache_usage_perc KV-cache usage. 1 means 100 percent usage.
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0",model_name="Qwen/Qwen2.5-7B-Instruct"} 0.25
vllm:prompt_tokens_total{engine="0",model_name="Qwen/Qwen2.5-7B-Instruct"} 1.5e+06
"""


class Enough(Exception):
    """Ends the loop that nothing else ends."""


def line_for(text: str) -> dict[str, Any]:
    return json.loads(metrics.embedded_metrics(text, "Space", "inference-dev", 1_764_633_600.25))


def published(url: str, rounds: int, between: Callable[[], object] = lambda: None) -> None:
    """Runs the publisher for so many rounds, with something that happens between two of them."""
    waits: Iterator[int] = iter(range(rounds - 1))

    def wait(seconds: float) -> None:
        assert 15 <= seconds <= 60
        if next(waits, None) is None:
            raise Enough
        between()

    with pytest.raises(Enough):
        metrics.publish(url, METRIC_NAMESPACE, "inference-dev", wait)


class TestLine:
    def test_it_is_what_cloudwatch_makes_metrics_of(self) -> None:
        line = line_for(SERVER_TEXT)
        assert line["_aws"]["Timestamp"] == 1_764_633_600_250, "CloudWatch counts milliseconds"
        (told,) = line["_aws"]["CloudWatchMetrics"]
        assert (told["Namespace"], told["Dimensions"]) == ("Space", [["Service"]])
        assert line["Service"] == "inference-dev", "the dimension would have no value"
        for metric in told["Metrics"]:
            assert isinstance(line[metric["Name"]], float), f"{metric['Name']} would be no number"
        assert {metric["Name"]: metric["Unit"] for metric in told["Metrics"]} == {
            "WaitingRequests": "Count",
            "RunningRequests": "Count",
            "CacheUse": "Percent",
        }

    def test_it_holds_the_server_s_numbers_and_nothing_of_metrics_with_similar_names(self) -> None:
        line = line_for(SERVER_TEXT)
        assert (line["WaitingRequests"], line["RunningRequests"], line["CacheUse"]) == (3, 12, 25)

    def test_requests_of_several_engines_add_up_and_the_fullest_cache_counts(self) -> None:
        second = SERVER_TEXT.replace('engine="0"', 'engine="1"').replace(" 0.25", " 0.75")
        line = line_for(SERVER_TEXT + second)
        assert (line["WaitingRequests"], line["RunningRequests"], line["CacheUse"]) == (6, 24, 75)

    def test_the_cache_s_older_name_is_known(self) -> None:
        older = SERVER_TEXT.replace("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
        assert line_for(older)["CacheUse"] == 25

    def test_a_number_that_cannot_be_read_is_left_out(self) -> None:
        for broken in ("NaN", "+Inf", "a lot", ""):
            text = SERVER_TEXT.replace(" 12.0", f" {broken}")
            line = line_for(text)
            assert "RunningRequests" not in line, f"{broken!r} would stand in a metric"
            assert "RunningRequests" not in {
                metric["Name"] for metric in line["_aws"]["CloudWatchMetrics"][0]["Metrics"]
            }
            assert math.isfinite(line["WaitingRequests"])

    @pytest.mark.parametrize(
        "text",
        ["", "<html>502 Bad Gateway</html>", "vllm:num_requests_waiting{", "vllm:num_requests_waiting",
         'vllm:num_requests_waiting{a="b"} NaN', SERVER_TEXT.replace("num_requests_waiting", "queue")],
    )  # fmt: skip
    def test_an_answer_without_the_number_of_waiting_requests_is_no_zero(self, text: str) -> None:
        with pytest.raises(metrics.UnusableAnswerError):
            line_for(text)

    @pytest.mark.parametrize(
        ("written", "value"),
        [("vllm:num_requests_waiting 4", 4), ('vllm:num_requests_waiting{model_name="a } b { 9"} 4 1764633600000', 4),
         ("vllm:num_requests_waiting{} 4.0e+00", 4), ("vllm:num_requests_waiting 4\r", 4)],
    )  # fmt: skip
    def test_labels_and_time_stamps_are_no_values(self, written: str, value: float) -> None:
        assert line_for(written)["WaitingRequests"] == value


class TestPublishing:
    def test_each_round_asks_the_server_anew(self, capsys: pytest.CaptureFixture[str]) -> None:
        waiting = iter(("0.0", "5.0"))

        def answer(request: Request) -> Reply:
            assert request.path == "/metrics"
            return Reply(body=SERVER_TEXT.replace("} 3.0", f"}} {next(waiting)}").encode())

        with serving(answer) as address:
            published(f"{address}/metrics", 2)
        lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert [line["WaitingRequests"] for line in lines] == [0, 5]

    def test_a_server_that_still_loads_its_model_is_waited_for_and_mentioned_once(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with serving(lambda request: Reply()) as address:
            closed = address
        published(f"{closed}/metrics", 4)
        (line,) = capsys.readouterr().out.splitlines()
        assert line.startswith("no metrics of the model server: "), (
            "the log would not tell why scaling is blind"
        )

    @pytest.mark.parametrize(
        "fault",
        [Reply(status=500, body=b"busy"), Reply(status=404), Reply(body=b"\xff\xfe\x00"), Reply(body=b""),
         Reply(status=302, headers={"location": "/metrics"}), Reply(status=302, headers={"location": "gopher://"}),
         Reply(body=b'{"a": "b"}'), Reply(body=b"vllm:num_requests_waiting{" * 100_000)],
    )  # fmt: skip
    def test_no_answer_ends_it(self, capsys: pytest.CaptureFixture[str], fault: Reply) -> None:
        rounds: list[None] = []

        def answer(request: Request) -> Reply:
            return fault if len(rounds) < 2 else Reply(body=SERVER_TEXT.encode())

        with serving(answer) as address:
            published(f"{address}/metrics", 3, lambda: rounds.append(None))
        *_, line = capsys.readouterr().out.splitlines()
        assert json.loads(line)["WaitingRequests"] == 3, "one broken answer would make scaling blind for good"

    def test_an_answer_that_breaks_off_or_never_comes_does_not_end_it(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def broken() -> Generator[bytes]:
            yield b"vllm:num_requests_running 3\n"
            raise Cut

        with serving(lambda request: Reply(body=broken())) as address:
            published(f"{address}/metrics", 1)
        for error in (TimeoutError("timed out"), http.client.BadStatusLine("?"), ConnectionResetError()):

            def fail(url: str, error: Exception = error) -> str:
                raise error

            monkeypatch.setattr(metrics, "read", fail)
            published("http://server:8000/metrics", 2)
        lines = capsys.readouterr().out.splitlines()
        assert len(lines) == 4, "each reason is told once"
        assert all(line.startswith("no metrics of the model server: ") for line in lines)

    def test_a_server_that_comes_back_and_goes_again_is_mentioned_again(
        self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        answers = iter(("", SERVER_TEXT, "", ""))
        monkeypatch.setattr(metrics, "read", lambda url: next(answers))
        published("http://server:8000/metrics", 4)
        lines = capsys.readouterr().out.splitlines()
        assert [line[0] for line in lines] == ["n", "{", "n"]


def test_the_text_that_a_container_carries_runs_by_itself() -> None:
    script = without_comments(PUBLISHER_FILE.read_text(encoding="utf-8"))
    with serving(lambda request: Reply(body=SERVER_TEXT.encode())) as address:
        environment = {
            "METRICS_URL": f"{address}/metrics",
            "METRICS_NAMESPACE": METRIC_NAMESPACE,
            "SERVICE": "inference-dev",
            # An image may be set up for a proxy, which does not know the server of this task.
            "HTTP_PROXY": "http://127.0.0.1:9",
            "http_proxy": "http://127.0.0.1:9",
            "PATH": os.environ["PATH"],
        }
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=environment
        )
        assert process.stdout
        with closing(process.stdout):
            line = json.loads(process.stdout.readline())
            process.terminate()
            assert process.wait(10) != 0, "it would never end by itself"
    assert line["_aws"]["CloudWatchMetrics"][0]["Namespace"] == METRIC_NAMESPACE
    assert line["WaitingRequests"] == 3
