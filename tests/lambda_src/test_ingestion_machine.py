"""Hypothesis plays lake, queue and fate; whenever the queue has run empty, index and lake must agree."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from ingestion.settings import Generation
from tests.lambda_src.ingestion_faults import Fault
from tests.lambda_src.ingestion_world import QUEUE, World, text

KEYS = st.sampled_from(["raw/a.txt", "raw/a.txt/b.md", "raw/Ä b+c%20.txt"])
TEXTS = st.builds(text, st.integers(0, 5), st.sampled_from(["first", "second", "third"]))
FAULTS = st.builds(
    Fault, at=st.one_of(st.just(0), st.integers(1, 45)), is_after=st.booleans(), is_crash=st.booleans()
)
MESSAGES = st.integers(0, 1000)


class Ingestion(RuleBasedStateMachine):
    """Messages are delivered in any order, twice, to runs side by side that break off anywhere."""

    @initialize(generation=st.sampled_from(["NEXTGEN", "CLASSIC"]), delay=st.sampled_from([None, 0]))
    def begin(self, generation: Generation, delay: float | None) -> None:
        self.world = World(generation, delay)

    @rule(key=KEYS, content=TEXTS)
    def put(self, key: str, content: str) -> None:
        self.world.put(key, content)

    @rule(key=KEYS)
    def delete(self, key: str) -> None:
        self.world.delete(key)

    @precondition(lambda self: self.world.visible())
    @rule(which=MESSAGES, fault=FAULTS)
    def deliver(self, which: int, fault: Fault) -> None:
        visible = self.world.visible()
        self.world.deliver(visible[which % len(visible)], fault)

    @precondition(lambda self: self.world.messages)
    @rule(which=MESSAGES)
    def send_again(self, which: int) -> None:
        """The same is told twice, in messages of their own."""
        self.world.sqs.add(QUEUE, self.world.messages[which % len(self.world.messages)].body)

    @precondition(lambda self: self.world.messages)
    @rule(
        which=st.lists(st.tuples(MESSAGES, FAULTS), min_size=2, max_size=3),
        schedule=st.lists(st.integers(0, 2), max_size=60),
        is_same=st.booleans(),
    )
    def deliver_side_by_side(
        self, which: list[tuple[int, Fault]], schedule: list[int], is_same: bool
    ) -> None:
        """Whatever is in the queue, be it in work already, goes to several runs at once."""
        messages = self.world.messages
        chosen = [
            (messages[(which[0][0] if is_same else one) % len(messages)], fault) for one, fault in which
        ]
        self.world.deliver_all(chosen, schedule)

    @rule(seconds=st.sampled_from([5, 30, 70, 400, 2000]))
    def wait(self, seconds: float) -> None:
        self.world.now += seconds

    @rule()
    def settle(self) -> None:
        self.world.settle()
        self.world.check()

    def teardown(self) -> None:
        if hasattr(self, "world"):
            self.settle()


TestIngestion = Ingestion.TestCase
TestIngestion.settings = settings(
    max_examples=150, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
