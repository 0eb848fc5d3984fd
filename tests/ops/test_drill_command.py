"""`python -m ops drill` from the choice of a node to its verdict, on a market that follows a script."""

import json
from typing import Any

import pytest

from ops.drill import command
from ops.drill.place import drill_of
from ops.stack_outputs import StackOutputs, StackOutputsError
from tests.ops.drill_world import (
    BEGINS,
    DRILL,
    EXITED,
    HOST_LOST,
    NODE,
    OTHER_NODE,
    DrillWorld,
    instance,
    resumed,
    running,
    saved,
)
from tests.ops.training_world import STACK, attempt, job

EARLIER = {"run-1-1": [(5.0, saved(100)), (15.0, saved(300))]}


def market(**more: Any) -> DrillWorld:
    """A run that saves on notice, leaves, and goes on with another node."""
    values: dict[str, Any] = {"jobs": [running()], "logs": EARLIER, **more}
    world = DrillWorld(**values)
    world.script = [
        (12, lambda: world.write(saved(400))),
        (15, lambda: world.end_attempt(EXITED, 75)),
        (300, world.next_attempt),
        (330, lambda: world.write(resumed(400), "run-1-2")),
    ]
    return world


def lost_host() -> DrillWorld:
    """A run that does not hear the notice: its node is lost under it."""
    world = DrillWorld(jobs=[running()], logs=EARLIER)
    world.script = [
        (121, lambda: world.end_attempt(HOST_LOST)),
        (300, world.next_attempt),
        (330, lambda: world.write(resumed(300), "run-1-2")),
    ]
    return world


class TestPass:
    def test_a_run_that_saves_on_notice_and_goes_on_passes(self) -> None:
        world = market()
        code, out, err = world.run("--yes", "--spot-price", "0.6")
        assert code == 0, f"{out}{err}"
        assert out.splitlines() == [
            f"run-1 was interrupted on {NODE} (g5.2xlarge, eu-central-1a).",
            "Notice: heard. Attempt: interrupted, saved. Last saved step: 400.",
            "Resumed: from step 400 on spot, 6 min after the notice.",
            "Work lost: 0 s, 0 steps.",
            "Paid without work: 33 s of the containers, 0.0055 USD; boot comes on top.",
            "PASS",
        ]

    def test_what_happens_is_told_as_it_happens_each_thing_once(self) -> None:
        _, _, err = market().run("--yes")
        assert [line[10:] for line in err.splitlines()] == [
            "the experiment EXP1 has started",
            f"the notice was sent to {NODE}, which ends in two minutes (EXP1)",
            "saved step 400, 12 s after the notice",
            "the attempt ended 15 s after the notice: interrupted, saved",
            "waits for spot capacity",
            "a new attempt runs on spot, 5 min after the notice",
            "goes on from step 400, 6 min after the notice",
        ]
        assert err.startswith("10:20:00  "), "nobody could compare it with a log"

    def test_json_has_the_same_for_machines(self) -> None:
        code, out, _ = market().run("--yes", "--json")
        told = json.loads(out)
        assert (code, told["passed"], told["faults"]) == (0, True, [])
        assert told["node"]["instance_id"] == NODE
        assert (told["experiment"], told["run"]) == ("EXP1", "run-1")
        assert (told["resumed_step"], told["lost_steps"], told["lost_seconds"]) == (400, 0, 0.0)
        assert told["seconds_to_resume"] == pytest.approx(330)
        assert told["usd"] is None and told["interrupted_attempt"]["outcome"] == "interrupted, saved"

    def test_a_run_that_goes_on_with_on_demand_capacity_passes_too(self) -> None:
        world = market()
        new = running(2, since=BEGINS + 40, node=OTHER_NODE, jobQueue=STACK.on_demand_queue_arn)
        world.script[2:] = [
            (2400, lambda: world.jobs.append(new)),
            (2430, lambda: world.write(resumed(400), "run-1-2")),
        ]
        code, out, _ = world.run("--yes", "--spot-price", "0.6", "--on-demand-price", "1.2")
        assert code == 0 and "on on-demand, 40 min after the notice" in out

    def test_a_run_that_went_on_and_is_interrupted_again_at_once_went_on(self) -> None:
        world = market()
        world.script += [
            (332, lambda: world.end_attempt(HOST_LOST)),
            (334, lambda: world.next_attempt("run-1-3")),
        ]
        code, out, err = world.run("--yes")
        assert (code, "Resumed: from step 400" in out) == (0, True), f"{out}{err}"

    def test_a_log_that_arrives_after_the_next_attempts_own_is_still_heard(self) -> None:
        """The lines of the old node reach the log after those of the new one."""
        world = market()
        saved_at = {"now": 0.0}

        def note() -> None:
            saved_at["now"] = world.now

        def arrives() -> None:
            now, world.now = world.now, saved_at["now"]
            world.write(saved(400))
            world.now = now

        world.script[0] = (12, note)
        world.script.append((340, arrives))
        code, out, _ = world.run("--yes")
        assert (code, "Last saved step: 400" in out) == (0, True), out


