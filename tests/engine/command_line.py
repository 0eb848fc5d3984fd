"""The `pulumi` command line: where it is, and the environment in which it touches nothing of the user's."""

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from ops.capture.program import PROJECT_ROOT

BUILT = PROJECT_ROOT / ".engine" / "pulumi"
LANGUAGE_HOST_FOLDER = Path(__file__).parent / "bin"
MISSING = "pulumi CLI not found: run `make engine`"


def find_pulumi() -> Path | None:
    """The command line that `make engine` built, else the one on the PATH, else None."""
    if BUILT.is_file():
        return BUILT
    found = shutil.which("pulumi")
    return Path(found) if found else None


def environment(home: Path, pulumi: Path, providers: Mapping[str, str]) -> dict[str, str]:
    """A home and a state below `home`; the providers are the given ones and nothing is downloaded."""
    state = home / "state"
    state.mkdir(parents=True, exist_ok=True)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PULUMI_", "AWS_"))}
    own_host = pulumi.resolve().with_name("pulumi-language-python").exists()
    path = kept.get("PATH", os.defpath)
    return {
        **kept,
        **providers,
        "PATH": path if own_host else f"{LANGUAGE_HOST_FOLDER}{os.pathsep}{path}",
        "ENGINE_PYTHON": sys.executable,
        "PULUMI_HOME": str(home / "home"),
        "PULUMI_BACKEND_URL": state.as_uri(),
        "PULUMI_CONFIG_PASSPHRASE": "engine",
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        # The flag for an event log is among the commands for debugging.
        "PULUMI_DEBUG_COMMANDS": "true",
        # One write of the state at the end, instead of one for each resource.
        "PULUMI_EXPERIMENTAL": "true",
        "PULUMI_SKIP_CHECKPOINTS": "true",
    }
