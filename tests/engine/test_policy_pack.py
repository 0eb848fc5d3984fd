"""The engine runs the policy pack: clean stacks pass, and a fault stops a preview and an exported state."""

import os
from collections.abc import Callable

import pytest

from ops.capture.program import PROJECT_ROOT
from recordings import STACKS
from tests.engine.engine import Engine

PACK = PROJECT_ROOT / "policies" / "pack"
MISSING = "the policy pack has no environment: run `make policy-pack`"
# A stack that serves the internet and protects none of its data.
PUBLIC = {
    "exposure": "public",
    "certificateArn": "arn:aws:acm:eu-central-1:111122223333:certificate/12345678-1234-1234-1234-123456789012",
    "bearerTokenSecretArn": "arn:aws:secretsmanager:eu-central-1:111122223333:secret:token-AbCdEf",
}
UNPROTECTED = "data-lake-bucket is not protected, while rag-balancer answers the internet"


@pytest.fixture(autouse=True, scope="module")
def _environment() -> None:
    """Without the environment of the pack the tests are skipped, and in CI they fail."""
    if not (PROJECT_ROOT / ".policy-pack" / "bin" / "python").exists():
        if os.environ.get("CI"):
            pytest.fail(MISSING)
        pytest.skip(MISSING)


@pytest.mark.parametrize("stack", STACKS)
def test_a_stack_passes_the_pack_before_and_after_its_deployment(
    engine: Callable[..., Engine], stack: str
) -> None:
    with engine(stack) as running:
        preview = running.preview("--policy-pack", str(PACK))
        assert preview.ok, preview.output
        assert "ai-platform" in preview.output.partition("Policy Packs run")[2], "the pack did not run"
        deployed = running.up("--policy-pack", str(PACK))
        assert deployed.ok, deployed.output


def test_a_fault_stops_a_preview_and_is_found_in_an_exported_state(engine: Callable[..., Engine]) -> None:
    with engine("dev", PUBLIC) as running:
        preview = running.preview("--policy-pack", str(PACK))
        assert not preview.ok and UNPROTECTED in preview.output, "it would be deployed"
        assert running.up().ok
        judged = running.judge_state(PACK)
        assert judged.returncode and UNPROTECTED in judged.stdout