class TestFail:
    def test_a_run_that_is_tried_again_on_the_node_that_goes_fails(self) -> None:
        world = market()
        world.script[2:] = [
            (18, lambda: world.next_attempt(node=NODE)),
            (40, lambda: world.write(resumed(400), "run-1-2")),
            (121, lambda: world.end_attempt(HOST_LOST)),
            (300, lambda: world.next_attempt("run-1-3")),
            (330, lambda: world.write(resumed(400), "run-1-3")),
        ]
        code, out, _ = world.run("--yes")
        assert code == 1 and "tried again on the node that was about to go" in out, (
            "two attempts are lost for one"
        )
        assert "Resumed: from step 400 on spot, 6 min after the notice." in out, (
            "it goes on with the next node only"
        )

    def test_a_run_that_does_not_hear_the_notice_fails_and_what_it_lost_is_estimated(self) -> None:
        code, out, _ = lost_host().run("--yes")
        assert code == 1
        # From the save five minutes before the drill until the node is gone, at 20 steps a minute.
        assert "Work lost: 7 min, about 140 steps." in out
        assert "FAIL" in out and "did not hear the notice" in out and "SIGTERM" in out

    def test_a_run_that_begins_anew_fails(self) -> None:
        world = market()
        nothing = "checkpoint: no valid checkpoint in /mnt/x: starting from the beginning"
        world.script[-1] = (330, lambda: world.write(nothing, "run-1-2"))
        code, out, err = world.run("--yes")
        assert (code, "found no valid checkpoint, and began anew" in out) == (1, True)
        assert "Resumed: no." in out and "goes on from the beginning" in err

    def test_a_run_that_goes_on_from_an_older_step_than_it_saved_has_lost_that_work(self) -> None:
        world = market()
        world.script[-1] = (330, lambda: world.write(resumed(300), "run-1-2"))
        code, out, _ = world.run("--yes")
        assert code == 1
        assert "Work lost: 5 min, 100 steps." in out, "a checkpoint that could not be read would go unseen"
        assert "s of work were lost, and less than 60 s may be" in out

    def test_a_run_that_ends_by_an_error_of_its_own_fails_with_its_reason(self) -> None:
        world = market()

        def fails() -> None:
            world.end_attempt(EXITED, 1, status="FAILED")
            world.status, world.execution = "FAILED", {"error": "JobFailed", "cause": EXITED}

        world.script = [(15, fails)]
        code, out, _ = world.run("--yes")
        assert code == 1
        assert "the run did not go on (failed: exit code 1, " in out and "JobFailed" in out

    def test_a_run_that_was_done_before_its_node_went_proves_nothing(self) -> None:
        world = market()

        def done() -> None:
            world.end_attempt(EXITED, 0, status="SUCCEEDED")
            world.status = "SUCCEEDED"

        world.script = [(15, done)]
        code, out, _ = world.run("--yes")
        assert (code, "was done before its node went" in out) == (1, True)

    def test_watching_ends_after_the_time_given_with_what_the_run_does_then(self) -> None:
        world = market()
        world.script = world.script[:2]
        code, out, _ = world.run("--yes", "--timeout-minutes", "10")
        assert code == 1
        assert "the run had not gone on when the time was up (run-1 waits for spot capacity since" in out
        assert world.now < world.notice + 11 * 60, "the command would wait for ever"


