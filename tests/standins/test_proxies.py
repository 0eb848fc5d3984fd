"""Stand-ins are on this machine: the proxies of its network have nothing to do with them."""

import os
import subprocess
import sys

import pytest

from ops.capture.program import PROJECT_ROOT
from tests.standins.loopback import leave_proxies

# Nobody listens there.
PROXY = "http://127.0.0.1:9"


@pytest.mark.parametrize("name", ["HTTP_PROXY", "https_proxy", "All_Proxy", "FTP_PROXY"])
def test_a_proxy_is_left_however_it_is_written(name: str) -> None:
    environment = {name: PROXY, "NO_PROXY": "example.com", "PATH": "/bin"}
    leave_proxies(environment)
    assert environment == {"PATH": "/bin", "NO_PROXY": "127.0.0.1,localhost"}


def test_tests_that_talk_to_stand_ins_pass_behind_a_proxy() -> None:
    environment = {**os.environ, "HTTP_PROXY": PROXY, "HTTPS_PROXY": PROXY, "ALL_PROXY": PROXY}
    environment.pop("NO_PROXY", None)
    test = "tests/standins/test_bedrock.py::test_a_fault_is_used_as_often_as_it_was_added"
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", test]
    run = subprocess.run(
        command, cwd=PROJECT_ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout
