"""Training runs from the command line: what is registered, started, told and stopped."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ops.aws_calls import AwsCallError
from ops.capture.program import PROJECT_ROOT
from ops.stack_outputs import StackOutputs, StackOutputsError
from ops.train import command
from ops.train.command import run_name
from ops.train.costs import Prices, costs
from ops.train.follow import Watcher, follow_logs, show_logs
from ops.train.logs import lines, saves
from ops.train.request import TORCHRUN, RequestError, RunRequest, hides_exit_code, job_definition
from ops.train.runs import Run, read_run
from ops.train.stack import TrainingStack, training_stack
from ops.train.start import start
from ops.train.stop import stop
from ops.train.view import document, headline, text
from tests.ops.answering_client import refusal
from tests.ops.training_world import (
    CONTAINER,
    DEFINITION,
    NODES_DEFINITION,
    STACK,
    T0,
    World,
    at,
    attempt,
    job,
)

HOST_LOST = "Host EC2 (instance i-0123456789abcdef0) terminated."
EXITED = "Essential container in task exited"


def ask(**wanted: Any) -> RunRequest:
    return RunRequest(name="run-1", **wanted)


def variables(container: dict[str, Any]) -> dict[str, str]:
    return {item["name"]: item["value"] for item in container["environment"]}


class TestRequest:
    def test_a_run_without_wishes_is_the_stacks_own_definition(self) -> None:
        registered = job_definition(DEFINITION, ask())
        for key in ("type", "retryStrategy", "timeout", "tags", "propagateTags", "platformCapabilities"):
            assert registered[key] == DEFINITION[key], f"a run would have another {key} than the stack says"
        assert registered["containerProperties"] == CONTAINER
        assert registered["jobDefinitionName"] == "training", "the state machine may submit nothing else"

    def test_image_command_sizes_and_variables_are_put_into_the_revision(self) -> None:
        image = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/train:2"
        wanted = ask(
            image=image,
            command="python train.py --note 'two words' --rate 1e-4",
            gpus=4,
            memory_mib=30000,
            environment={"WANDB_MODE": "offline", "AWS_REGION": "eu-west-1"},
            checkpoint="llama",
        )
        container = job_definition(DEFINITION, wanted)["containerProperties"]

        assert container["image"] == image
        assert container["command"] == ["python", "train.py", "--note", "two words", "--rate", "1e-4"]
        assert {item["type"]: item["value"] for item in container["resourceRequirements"]} == {
            "GPU": "4", "VCPU": "4", "MEMORY": "30000",
        }  # fmt: skip
        assert container["linuxParameters"]["sharedMemorySize"] == 15000
        assert variables(container) == {
            "AWS_REGION": "eu-west-1",
            "WANDB_MODE": "offline",
            "CHECKPOINT_FOLDER": "/mnt/shared-data/checkpoints/llama",
            "SCRATCH_FOLDER": "/scratch/llama",
        }
        assert container["jobRoleArn"] == CONTAINER["jobRoleArn"]
        assert CONTAINER["command"] == [], "the stack's own definition was changed"

    def test_several_nodes_start_torchrun_on_each(self) -> None:
        wanted = ask(nodes=2, command="train.py '$(rm -rf /)'", gpus=8)
        registered = job_definition(NODES_DEFINITION, wanted)
        nodes = registered["nodeProperties"]
        (each,) = nodes["nodeRangeProperties"]

        assert (nodes["numNodes"], each["targetNodes"]) == (2, "0:1"), (
            "Batch would wait for nodes without a container"
        )
        shell, option, script, *words = each["container"]["command"]
        assert (shell, option, script) == ("/bin/sh", "-c", TORCHRUN)
        assert words == ["8", "train.py", "$(rm -rf /)"], "the shell would read the person's own words"
        assert "SCRATCH_FOLDER" not in variables(each["container"]), (
            "no other node could load what lies there"
        )
        assert NODES_DEFINITION["nodeProperties"]["numNodes"] == 4

    @pytest.mark.parametrize("with_launcher", [True, False], ids=["with our launcher", "without"])
    def test_torchrun_is_started_through_the_launcher_where_the_image_has_it(
        self, tmp_path: Path, with_launcher: bool
    ) -> None:
        (tmp_path / "torchrun").write_text(
            '#!/bin/sh\necho "${CHECKPOINT_LAUNCH_FOLDER:+launched}" "$@"\nexit 1\n'
        )
        (tmp_path / "torchrun").chmod(0o755)
        place = {"AWS_BATCH_JOB_NUM_NODES": "2", "AWS_BATCH_JOB_NODE_INDEX": "1",
                 "AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS": "10.0.0.7"}  # fmt: skip
        package = PROJECT_ROOT / "gpu_node" if with_launcher else tmp_path
        done = subprocess.run(
            ["/bin/sh", "-c", TORCHRUN, "8", "train.py", "two words"], cwd=package, capture_output=True, text=True,
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **place},
        )  # fmt: skip
        options = "--nnodes=2 --node_rank=1 --master_addr=10.0.0.7 --master_port=29500 --nproc_per_node=8"
        assert done.stdout == f"{'launched' if with_launcher else ''} {options} train.py two words\n", (
            done.stderr
        )
        assert done.returncode == 1
        assert ("torchrun hides that a run was interrupted" in done.stderr) is not with_launcher

    @pytest.mark.parametrize(
        ("command", "hides"),
        [
            ("torchrun --nproc_per_node=4 train.py", True),
            ("/opt/conda/bin/accelerate launch train.py", True),
            ("python -m torch.distributed.run train.py", True),
            ("python -m checkpoint.launch torchrun train.py", False),
            ("python train.py", False),
        ],
    )
    def test_a_launcher_that_hides_an_interruption_is_known(self, command: str, hides: bool) -> None:
        assert hides_exit_code(command) is hides

    def test_more_nodes_than_the_stack_is_for_are_refused(self) -> None:
        with pytest.raises(RequestError, match="at most 4 nodes. Fix: raise ai-platform:trainingNodes"):
            job_definition(NODES_DEFINITION, ask(nodes=5, command="train.py"))

    @pytest.mark.parametrize("image", ["docker.io/team/train:2", "ghcr.io/team/train", "train:2"])
    def test_a_public_image_is_taken(self, image: str) -> None:
        assert job_definition(DEFINITION, ask(image=image))["containerProperties"]["image"] == image

    def test_an_image_that_the_nodes_may_not_pull_is_refused_before_anything_is_paid(self) -> None:
        other = "111122223333.dkr.ecr.eu-central-1.amazonaws.com/other:1"
        with pytest.raises(RequestError, match="may not pull .*other:1.* Fix: push to the same repository"):
            job_definition(DEFINITION, ask(image=other))


class TestStart:
    def test_a_run_is_an_execution_that_begins_on_spot(self) -> None:
        world = World()
        revision = start(world.clients, STACK, ask(command="true"))

        (started,) = world.asked("StartExecution")
        assert revision.endswith("job-definition/training:9")
        assert (started["stateMachineArn"], started["name"]) == (STACK.state_machine_arn, "run-1")
        assert json.loads(started["input"]) == {
            "name": "run-1",
            "job_definition": revision,
            "queue": STACK.spot_queue_arn,
            "fallback_queue": STACK.on_demand_queue_arn,
        }

    def test_work_that_cannot_go_on_is_kept_off_spot(self) -> None:
        world = World()
        start(world.clients, STACK, ask(), on_demand=True)
        given = json.loads(world.asked("StartExecution")[0]["input"])
        assert given["queue"] == given["fallback_queue"] == STACK.on_demand_queue_arn

    def test_several_nodes_run_on_the_queue_that_is_for_them(self) -> None:
        world = World()
        start(world.clients, STACK, ask(nodes=3, command="train.py"))
        given = json.loads(world.asked("StartExecution")[0]["input"])
        assert given["queue"] == given["fallback_queue"] == STACK.multi_node_queue_arn
        assert given["job_definition"].endswith("job-definition/training-nodes:9")

    def test_a_stack_without_jobs_over_several_nodes_says_what_to_set(self) -> None:
        alone = TrainingStack(
            state_machine_arn=STACK.state_machine_arn,
            spot_queue_arn=STACK.spot_queue_arn,
            on_demand_queue_arn=STACK.on_demand_queue_arn,
            job_definition_arn=STACK.job_definition_arn,
        )
        world = World()
        with pytest.raises(RequestError, match="set ai-platform:trainingNodes to 2 or more"):
            start(world.clients, alone, ask(nodes=2, command="train.py"))
        assert not world.calls

    @pytest.mark.parametrize(
        "status", ["RUNNING", "ABORTED"], ids=["a live run", "a job that outlived its run"]
    )
    def test_checkpoints_that_a_live_run_writes_are_refused(self, status: str) -> None:
        world = World(jobs=[job(1, "RUNNING")], status=status).with_live("llama")
        with pytest.raises(
            RequestError, match="run-1 is live and writes the checkpoints llama.* Fix: .*train stop run-1"
        ):
            start(world.clients, STACK, RunRequest(name="run-2", checkpoint="llama"))
        assert not world.asked("RegisterJobDefinition") and not world.asked("StartExecution")

    def test_checkpoints_of_a_run_that_is_over_are_gone_on_with(self) -> None:
        world = World(jobs=[job(1, "FAILED")], status="FAILED").with_live("llama")
        start(world.clients, STACK, RunRequest(name="run-2", checkpoint="llama"))
        assert world.asked("StartExecution"), "nobody could resume a failed run"

    def test_a_live_run_with_other_checkpoints_is_no_obstacle(self) -> None:
        world = World(jobs=[job(1, "RUNNING")]).with_live("llama")
        start(world.clients, STACK, RunRequest(name="run-2", checkpoint="llama-2"))
        start(world.clients, STACK, RunRequest(name="run-3", checkpoint="run-3"))
        assert len(world.asked("StartExecution")) == 2

    def test_a_definition_that_is_gone_is_told(self) -> None:
        with pytest.raises(RequestError, match="There is no job definition"):
            start(World(definitions=[]).clients, STACK, ask())


RESUMED = [
    attempt(5, 65, HOST_LOST, stream="one"),
    attempt(75, 105, EXITED, 75, stream="two"),
]
LOGS = {
    "one": [(35, "step 9"), (45, "checkpoint: saved step 100 in /mnt/shared-data/checkpoints/x/100 in 2.0 s"),
            (60, "checkpoint: saved step 150 in /scratch/checkpoints/150 in 0.4 s")],
    "two": [(104, "checkpoint: saved step 180 in /mnt/shared-data/checkpoints/x/180 in 2.0 s")],
    "three": [(1, "first"), (2, "second"), (3, "third"), (4, "fourth"), (5, "fifth")],
}  # fmt: skip


def resumed_world(**more: Any) -> World:
    now_running = job(1, "RUNNING", RESUMED, startedAt=at(110), container={"logStreamName": "three"}, **more)
    return World(jobs=[now_running], logs=LOGS)


class TestStatus:
    def test_the_attempts_tell_how_each_ended(self) -> None:
        run = read_run(resumed_world().clients, STACK, "run-1")
        assert [(item.capacity, item.outcome) for item in run.attempts] == [
            ("spot", "interrupted, host lost"), ("spot", "interrupted, saved"), ("spot", "runs"),
        ]  # fmt: skip
        assert run.attempts[0].seconds(T0) == 3600
        assert headline(run, T0 + 120 * 60) == "run-1 runs on spot since 10 min, attempt 3"

    def test_lost_is_what_came_after_the_last_checkpoint_that_outlives_its_node(self) -> None:
        world = resumed_world()
        run = read_run(world.clients, STACK, "run-1")
        saved = {item: saves(world.clients, item) for item in run.attempts}
        sums = costs(run, saved, Prices(spot=0.5, on_demand=1.5), T0 + 140 * 60)

        assert saved[run.attempts[0]] == [(T0 + 45 * 60, 100)], (
            "a checkpoint on the lost node counted as saved"
        )
        assert sums.paid_hours == {"spot": 2.0}
        assert sums.lost_hours == pytest.approx((20 + 1) / 60)
        assert sums.waited_hours == pytest.approx(20 / 60)
        assert sums.usd == pytest.approx(1.0)
        assert sums.usd_per_useful_hour == pytest.approx(1.0 / (2 - 21 / 60))
        told = text(run, saved, sums, T0 + 140 * 60)
        assert "0.61 USD per useful hour, on-demand 1.50 USD (60 % saved)" in told
        assert "interrupted, host lost, saved step 100 20 min before" in told

    def test_what_is_not_known_is_told_as_that(self) -> None:
        world = resumed_world()
        run = read_run(world.clients, STACK, "run-1")
        sums = costs(run, {}, Prices(), T0 + 140 * 60)

        assert (sums.lost_hours, sums.usd, sums.usd_per_useful_hour) == (None, None, None)
        told = text(run, {}, sums, T0 + 140 * 60)
        assert "Lost: not known, since the log has no line of the checkpoint helper" in told
        assert "Cost: not known; not known per useful hour, on-demand not known." in told
        assert "--spot-price" in told

    @pytest.mark.parametrize(
        ("minutes", "limit", "line"),
        [
            (130, 60, "No checkpoint in the 20 min of this attempt."),
            (171, 60, "No checkpoint in the 61 min of this attempt, STALE: the stack's limit is 60 min"),
            (171, 0, "No checkpoint in the 61 min of this attempt.\n"),
        ],
    )
    def test_an_attempt_without_a_checkpoint_for_too_long_is_stale(
        self, minutes: float, limit: int, line: str
    ) -> None:
        world, now = resumed_world(), T0 + minutes * 60
        run = read_run(world.clients, STACK, "run-1")
        saved = {item: saves(world.clients, item) for item in run.attempts}
        told = text(run, saved, costs(run, saved, Prices(), now), now, limit)
        assert line in told
        stale = document(run, saved, costs(run, saved, Prices(), now), now, limit)["checkpoint"]["stale"]
        assert stale is (minutes > 170 if limit else None)

    def test_a_checkpoint_counts_from_when_it_was_saved(self) -> None:
        world = resumed_world()
        world.logs = {
            **LOGS,
            "three": [(115, "checkpoint: copied step 200 to /mnt/shared-data/checkpoints/x/step-200")],
        }
        run, now = read_run(world.clients, STACK, "run-1"), T0 + 120 * 60
        saved = {item: saves(world.clients, item) for item in run.attempts}
        assert "Last checkpoint: 5 min ago." in text(run, saved, costs(run, saved, Prices(), now), now, 60)

    def test_a_run_that_went_to_on_demand_is_paid_at_both_prices(self) -> None:
        first = job(1, "FAILED", [attempt(0, 60, HOST_LOST)])
        second = job(
            2, "SUCCEEDED", [attempt(60, 90, EXITED, 0)], jobQueue=STACK.on_demand_queue_arn, createdAt=at(60)
        )
        run = read_run(World(jobs=[second, first]).clients, STACK, "run-1")
        sums = costs(run, {}, Prices(spot=0.5, on_demand=1.5), T0)

        assert [item.job_id for item in run.jobs] == ["job-1", "job-2"]
        assert sums.paid_hours == {"spot": 1.0, "on-demand": 0.5}
        assert sums.usd == pytest.approx(0.5 + 0.75)

    def test_a_run_has_the_jobs_of_its_own_name_only(self) -> None:
        others = [{**job(8, "FAILED"), "jobName": name} for name in ("run-1-b-1", "run-12-1", "run-1-x")]
        run = read_run(World(jobs=[*others, job(1, "SUCCEEDED")]).clients, STACK, "run-1")

        assert [item.job_id for item in run.jobs] == ["job-1"], (
            "another run's job would be told, paid for and ended as this one's"
        )

    def test_all_nodes_are_paid_and_the_main_one_tells_of_the_attempts(self) -> None:
        nodes = {"nodeProperties": {"numNodes": 4}, "jobQueue": STACK.multi_node_queue_arn}
        parent = {**job(1, "SUCCEEDED"), **nodes}
        parent.pop("container")
        main = {**job(1, "SUCCEEDED", [attempt(0, 60, EXITED, 0, "main")]), "jobId": "job-1#0"}
        run = read_run(World(jobs=[parent, main]).clients, STACK, "run-1")

        assert [(item.job_id, item.log_stream) for item in run.attempts] == [("job-1", "main")]
        assert costs(run, {}, Prices(on_demand=2.0), T0).usd == pytest.approx(8.0)

    @pytest.mark.parametrize(
        ("status", "more", "line"),
        [
            ("RUNNABLE", {"statusReason": "CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY"},
             "run-1 waits for spot capacity since 15 min (CAPACITY:INSUFFICIENT_INSTANCE_CAPACITY)"),
            ("RUNNABLE", {"attempts": [attempt(1, 10, HOST_LOST)]}, "run-1 waits for spot capacity since 5 min"),
            ("FAILED", {}, "run-1: job job-1 is failed"),
        ],
    )  # fmt: skip
    def test_what_a_run_does_now_is_one_line(self, status: str, more: dict[str, Any], line: str) -> None:
        run = read_run(World(jobs=[{**job(1, status), **more}]).clients, STACK, "run-1")
        assert headline(run, T0 + 15 * 60) == line

    def test_a_run_that_is_not_submitted_yet_is_told(self) -> None:
        assert headline(read_run(World().clients, STACK, "run-1"), T0) == "run-1 is being submitted"

    def test_a_run_that_does_not_exist_is_told_with_where_to_look(self) -> None:
        with pytest.raises(AwsCallError, match="There is no run other. Fix: `python -m ops train list`"):
            read_run(World().clients, STACK, "other")


def watcher(world: World, pause: Any = lambda: None, *, as_json: bool = False) -> Watcher:
    return Watcher(world.clients, STACK, Prices(), as_json=as_json, pause=pause, clock=lambda: T0 + 3600)


class TestFollow:
    def test_a_failed_run_tells_why_and_is_a_failure(self, capsys: pytest.CaptureFixture[str]) -> None:
        world = World(status="FAILED", execution={"error": "JobFailed", "cause": EXITED, "stopDate": datetime.fromtimestamp(T0 + 600, UTC)})  # fmt: skip
        world.jobs = [job(1, "FAILED", [attempt(1, 9, EXITED, 1)])]

        assert watcher(world).show("run-1") == 1
        told = capsys.readouterr().out
        assert told.startswith(f"run-1 failed after 10 min: JobFailed, {EXITED}\n")
        assert f"failed: exit code 1, {EXITED}" in told

    def test_a_run_is_followed_to_its_end_with_a_line_for_each_change(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        world = World(jobs=[job(1, "RUNNABLE")])
        scenes = iter([{"jobs": [job(1, "RUNNABLE")]}, {"jobs": [job(1, "RUNNING")]},
                       {"jobs": [job(1, "SUCCEEDED", [attempt(0, 50, EXITED, 0)])], "status": "SUCCEEDED"}])  # fmt: skip

        def pause() -> None:
            for name, value in next(scenes).items():
                setattr(world, name, value)

        assert watcher(world, pause).follow("run-1") == 0
        told = capsys.readouterr()
        assert [line.split(" since")[0].split(" after")[0] for line in told.err.splitlines()] == [
            "run-1 waits for spot capacity", "run-1 runs on spot", "run-1 succeeded",
        ], "a change was missed, or the same was told twice"  # fmt: skip
        assert "50 min  done" in told.out

    def test_machines_get_all_of_it(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert watcher(resumed_world(), as_json=True).show("run-1") == 0
        told = json.loads(capsys.readouterr().out)
        assert [item["outcome"] for item in told["attempts"]][-1] == "runs"
        assert told["attempts"][0]["saved"] == [[T0 + 45 * 60, 100]]
        assert told["costs"]["lost_hours"] == pytest.approx(21 / 60)


class TestLogs:
    def test_a_log_is_read_to_its_end_and_on_from_there(self) -> None:
        world = resumed_world()
        third = read_run(world.clients, STACK, "run-1").attempts[2]
        written, token = lines(world.clients, third)
        assert written == ["first", "second", "third", "fourth", "fifth"]
        assert lines(world.clients, third, token) == ([], token), "lines would be shown twice"

    def test_the_newest_attempt_is_shown_unless_another_is_asked_for(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        world = resumed_world()
        assert show_logs(world.clients, STACK, "run-1", None) == 0
        assert capsys.readouterr().out.startswith("first\n")
        show_logs(world.clients, STACK, "run-1", 1)
        assert capsys.readouterr().out.startswith("step 9\n")
        with pytest.raises(AwsCallError, match="has 3 attempts, so there is no attempt 4"):
            show_logs(world.clients, STACK, "run-1", 4)

    def test_without_an_attempt_there_is_no_log(self) -> None:
        with pytest.raises(AwsCallError, match="No attempt of run-1 has started yet"):
            show_logs(World().clients, STACK, "run-1", None)

    def test_a_container_that_has_written_nothing_has_an_empty_log(self) -> None:
        world = World(jobs=[job(1, "RUNNING", container={"logStreamName": "silent"})])
        assert show_logs(world.clients, STACK, "run-1", None) == 0

    def test_logs_are_followed_over_attempts_until_the_run_is_over(
        self, capsys: pytest.CaptureFixture[str]
    ) -> None:
        world = World(jobs=[job(1, "RUNNING", container={"logStreamName": "one"})], logs={"one": [(1, "a")]})

        def pause() -> None:
            world.logs = {"one": [(1, "a"), (2, "b")], "two": [(4, "c")]}
            world.jobs = [
                job(1, "FAILED", [attempt(0, 3, HOST_LOST, stream="one"), attempt(3, 5, EXITED, 1, "two")])
            ]
            world.status = "FAILED"

        def pause_once_more() -> None:
            if world.status == "FAILED":  # the container's last lines reach the log after its end
                world.logs = {**world.logs, "two": [(4, "c"), (5, "Traceback")]}
            else:
                pause()

        assert follow_logs(world.clients, STACK, "run-1", pause_once_more) == 1
        told = capsys.readouterr()
        assert told.out == "a\nb\nc\nTraceback\n", "the reason of the failure is missing"
        assert told.err == "Attempt 1 on spot\nAttempt 2 on spot\n"


class TestStop:
    def test_the_execution_ends_before_its_jobs(self) -> None:
        world = World(jobs=[job(1, "FAILED"), job(2, "RUNNING")])
        assert stop(world.clients, STACK, "run-1", lambda _: None) == ["job-2"]
        assert [name for name, _ in world.calls] == ["StopExecution", "TerminateJob"], (
            "the machine would take the ended job for an interrupted one and submit another"
        )
        assert world.asked("TerminateJob")[0]["jobId"] == "job-2"

    def test_a_job_that_outlived_its_execution_is_ended(self) -> None:
        world = World(jobs=[job(1, "RUNNING")], status="ABORTED")
        waits: list[float] = []
        assert stop(world.clients, STACK, "run-1", waits.append) == ["job-1"]
        assert not world.asked("StopExecution") and not waits, "nothing can come any more"

    def test_a_job_that_was_on_its_way_when_the_run_was_stopped_is_ended_too(self) -> None:
        world, waits = World(jobs=[job(1, "RUNNING")]), list[float]()

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 2:
                world.jobs.append(job(2, "SUBMITTED"))

        assert stop(world.clients, STACK, "run-1", wait) == ["job-1", "job-2"], "a job would train for days"
        assert [asked["jobId"] for asked in world.asked("TerminateJob")] == ["job-1", "job-2"]
        assert sum(waits) <= 20


class TestCommand:
    @pytest.fixture(autouse=True)
    def world(self, monkeypatch: pytest.MonkeyPatch) -> World:
        world = resumed_world()
        monkeypatch.setattr(command, "connect", lambda stack, profile: (STACK, world.clients))
        return world

    def test_run_starts_and_tells_how_to_watch(
        self, world: World, capsys: pytest.CaptureFixture[str]
    ) -> None:
        arguments = ["run", "--stack", "dev", "--name", "lora", "--command", "python t.py", "--env", "A=b=c"]
        assert command.main(arguments) == 0

        (started,) = world.asked("StartExecution")
        container = world.asked("RegisterJobDefinition")[0]["containerProperties"]
        assert started["name"].startswith("lora-2")
        assert variables(container)["A"] == "b=c"
        assert variables(container)["CHECKPOINT_FOLDER"].endswith(f"/checkpoints/{started['name']}"), (
            "two runs would write into one folder"
        )
        assert f"ops train status {started['name']} --stack dev --follow" in capsys.readouterr().out

    def test_a_second_run_of_the_same_name_and_second_is_refused(
        self, world: World, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        def refuse(_world: World, **_: Any) -> None:
            raise refusal("ExecutionAlreadyExists")

        monkeypatch.setattr(World, "_start", refuse)
        assert command.main(["run", "--stack", "dev"]) == 1
        assert "AWS refused starting the run: ExecutionAlreadyExists" in capsys.readouterr().err, (
            "two runs would have one folder, which is named after them"
        )

    def test_a_launcher_that_hides_an_interruption_is_warned_of(
        self, world: World, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for launch, warned in (("torchrun", True), ("python -m checkpoint.launch torchrun", False)):
            assert command.main(["run", "--stack", "dev", "--command", f"{launch} train.py"]) == 0
            assert ("put `python -m checkpoint.launch` in front" in capsys.readouterr().err) is warned
        assert len(world.asked("StartExecution")) == 2, "a warning is no refusal"

    def test_run_prints_json_for_machines(self, world: World, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["run", "--stack", "dev", "--json", "--checkpoint", "mine"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["checkpoint"] == "mine"
        assert told["run"] == world.asked("StartExecution")[0]["name"]

    def test_the_checkpoints_of_any_run_can_be_named(
        self, world: World, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert command.main(["run", "--stack", "dev", "--json", "--name", "n" * 60]) == 0
        earlier = json.loads(capsys.readouterr().out)["checkpoint"]

        assert command.main(["run", "--stack", "dev", "--json", "--checkpoint", earlier]) == 0

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--env", "1A=b"], "must be KEY=VALUE"),
            (["--env", "AWS_BATCH_X=b"], "does not begin with AWS_BATCH"),
            (["--gpus", "0"], "must be a whole number from 1"),
            (["--name", "a b"], "must be 1 to 60"),
            (["--env", "CHECKPOINT_FOLDER=/scratch"], "is set by --checkpoint"),
            (["--checkpoint", "../other"], "must be 1 to 80"),
            (["--spot-price", "-1"], "must be a price in USD"),
            (["--spot-price", "1e3"], "must be a price in USD"),
            (["--command", "python 'x"], "cannot be split into words"),
            (["--nodes", "2"], "--nodes needs --command"),
        ],
    )
    def test_wrong_usage_is_refused_before_aws_is_asked(
        self, arguments: list[str], said: str, world: World, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit) as stopped:
            command.main(["run", "--stack", "dev", *arguments])
        assert stopped.value.code == 2
        assert said in capsys.readouterr().err
        assert not world.calls

    def test_status_list_logs_and_stop_find_the_run(
        self, world: World, capsys: pytest.CaptureFixture[str]
    ) -> None:
        for arguments, said in (
            (["status", "run-1"], "run-1 runs on spot"),
            (["list"], "2026-12-01 10:00  running    run-1"),
            (["logs", "run-1", "--attempt", "2"], "saved step 180"),
            (["stop", "run-1"], "Stopped run-1; jobs ended: job-1."),
        ):
            assert command.main([*arguments, "--stack", "dev"], sleep=lambda _: None) == 0
            assert said in capsys.readouterr().out

    def test_a_failure_is_a_sentence_and_the_code_1(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["status", "other", "--stack", "dev"]) == 1
        assert capsys.readouterr().err.startswith("There is no run other.")


def test_a_runs_name_is_its_own_and_an_execution_may_have_it() -> None:
    name = run_name("a" * 60, datetime(2026, 12, 1, 10, 0, 59, tzinfo=UTC))
    assert name == f"{'a' * 60}-20261201-100059"
    assert len(name) <= 80, "Step Functions would refuse it"


class TestStack:
    def test_the_stack_is_found_by_what_the_program_exports(self) -> None:
        exported = {"training": {"state_machine_arn": "m", "spot_queue_arn": "s", "on_demand_queue_arn": "o",
                                 "job_definition_arn": "d", "multi_node_queue_arn": None}}  # fmt: skip
        found = training_stack(StackOutputs("dev", exported))
        assert (found.state_machine_arn, found.multi_node_queue_arn, found.stale_minutes) == ("m", "", 0)
        assert found.queues == {"s": "spot", "o": "on-demand"}

    @pytest.mark.parametrize(
        ("exported", "minutes"), [(60, 60), ("60", 60), (0, 0), ("never", 0), (None, 0), (True, 0)]
    )
    def test_the_limit_without_a_checkpoint_is_a_number_or_none(self, exported: Any, minutes: int) -> None:
        training = {
            "state_machine_arn": "m",
            "spot_queue_arn": "s",
            "on_demand_queue_arn": "o",
            "job_definition_arn": "d",
        }
        found = training_stack(StackOutputs("dev", {"training": {**training, "stale_minutes": exported}}))
        assert found.stale_minutes == minutes

    @pytest.mark.parametrize("outputs", [{}, {"training": "arn"}, {"training": {"spot_queue_arn": "s"}}])
    def test_a_stack_without_training_says_how_to_switch_it_on(self, outputs: dict[str, Any]) -> None:
        with pytest.raises(
            StackOutputsError, match="dev has no training jobs. Fix: set ai-platform:training"
        ):
            training_stack(StackOutputs("dev", outputs))


def test_a_run_that_waits_to_be_driven_again_is_not_over() -> None:
    run = Run(name="r", status="PENDING_REDRIVE", error="", cause="", started=T0, stopped=None)
    assert not run.is_over