class TestChoice:
    def test_a_question_is_asked_and_without_a_yes_nothing_happens(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[str] = []
        monkeypatch.setattr(command, "someone_is_there", lambda: True)
        monkeypatch.setattr(command, "confirmed", lambda question: bool(asked.append(question)))
        world = market(tasks=3)
        code, _, err = world.run()
        assert (code, "Nothing was interrupted." in err) == (1, True)
        assert not world.asked("StartExperiment") and world.tags_of(NODE) == DRILL.node_tags
        (question,) = asked
        assert "saved step 300 5 min ago" in question
        assert "all 3 jobs on it" in question, "two colleagues would lose their node unasked"

    def test_without_a_terminal_and_without_yes_it_is_wrong_usage(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(command, "someone_is_there", lambda: False)
        world = market()
        with pytest.raises(SystemExit) as stopped:
            world.run()
        assert stopped.value.code == 2 and not world.asked("StartExperiment")

    @pytest.mark.parametrize("minutes", ["4", "1441", "x", "-5", "²"])
    def test_a_time_out_of_range_is_wrong_usage(self, minutes: str) -> None:
        with pytest.raises(SystemExit) as stopped:
            market().run("--yes", "--timeout-minutes", minutes)
        assert stopped.value.code == 2

    def test_the_node_of_the_run_is_the_only_one_that_is_marked(self) -> None:
        world = market(instances=[instance(OTHER_NODE), instance()])
        assert world.run("--yes")[0] == 0
        assert world.tags_of(NODE) == {**DRILL.node_tags, **DRILL.mark}
        assert world.tags_of(OTHER_NODE) == DRILL.node_tags, "another run's node would be ended"

    def test_of_two_attempts_at_once_the_newer_one_is_interrupted(self) -> None:
        world = market(
            jobs=[running(node=OTHER_NODE), running(2, since=10)],
            instances=[instance(OTHER_NODE), instance()],
        )
        world.logs = {"run-1-2": [(15.0, saved(300))]}
        world.script = [
            (12, lambda: world.write(saved(400), "run-1-2")),
            (15, lambda: world.end_attempt(EXITED, 75)),
            (300, lambda: world.next_attempt("run-1-3")),
            (330, lambda: world.write(resumed(400), "run-1-3")),
        ]
        code, out, err = world.run("--yes")
        assert (code, NODE in out) == (0, True), f"{out}{err}"

    def test_an_attempt_on_demand_at_the_same_time_is_not_taken_for_the_interrupted_one(self) -> None:
        on_demand = running(2, since=10, node=OTHER_NODE, jobQueue=STACK.on_demand_queue_arn)
        code, out, err = market(jobs=[on_demand, running()]).run("--yes")
        assert (code, "Attempt: interrupted, saved." in out) == (0, True), f"{out}{err}"

    def test_with_several_live_runs_one_has_to_be_named(self) -> None:
        jobs = [running(), running(2, jobName="run-2-2"), running(3, jobName="old-3")]
        world = market(jobs=jobs, runs={"run-2": "RUNNING", "run-1": "RUNNING", "old": "SUCCEEDED"})
        code, _, err = world.run("--yes")
        assert (code, err) == (1, "Several runs are live on spot: run-2, run-1. Fix: name one with --run.\n")
        assert not world.asked("StartExperiment")
        world.run("--yes", "--run", "run-1")
        assert len(world.asked("StartExperiment")) == 1 and world.tags_of(NODE) == {
            **DRILL.node_tags,
            **DRILL.mark,
        }

    def test_a_run_on_demand_or_waiting_is_refused_with_what_it_does(self) -> None:
        waiting = market(jobs=[job(1, "RUNNABLE", [attempt(1, 10, EXITED, 75)])])
        assert "run-1 waits for spot capacity since 10 min" in waiting.run("--yes")[2]
        on_demand = market(jobs=[running(jobQueue=STACK.on_demand_queue_arn)])
        code, _, err = on_demand.run("--yes", "--run", "run-1")
        assert (
            code == 1
            and "runs on on-demand since 19 min" in err
            and "Only an attempt that runs on spot" in err
        )
        assert "There is no run other." in market().run("--yes", "--run", "other")[2]

    def test_without_any_run_it_says_how_to_start_one(self) -> None:
        code, _, err = market(runs={"old": "FAILED"}).run("--yes")
        assert (code, "No run is live on spot. Fix: start one with `python -m ops train run`" in err) == (
            1,
            True,
        )


class TestFirstCheckpoint:
    def test_a_run_without_a_safe_checkpoint_is_not_interrupted(self) -> None:
        on_the_node = {"run-1-1": [(15.0, saved(300, "/scratch/run-1"))]}
        for logs in ({}, on_the_node):
            world = market(logs=logs)
            code, _, err = world.run("--yes")
            assert (code, "so it would begin anew. Fix: wait, or give --wait." in err) == (1, True)
            assert not world.asked("StartExperiment"), "all of the run's work would be lost"

    def test_the_first_one_is_waited_for_where_the_person_wants(self) -> None:
        world = market(logs={})
        begin = world.now

        def sleep(seconds: float) -> None:
            DrillWorld.sleep(world, seconds)
            if not world.logs and world.now > begin + 120:
                world.write(saved(50))

        world.sleep = sleep  # type: ignore[method-assign]
        assert world.run("--yes", "--wait")[0] == 0
        assert world.started_at is not None and world.started_at > begin + 120

    def test_on_a_terminal_waiting_is_offered(self, monkeypatch: pytest.MonkeyPatch) -> None:
        asked: list[str] = []
        monkeypatch.setattr(command, "someone_is_there", lambda: True)
        monkeypatch.setattr(command, "confirmed", lambda question: bool(asked.append(question)))
        code, _, _ = market(logs={}).run()
        assert code == 1 and asked[0].endswith("Wait for the first one?")

    def test_waiting_has_an_end(self) -> None:
        code, _, err = market(logs={}).run("--yes", "--wait", "--timeout-minutes", "5")
        assert (code, "Nothing was interrupted in 5 minutes." in err) == (1, True)

    def test_a_step_that_an_earlier_attempt_saved_counts(self) -> None:
        first = running(since=10)
        first["attempts"] = [attempt(1, 9, EXITED, 75, "run-1-0")]
        world = market(jobs=[first], logs={"run-1-0": [(8.0, saved(300))]})
        assert world.run("--yes")[0] == 0, "a run that resumes soon could not be drilled for an hour"


class TestNode:
    @pytest.mark.parametrize(
        ("changes", "because"),
        [
            ({"InstanceLifecycle": None}, "is on-demand and running"),
            ({"State": {"Name": "shutting-down"}}, "is spot and shutting-down"),
            ({"Tags": []}, "lacks the tags Project=ai-platform, Stack=staging, Name=training-capacity"),
        ],
    )
    def test_a_node_that_the_experiment_could_not_take_is_refused(
        self, changes: dict[str, Any], because: str
    ) -> None:
        node = {key: value for key, value in instance(**changes).items() if value is not None}
        world = market(instances=[node])
        code, _, err = world.run("--yes")
        assert (code, because in err) == (1, True), err
        assert not world.asked("StartExperiment")

    def test_while_another_node_is_marked_no_drill_begins(self) -> None:
        marked = instance(OTHER_NODE)
        marked["Tags"] = [
            *marked["Tags"],
            *({"Key": key, "Value": value} for key, value in DRILL.mark.items()),
        ]
        world = market(instances=[instance(), marked])
        code, _, err = world.run("--yes")
        assert code == 1 and f"Another drill is under way on {OTHER_NODE}" in err
        assert not world.asked("StartExperiment"), "either of the two nodes could be taken"
        marked["State"] = {"Name": "terminated"}
        assert world.run("--yes")[0] == 0, "a node that is gone would forbid drills for an hour"

    def test_a_job_whose_node_is_not_told_yet_is_refused(self) -> None:
        early = running()
        del early["container"]["containerInstanceArn"]
        assert "does not tell the node of the job job-1 yet" in market(jobs=[early]).run("--yes")[2]


class TestExperiment:
    def test_an_experiment_that_does_not_see_the_tag_yet_is_started_again(self) -> None:
        world = market(blind=2)
        code, _, err = world.run("--yes")
        assert (code, err.count("does not see the tag yet")) == (0, 2)
        tokens = [call["clientToken"] for call in world.asked("StartExperiment")]
        assert len(set(tokens)) == 3, "the failed experiment would be returned instead of a new one"

    def test_an_experiment_that_never_finds_the_node_ends_with_its_reason_and_no_tag(self) -> None:
        world = market(blind=99)
        code, _, err = world.run("--yes")
        assert code == 1 and "Target resolution returned empty set." in err
        assert len(world.asked("StartExperiment")) == 6
        assert world.tags_of(NODE) == DRILL.node_tags, "the next drill would be refused"

    def test_an_experiment_that_is_denied_its_action_is_told_and_not_repeated(self) -> None:
        world = market(failure="You are not authorized to perform this operation")
        code, _, err = world.run("--yes")
        assert code == 1 and "EXP1 is failed: You are not authorized to perform this operation." in err
        assert len(world.asked("StartExperiment")) == 1
        assert world.tags_of(NODE) == DRILL.node_tags

    @pytest.mark.parametrize(
        ("operation", "code", "told"),
        [
            ("StartExperiment", "AccessDeniedException", "You may not start the experiment. Fix: allow fis:StartExperiment"),
            ("StartExperiment", "ResourceNotFoundException", "no experiment template EXT0123456789. Fix: run `pulumi up`"),
            ("StartExperiment", "ServiceQuotaExceededException", "AWS refused starting the experiment: ServiceQuota"),
            ("CreateTags", "UnauthorizedOperation", f"AWS refused tagging the node {NODE}: UnauthorizedOperation"),
        ],
    )  # fmt: skip
    def test_a_refusal_is_told_as_a_sentence(self, operation: str, code: str, told: str) -> None:
        world = market(refused={operation: code})
        exit_code, _, err = world.run("--yes")
        assert (exit_code, told in err) == (1, True), err
        assert world.tags_of(NODE) == DRILL.node_tags

    def test_a_tag_that_cannot_be_removed_is_told_beside_what_went_wrong(self) -> None:
        world = market(
            refused={"StartExperiment": "AccessDeniedException", "DeleteTags": "UnauthorizedOperation"}
        )
        _, _, err = world.run("--yes")
        assert "You may not start the experiment." in err
        assert f"The tag InterruptionDrill stays on {NODE}: remove it." in err

    def test_an_experiment_that_breaks_off_after_the_notice_is_told(self) -> None:
        world = market()
        world.script = [(20, lambda: setattr(world, "failure", "Internal failure"))]
        code, _, err = world.run("--yes")
        assert code == 1 and "The experiment EXP1 is failed: Internal failure." in err
        assert world.tags_of(NODE) == DRILL.node_tags, "the next drill would be refused"


class TestInterruptedWatching:
    def test_calls_that_fail_for_a_while_do_not_cost_the_report(self) -> None:
        world = market()
        world.script.insert(1, (14, lambda: world.refused.update(DescribeExecution="ThrottlingException*3")))
        code, _, err = world.run("--yes")
        assert (code, err.count("Looking again.")) == (0, 3), err

    def test_calls_that_go_on_failing_end_it(self) -> None:
        world = market()
        world.script.insert(1, (14, lambda: world.refused.update(DescribeExecution="ExpiredTokenException")))
        code, _, err = world.run("--yes")
        assert (
            code == 1 and "AWS refused reading the run run-1: ExpiredTokenException, no. Fix: log in" in err
        )

    def test_stopping_to_watch_says_what_goes_on(self) -> None:
        world = market()

        def ctrl_c() -> None:
            raise KeyboardInterrupt

        world.script = [(40, ctrl_c)]
        code, _, err = world.run("--yes")
        assert code == 130
        assert f"The node {NODE} goes all the same, and run-1 goes on by itself." in err
        assert "python -m ops train status run-1 --stack staging (experiment EXP1)" in err


@pytest.mark.parametrize("values", [{}, {"interruption_drill": {}}, {"interruption_drill": "EXT1"}])
def test_a_stack_without_the_drill_says_how_to_switch_it_on(values: dict[str, Any]) -> None:
    with pytest.raises(
        StackOutputsError, match="no interruption drill. Fix: set ai-platform:interruptionDrill to true"
    ):
        drill_of(StackOutputs("dev", values))
