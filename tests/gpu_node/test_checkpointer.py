"""When a training loop saves and when it leaves, with a clock and signals of the tests."""

import os
import signal
import threading
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from gpu_node.checkpoint import Checkpointer, CheckpointError, CheckpointFolder, Decision, SaveInterval

EVERY_STEP = SaveInterval(steps=1)
NEVER = SaveInterval(seconds=10**9)


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


class Run:
    """A training loop of which each step takes `step_seconds` and each save `save_seconds`."""

    def __init__(self, checkpoints: Checkpointer, clock: Clock) -> None:
        self.checkpoints, self.clock = checkpoints, clock
        self.step_seconds, self.save_seconds = 1.0, 0.0
        self.step = 0
        self.saved: list[int] = []

    def write(self, folder: Path) -> None:
        self.clock.now += self.save_seconds
        (folder / "step").write_text(str(self.step))
        self.saved.append(self.step)

    def train(self, steps: int) -> bool:
        for _ in range(steps):
            self.clock.now += self.step_seconds
            self.step += 1
            if self.checkpoints.after_step(self.step, self.write):
                return True
        return False


@contextmanager
def training(folder: Path, **arguments: Any) -> Generator[Run]:
    clock = Clock()
    with Checkpointer(folder / "shared", clock=clock, **arguments) as checkpoints:
        yield Run(checkpoints, clock)


def steps_in(folder: Path) -> list[int]:
    return [found.step for found in CheckpointFolder(folder).candidates()]


def send(number: int) -> None:
    os.kill(os.getpid(), number)


def test_the_late_signal_saves_once_and_leaves_with_75(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(SystemExit) as left, training(tmp_path, interval=NEVER) as run:
        assert not run.train(3)
        send(signal.SIGTERM)
        assert run.checkpoints.should_stop, "a long step could not end early"
        send(signal.SIGTERM)
        assert run.train(9), "the loop was not told to leave"
    assert (left.value.code, run.saved) == (75, [4]), "the work is lost, or nobody resumes it"
    assert signal.getsignal(signal.SIGTERM) == before, "the program could no longer be ended"


def test_a_second_late_signal_gives_no_more_time(tmp_path: Path) -> None:
    with training(tmp_path, interval=NEVER) as run:
        assert run.checkpoints.seconds_left is None
        send(signal.SIGTERM)
        run.clock.now += 50
        send(signal.SIGTERM)
        assert run.checkpoints.seconds_left == 120 - 15 - 50


def test_the_early_signal_saves_once_and_goes_on(tmp_path: Path) -> None:
    with training(tmp_path, interval=NEVER) as run:
        run.train(2)
        send(signal.SIGUSR1)
        assert not run.train(5), "a recommendation ended the training"
    assert run.saved == [3]


def test_a_run_that_is_through_ends_as_usual_even_when_told_late(tmp_path: Path) -> None:
    with training(tmp_path, interval=NEVER) as run:
        run.train(3)
        send(signal.SIGTERM)  # after the last step: all the work of the block is done
    assert run.saved == []


def test_an_error_of_the_training_is_no_interruption(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), training(tmp_path, interval=NEVER) as run:
        send(signal.SIGTERM)
        run.train(1)
        raise ZeroDivisionError


def test_saves_every_so_many_steps_counted_from_where_it_resumed(tmp_path: Path) -> None:
    with training(tmp_path, interval=SaveInterval(steps=3)) as run:
        run.train(7)
    assert run.saved == [3, 6]
    with training(tmp_path, interval=SaveInterval(steps=3)) as run:
        latest = run.checkpoints.latest()
        assert latest is not None
        run.step = latest.step
        run.train(4)
    assert run.saved == [9], "a resumed run saves at once, or too late"


def test_saves_every_so_many_seconds_of_work(tmp_path: Path) -> None:
    with training(tmp_path, interval=SaveInterval(seconds=10)) as run:
        run.save_seconds = 8
        run.train(25)
    assert run.saved == [10, 20], "the time of saving counts as work"


def test_saves_by_default_at_the_optimum_of_the_measured_save_time(tmp_path: Path) -> None:
    """sqrt(2 * 30 s * 40 h) is 2939 s: known to be the optimum for one loss in 40 hours."""
    with training(tmp_path) as run:
        run.save_seconds = 30
        run.train(4000)
    assert [later - sooner for sooner, later in zip(run.saved, run.saved[1:], strict=False)] == [2940]
    assert run.saved[0] == 537, "the first save does not come early, though nothing is measured yet"


def test_what_a_loop_writes_before_its_save_belongs_to_the_measured_time(tmp_path: Path) -> None:
    with training(tmp_path) as run:
        run.clock.now += 10**6
        assert run.checkpoints.decide(1) is Decision.SAVE
        run.clock.now += 20  # the Trainer writes its own checkpoint
        run.save_seconds = 10
        run.checkpoints.save(1, run.write)
        assert round(run.checkpoints.seconds_between_saves) == 2939, "the optimum of 10 s, not of 30 s"


def test_a_step_that_is_saved_is_not_saved_again(tmp_path: Path) -> None:
    with training(tmp_path, interval=EVERY_STEP) as run:
        run.train(1)
        run.checkpoints.save(1, run.write)
    assert run.saved == [1]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"steps": 5, "seconds": 5}, "not in both"),
        ({"steps": 0}, "steps is 0: it must be above 0"),
        ({"seconds": -1}, "seconds is -1"),
        ({"seconds": float("nan")}, "seconds is nan"),
        ({"unannounced_losses_per_hour": 0}, "unannounced_losses_per_hour is 0"),
    ],
)
def test_an_interval_that_makes_no_sense_is_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SaveInterval(**values)


