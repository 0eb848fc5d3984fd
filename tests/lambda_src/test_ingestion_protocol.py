"""Runs break off, overlap, come twice and in any order; at the end the index holds exactly what the lake holds.

Every call of every run goes wrong in some combination of what else happens. With EXHAUSTIVE_PROTOCOL=1 in the environment it
does so in each of them, which takes a minute or two.
"""

import gc
import os
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import pytest

from ingestion.settings import Generation
from tests.lambda_src.ingestion_faults import Fault
from tests.lambda_src.ingestion_world import World, text

KEY = "raw/web-scrapes/über uns + 100%.md"
Story = Callable[[World], None]


def new_small(world: World) -> None:
    world.put(KEY, text(2))


def new_large(world: World) -> None:
    world.put(KEY, text(5))


def replaced_by_smaller(world: World) -> None:
    world.put(KEY, text(5))
    world.settle()
    world.put(KEY, text(2, "second"))


def replaced_by_larger(world: World) -> None:
    world.put(KEY, text(2))
    world.settle()
    world.put(KEY, text(5, "second"))


def replaced_before_it_was_done(world: World) -> None:
    world.put(KEY, text(5))
    world.deliver(world.messages[0])
    world.deliver(world.messages[0])
    world.put(KEY, text(3, "second"))


def deleted(world: World) -> None:
    world.put(KEY, text(5))
    world.settle()
    world.delete(KEY)


def deleted_before_it_was_done(world: World) -> None:
    world.put(KEY, text(5))
    world.deliver(world.messages[0])
    world.deliver(world.messages[0])
    world.delete(KEY)


def emptied(world: World) -> None:
    world.put(KEY, text(2))
    world.settle()
    world.put(KEY, b"")


IS_EXHAUSTIVE = os.environ.get("EXHAUSTIVE_PROTOCOL") == "1"
GENERATIONS: list[Generation] = ["NEXTGEN", "CLASSIC"]
STORIES: list[Story] = [
    new_small, new_large, replaced_by_smaller, replaced_by_larger, replaced_before_it_was_done, deleted,
    deleted_before_it_was_done, emptied,
]  # fmt: skip


@pytest.fixture(autouse=True)
def _garbage_waits() -> Iterator[None]:
    """Looking for garbage among all that was imported would take a third of the time."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(params=GENERATIONS)
def generation(request: pytest.FixtureRequest) -> Generation:
    return request.param


# A run that ends before a call has left the same as one that ended after the call before.
FAULTS = {
    "crash": partial(Fault, is_crash=True, is_after=True),
    "request lost": partial(Fault, is_crash=False, is_after=False),
    "reply lost": partial(Fault, is_crash=False, is_after=True),
}


def calls(step: int, *combination: int) -> Iterator[int]:
    """Numbers of calls from 1: each `step`-th of them, in neighbouring combinations other ones; or all."""
    return count(1) if IS_EXHAUSTIVE else count(1 + sum(combination) % step, step)


@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("kind", FAULTS)
def test_wherever_a_run_breaks_off_nothing_is_lost_or_there_twice(
    generation: Generation, story: Story, kind: str
) -> None:
    # In each generation one kind of fault is tried at each call.
    for at in calls(3, list(FAULTS).index(kind), GENERATIONS.index(generation)):
        world = World(generation)
        story(world)
        fault = FAULTS[kind](at)
        world.settle(fault)
        world.check()
        if fault.calls < at:
            break
    assert at > 10, "hardly a call was tried"


def an_event(world: World) -> None:
    world.put(KEY, text(2))


def an_event_of_a_large_document(world: World) -> None:
    world.put(KEY, text(3))


def a_part(world: World) -> None:
    world.put(KEY, text(3))
    world.deliver(world.messages[0])


def the_last_part(world: World) -> None:
    a_part(world)
    world.deliver(world.messages[0])


def a_removal(world: World) -> None:
    an_event(world)
    world.settle()
    world.delete(KEY)


def a_replacement(world: World) -> None:
    an_event(world)
    world.settle()
    world.put(KEY, text(1, "second"))


def comes_again(world: World) -> None:
    """The queue hands out the very message that is being worked on."""
    world.deliver(world.messages[0])


def the_others_are_handled(world: World) -> None:
    while ready := world.visible():
        world.deliver(ready[-1])


def is_replaced(world: World) -> None:
    world.put(KEY, text(3, "newest"))
    the_others_are_handled(world)


def is_deleted(world: World) -> None:
    world.delete(KEY)
    the_others_are_handled(world)


def is_deleted_and_comes_again(world: World) -> None:
    is_deleted(world)
    comes_again(world)


def is_deleted_and_written_again(world: World) -> None:
    is_deleted(world)
    world.put(KEY, text(1, "newest"))
    the_others_are_handled(world)


FIRST: list[Story] = [an_event, an_event_of_a_large_document, a_part, the_last_part, a_removal, a_replacement]
SECOND: list[Story] = [
    comes_again, the_others_are_handled, is_replaced, is_deleted, is_deleted_and_comes_again,
    is_deleted_and_written_again,
]  # fmt: skip


def paused_run(generation: Generation, first: Story, second: Story, pause_at: int, end: int = 0) -> Fault:
    """A run that stands still ahead of one call while `second` happens, and goes wrong at the call `end`."""
    world = World(generation)
    first(world)
    fault = Fault(end, is_crash=end % 2 == 0, pause_at=pause_at, meanwhile=partial(second, world))
    world.deliver(world.messages[0], fault)
    world.settle()
    world.check()
    return fault


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("second", SECOND)
def test_whatever_happens_in_the_middle_of_a_run_and_wherever_it_ends_then_the_index_comes_out_right(
    generation: Generation, first: Story, second: Story
) -> None:
    """For every call of the run at which the rest happens, and later ones that fail or end the run, or none."""
    combination = (FIRST.index(first), SECOND.index(second), GENERATIONS.index(generation))
    # Each pair is tried at each call in one of the generations.
    for pause_at in calls(2, *combination):
        undisturbed = paused_run(generation, first, second, pause_at)
        if undisturbed.calls < pause_at:
            break
        for later in calls(10, pause_at, *combination):
            end = pause_at + later - 1
            if end > undisturbed.calls:
                break
            paused_run(generation, first, second, pause_at, end)
    assert pause_at > 5, "hardly a call was tried"


@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("second", SECOND)
@pytest.mark.parametrize("kind", FAULTS)
def test_whatever_follows_at_once_on_a_run_that_broke_off_the_index_comes_out_right(
    generation: Generation, first: Story, second: Story, kind: str
) -> None:
    # Of what may follow, one or two are tried at each call, in each generation and with each kind of fault.
    for at in calls(4, FIRST.index(first), SECOND.index(second)):
        world = World(generation)
        first(world)
        message = world.messages[0]
        fault = FAULTS[kind](at)
        world.deliver(message, fault)
        if fault.calls < at:
            break
        second(world)
        world.settle()
        world.check()
    assert at > 5, "hardly a call was tried"