def test_with_a_local_disk_the_copy_follows_in_the_background(tmp_path: Path) -> None:
    with training(tmp_path, interval=SaveInterval(steps=2), scratch_folder=tmp_path / "scratch") as run:
        run.train(5)
    assert steps_in(tmp_path / "scratch") == [4, 2]
    assert steps_in(tmp_path / "shared")[0] == 4, "the end did not wait for the copy"


def test_the_last_save_goes_where_it_outlives_the_node(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    copying, written = threading.Event(), []

    def copy_for_ever(_self: object, _checkpoint: object, between_chunks: Callable[[], None]) -> None:
        while True:
            copying.set()
            between_chunks()
            written.append(run.saved[-1])

    monkeypatch.setattr(CheckpointFolder, "add", copy_for_ever)
    scratch = tmp_path / "scratch"
    with pytest.raises(SystemExit), training(tmp_path, interval=EVERY_STEP, scratch_folder=scratch) as run:
        run.train(2)
        copying.wait()
        send(signal.SIGTERM)
        run.train(1)
    assert steps_in(tmp_path / "shared") == [3], "the last save is on a disk that goes with the node"
    assert CheckpointFolder(tmp_path / "shared").latest()
    assert written.count(3) <= 1, "a copy of an older checkpoint took the network from the last save"


@pytest.mark.parametrize("error", [OSError("quota"), ZeroDivisionError(), KeyboardInterrupt()])
def test_a_copy_goes_on_where_the_last_save_fails(tmp_path: Path, error: BaseException) -> None:
    scratch, blocked = tmp_path / "scratch", threading.Event()

    def fail(_folder: Path) -> None:
        blocked.set()
        raise error

    with (
        pytest.raises((SystemExit, KeyboardInterrupt)),
        training(tmp_path, interval=NEVER, scratch_folder=scratch) as run,
        pytest.MonkeyPatch.context() as patch,
    ):
        add = CheckpointFolder.add

        def add_late(self: CheckpointFolder, checkpoint: Any, between_chunks: Callable[[], None]) -> Any:
            blocked.wait()
            return add(self, checkpoint, between_chunks)

        patch.setattr(CheckpointFolder, "add", add_late)
        send(signal.SIGUSR1)
        run.train(1)
        send(signal.SIGTERM)
        run.checkpoints.after_step(2, fail)
    assert steps_in(tmp_path / "shared") == [1], "the newest whole checkpoint went with the node"


def test_a_copy_is_finished_first_where_the_last_save_has_no_chance(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    order: list[str] = []
    with (
        pytest.raises(SystemExit),
        training(tmp_path, interval=NEVER, scratch_folder=tmp_path / "scratch") as run,
        pytest.MonkeyPatch.context() as patch,
    ):
        add = CheckpointFolder.add

        def add_for_two_minutes(self: CheckpointFolder, checkpoint: Any, between_chunks: Any) -> Any:
            run.clock.now += 120
            added = add(self, checkpoint, between_chunks)
            order.append(f"copied {added.step}")
            return added

        patch.setattr(CheckpointFolder, "add", add_for_two_minutes)
        for number, step in ((signal.SIGUSR1, 1), (signal.SIGUSR1, 2)):
            send(number)
            run.train(1)
            if step == 1:
                run.checkpoints._carrier and run.checkpoints._carrier.finish(None)
        send(signal.SIGTERM)
        run.checkpoints.after_step(3, lambda folder: order.append("last save") or run.write(folder))
    assert order == ["copied 1", "copied 2", "last save"], "neither of two halves can be loaded"
    assert "WARNING: saving step 3 may take 120 s" in capsys.readouterr().err


def test_a_copy_that_fails_is_told_and_costs_nothing_local(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise CheckpointError("the file server is gone")

    monkeypatch.setattr(CheckpointFolder, "add", refuse)
    scratch = tmp_path / "scratch"
    with training(tmp_path, interval=EVERY_STEP, scratch_folder=scratch) as run:
        run.train(2)
    assert steps_in(scratch) == [2, 1] and CheckpointFolder(scratch).latest()
    assert "ERROR: step 2 was not copied" in capsys.readouterr().err
    assert steps_in(tmp_path / "shared") == []


@pytest.mark.parametrize("error", [OSError("no route"), SystemExit(3)])
def test_uploads_get_each_checkpoint_and_their_errors_end_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], error: BaseException
) -> None:
    uploaded: list[str] = []

    def upload(path: Path) -> None:
        uploaded.append(path.name)
        if len(uploaded) == 1:
            raise error

    with training(tmp_path, interval=SaveInterval(steps=5), upload=upload) as run:
        run.train(5)
        run.checkpoints._carrier and run.checkpoints._carrier.finish(None)
        run.train(5)
    assert uploaded == ["step-5", "step-10"], "after an error nothing more is uploaded"
    assert "ERROR: step 5 was not uploaded" in capsys.readouterr().err


def test_leaving_waits_for_an_upload_no_longer_than_the_notice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    release = threading.Event()
    with (
        pytest.raises(SystemExit),
        training(tmp_path, interval=NEVER, upload=lambda _: release.wait(), notice_seconds=0) as run,
    ):
        send(signal.SIGTERM)
        run.train(1)
    release.set()
    assert "no time is left to finish the copy" in capsys.readouterr().err
    assert steps_in(tmp_path / "shared") == [1]


def test_a_checkpoint_that_is_being_uploaded_is_not_deleted(tmp_path: Path) -> None:
    started, release, found = threading.Event(), threading.Event(), []

    def upload(path: Path) -> None:
        started.set()
        release.wait()
        found.append(path.is_dir())

    with training(tmp_path, interval=EVERY_STEP, upload=upload, keep_last=1) as run:
        run.train(1)
        started.wait()
        run.train(2)
        release.set()
    assert found == [True, True], "an upload lost the files under its hands"


def test_only_rank_0_saves_and_every_rank_leaves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    decisions: list[int] = []

    def agree(own: int) -> int:
        decisions.append(own)
        return own

    with pytest.raises(SystemExit) as left, training(tmp_path, interval=EVERY_STEP, agree=agree) as run:
        run.train(2)
        send(signal.SIGUSR1)
        run.train(2)
        send(signal.SIGTERM)
        run.train(1)
    assert (left.value.code, run.saved, (tmp_path / "shared").exists()) == (75, [], False)
    assert decisions == [0, 0, 1, 0, 2, 2], (
        "a rank that saves nothing has no interval, or is gone before rank 0 has saved"
    )


def test_the_ranks_agree_on_the_step_after_which_they_leave(tmp_path: Path) -> None:
    of_others = [Decision.GO_ON, Decision.SAVE, Decision.GO_ON, Decision.LEAVE]

    def agree(own: int) -> int:
        assert own == Decision.GO_ON or run.saved == [2, 4], "rank 0 was told nothing"
        return max(own, of_others[run.step - 1])

    with pytest.raises(SystemExit) as left, training(tmp_path, interval=NEVER, agree=agree) as run:
        assert run.train(9)
    assert (left.value.code, run.saved) == (75, [2, 4]), "the ranks would wait for each other for ever"
    assert run.checkpoints.seconds_left == 105


def test_no_rank_is_gone_before_rank_0_has_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """torchrun gives the other ranks 30 seconds from the moment that the first of them ends."""
    shared = tmp_path / "shared"
    found: list[list[int]] = []

    def agree(own: int) -> int:
        found.append(steps_in(shared))
        if found[-1]:
            raise RuntimeError("a rank has died")
        return own

    with pytest.raises(SystemExit) as left, training(tmp_path, interval=NEVER, agree=agree) as run:
        run.train(1)
        send(signal.SIGTERM)
        run.train(1)
    assert found == [[], [], [2]], "the others would leave while the last checkpoint is written"
    assert left.value.code == 75 and "a rank has died" in capsys.readouterr().err, "saved work is not resumed"


def failing(run: Run, error: Exception, failures: Collection[int]) -> Callable[[Path], None]:
    """A write of which the calls with these numbers fail."""

    def write(folder: Path) -> None:
        run.write(folder)
        if len(run.saved) in failures:
            raise error

    return write


@pytest.mark.parametrize("error", [OSError("disk full"), RuntimeError("a library's word for a full disk")])
def test_a_save_that_fails_is_told_and_tried_again(
    tmp_path: Path, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    with training(tmp_path, interval=SaveInterval(steps=2)) as run:
        write = failing(run, error, failures=(2, 3, 5, 6))
        for step in range(1, 15):
            run.step = step
            run.checkpoints.after_step(step, write)
    assert (run.saved, steps_in(tmp_path / "shared")) == ([2, 4, 6, 8, 10, 12, 14], [14, 8, 2])
    assert capsys.readouterr().err.count("ERROR: step") == 4


def test_the_first_save_that_fails_is_tried_again_after_a_minute(tmp_path: Path) -> None:
    with training(tmp_path, interval=SaveInterval(seconds=1000)) as run:
        run.step_seconds = 10.0
        write = failing(run, OSError("a moment of the file system"), failures=(2,))
        for run.step in range(1, 309):
            run.clock.now += run.step_seconds
            run.checkpoints.after_step(run.step, write)
    assert run.saved == [100, 200, 206, 306], (
        "a moment of the file system would double what a lost node costs"
    )


def test_a_save_that_keeps_failing_ends_the_run(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="disk full"), training(tmp_path, interval=EVERY_STEP) as run:
        write = failing(run, OSError("disk full"), failures=range(2, 9))
        for step in range(1, 9):
            run.step = step
            run.checkpoints.after_step(step, write)
    assert run.saved == [1, 2, 3, 4], "hours of work would never be saved"


def test_a_mistake_in_the_first_save_is_raised_at_once(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), training(tmp_path, interval=EVERY_STEP) as run:
        run.checkpoints.after_step(1, lambda folder: 1 // 0)


def test_a_last_save_that_fails_still_asks_to_be_resumed(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as left, training(tmp_path, interval=NEVER) as run:
        send(signal.SIGTERM)
        run.checkpoints.after_step(1, lambda folder: 1 // 0)
    assert left.value.code == 75, "the run would be taken for a user's error and end"


def test_a_save_longer_than_the_time_left_is_tried_and_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit), training(tmp_path, interval=NEVER) as run:
        run.save_seconds = 60
        run.checkpoints.save(0, run.write)
        send(signal.SIGTERM)
        assert run.checkpoints.seconds_left == 120 - 15
        run.step_seconds = 50
        run.train(1)
        assert run.checkpoints.seconds_left == 0
    assert run.saved == [0, 1]
    assert "WARNING: saving step 1 may take 60 s, and 55 s are left" in capsys.readouterr().err


def test_a_folder_that_takes_nothing_ends_the_run_before_it_starts(tmp_path: Path) -> None:
    before = signal.getsignal(signal.SIGUSR1)
    (tmp_path / "shared").touch()
    with pytest.raises(CheckpointError, match="no checkpoint can be saved"), training(tmp_path):
        pytest.fail("hours of training would follow")
    assert signal.getsignal(signal.SIGUSR1) == before


def test_signals_need_the_main_thread(tmp_path: Path) -> None:
    errors: list[BaseException] = []

    def enter() -> None:
        try:
            Checkpointer(tmp_path).__enter__()
        except CheckpointError as error:
            errors.append(error)

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    assert "has to be in the main thread" in str(errors[0])


def test_the_newest_valid_checkpoint_of_both_folders_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scratch, shared = tmp_path / "scratch", tmp_path / "shared"
    checkpoints = Checkpointer(shared, scratch_folder=scratch)
    assert checkpoints.latest() is None
    assert "starting from the beginning" in capsys.readouterr().err, "nobody sees that a run starts anew"

    for folder, step in ((shared, 1), (scratch, 1), (shared, 2), (scratch, 3)):
        CheckpointFolder(folder).save(step, lambda path: (path / "model").write_text("x"))
    for expected in (scratch / "step-3", shared / "step-2", scratch / "step-1", shared / "step-1"):
        latest = checkpoints.latest()
        assert latest is not None and latest.path == expected
        os.truncate(expected / "model", 0)


def test_what_a_killed_process_left_on_the_local_disk_is_copied_when_it_resumes(tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    CheckpointFolder(scratch).save(7, lambda path: (path / "model").write_text("x"))
    copies = []
    for _ in range(2):
        with training(tmp_path, interval=NEVER, scratch_folder=scratch) as run:
            assert run.checkpoints.latest()
            run.checkpoints.save(7, run.write)
        assert steps_in(tmp_path / "shared") == [7], "a finished run's last step would go with the node"
        copies.append((tmp_path / "shared" / "step-7").stat().st_mtime_ns)
    assert copies[0] == copies[1], "it would be copied again at each start"
