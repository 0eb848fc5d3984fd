"""The CloudWatch agent of a node: what it is told to send, and how it is installed and started."""

import ast
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from components.node_agent import METRIC_NAMESPACE
from components.node_archive import AGENT_FILES, AGENT_FOLDER, NODE_FOLDER, agent_texts
from gpu_node.agent.configure import configuration

# What the agent takes in each section. Source: github.com/aws/amazon-cloudwatch-agent, translator/config/schema.json,
# and translator/translate/metrics/config/registered_metrics.go for the measurements, both of 2026-08-07.
KEYS = {
    "": {"agent", "logs", "metrics"},
    "agent": {"metrics_collection_interval", "omit_hostname"},
    "logs.logs_collected.files.collect_list": {"file_path", "log_group_name", "log_stream_name"},
    "metrics": {"aggregation_dimensions", "metrics_collected", "namespace"},
    "metrics.metrics_collected": {"disk", "mem", "nvidia_gpu"},
    "metrics.metrics_collected.disk": {
        "append_dimensions", "drop_original_metrics", "measurement", "resources",
    },
    "metrics.metrics_collected.mem": {"append_dimensions", "drop_original_metrics", "measurement"},
    "metrics.metrics_collected.nvidia_gpu": {"append_dimensions", "drop_original_metrics", "measurement"},
}  # fmt: skip
MEASUREMENTS = {
    "disk": {"used_percent"},
    "mem": {"used_percent"},
    "nvidia_gpu": {"memory_used", "temperature_gpu", "utilization_gpu"},
}
# The dimensions that a metric has from its input, beside those that the configuration appends: the tags of each
# input less the agent's own deny list (plugins/inputs/nvidia_smi/README.md, translate/metrics/config/deny_list_tags.go).
OWN_DIMENSIONS = {"disk": {"device", "fstype", "path"}, "mem": set(), "nvidia_gpu": {"index", "name"}}
TEMPLATE = (AGENT_FOLDER / "agent.json").read_text()
VALUES = {"FLEET": "ai-cluster-dev-research", "NODE_LOG_GROUP": "gpu-research-node-logs-1a2b3c4"}
UNITS = sorted(NODE_FOLDER.rglob("*.service"))
FAKE_CTL = """#!/bin/bash
printf '%s\\n' "ctl $*" >>"$CALLS"
if ((CTL_STATUS)); then printf 'no\\ncredentials\\n'; exit 1; fi
"""


def config(has_nvidia_gpu: bool = True) -> dict[str, Any]:
    return configuration(TEMPLATE, VALUES, has_nvidia_gpu)


def at(path: str) -> list[dict[str, Any]]:
    found: Any = config()
    for name in path.split(".") if path else []:
        found = found[name]
    return found if isinstance(found, list) else [found]


@pytest.mark.parametrize("path", KEYS)
def test_every_setting_is_one_that_the_agent_knows(path: str) -> None:
    for section in at(path):
        assert set(section) <= KEYS[path], (
            "the agent refuses a configuration that it does not know, as a whole"
        )


@pytest.mark.parametrize("name", MEASUREMENTS)
def test_what_is_measured_is_sent_once_per_fleet_and_never_per_node(name: str) -> None:
    section = config()["metrics"]["metrics_collected"][name]
    own = {"Fleet", *OWN_DIMENSIONS[name]}
    groups = [set(group) for group in config()["metrics"]["aggregation_dimensions"]]
    # The agent forms a group out of metrics that have all of its dimensions and another one besides.
    formed = [group for group in groups if group < own]

    assert set(section["measurement"]) == MEASUREMENTS[name], "the agent would measure nothing"
    if section.get("drop_original_metrics"):
        assert section["drop_original_metrics"] == section["measurement"], "each node and GPU would be billed"
        assert {"Fleet"} in formed, "nothing at all would be sent"
    else:
        assert own == {"Fleet"} and not formed, "each node would be billed, or every value counted twice"
    assert config()["agent"]["omit_hostname"] is True, "the name of the node would be a dimension"


def test_the_root_disk_and_the_local_disks_are_told_apart() -> None:
    assert config()["metrics"]["metrics_collected"]["disk"]["resources"] == ["/", "/scratch"]
    assert ["Fleet", "path"] in config()["metrics"]["aggregation_dimensions"], (
        "nobody would know which one is full"
    )


def test_metrics_go_where_the_role_of_a_node_may_send_them() -> None:
    assert config()["metrics"]["namespace"] == METRIC_NAMESPACE, "every metric would be refused"


def test_a_node_without_an_nvidia_gpu_asks_for_none() -> None:
    collected = config(has_nvidia_gpu=False)["metrics"]["metrics_collected"]
    assert set(collected) == {"disk", "mem"}, "the agent does not start where nvidia-smi is missing"


def test_both_logs_of_a_node_are_sent_under_its_id() -> None:
    watcher_log = next(
        line.partition("append:")[2]
        for line in (NODE_FOLDER / "watcher/interruption-watcher.service").read_text().splitlines()
        if line.startswith("StandardOutput=")
    )
    files = at("logs.logs_collected.files.collect_list")

    assert {file["file_path"]: file["log_stream_name"] for file in files} == {
        "/var/log/cloud-init-output.log": "{instance_id}/boot",
        watcher_log: "{instance_id}/watcher",
    }, "what happened on a node that is gone would be unknown"


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="needs systemd")
@pytest.mark.parametrize("unit", UNITS, ids=lambda path: path.name)
def test_every_unit_is_valid(unit: Path) -> None:
    checked = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    assert (checked.returncode, checked.stderr) == (0, ""), "systemd would ignore a line, or the unit"


def test_what_a_node_is_sent_is_every_file_of_the_agent_without_comments() -> None:
    there = {path.name for path in AGENT_FOLDER.iterdir() if path.is_file()}
    assert there == set(AGENT_FILES), "a file is dead, or one is missing"
    texts = agent_texts()
    assert json.loads(texts["agent/agent.json"]) == json.loads(TEMPLATE)
    assert texts["agent/install.sh"].startswith("#!/bin/bash\nset -euo pipefail\n")
    assert not [line for text in texts.values() for line in text.splitlines() if line.startswith("# ")]
    ast.parse(texts["agent/configure.py"], feature_version=(3, 9))


def install(folder: Path, installed: bool, ctl_status: int = 0, dnf_status: int = 0) -> tuple[str, list[str]]:
    """What the installation says and calls, on a node with or without the agent."""
    ctl, calls, programs = folder / "ctl", folder / "calls", folder / "bin"
    programs.mkdir()
    calls.touch()
    (folder / "made-ctl").write_text(FAKE_CTL)
    (folder / "made-ctl").chmod(0o755)
    put = f"cp {folder}/made-ctl {ctl}"
    (programs / "dnf").write_text(
        f'#!/bin/bash\nprintf "%s\\n" "dnf $*" >>"$CALLS"; (({dnf_status})) && {{ echo "no\nlock"; exit 1; }}; {put}\n'
    )
    (programs / "dnf").chmod(0o755)
    if installed:
        subprocess.run(put.split(), check=True)
    script = folder / "install.sh"
    source = (AGENT_FOLDER / "install.sh").read_text()
    script.write_text(
        source.replace("/opt/aws/amazon-cloudwatch-agent/bin/amazon-cloudwatch-agent-ctl", str(ctl))
    )
    environment = {"PATH": f"{programs}:/usr/bin:/bin", "CALLS": str(calls), "CTL_STATUS": str(ctl_status)}
    done = subprocess.run(["bash", script], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == (1 if ctl_status or dnf_status else 0), (
        "systemd would not try again, or for ever"
    )
    assert done.stderr == ""
    return done.stdout, calls.read_text().splitlines()


@pytest.mark.parametrize("installed", [True, False], ids=["in the image", "not in the image"])
def test_the_agent_is_installed_where_it_is_missing_and_started(tmp_path: Path, installed: bool) -> None:
    _, calls = install(tmp_path, installed)

    wanted = [] if installed else ["dnf install --assumeyes amazon-cloudwatch-agent"]
    assert calls == [*wanted, f"ctl -a fetch-config -m ec2 -s -c file:{tmp_path}/config.json"]


@pytest.mark.parametrize(
    ("status", "told"),
    [({"ctl_status": 1}, "starting the CloudWatch agent failed: no credentials"),
     ({"dnf_status": 1}, "installing the CloudWatch agent failed: no lock")],
)  # fmt: skip
def test_a_failure_is_one_line_that_says_why(tmp_path: Path, status: dict[str, int], told: str) -> None:
    said, _ = install(tmp_path, installed="ctl_status" in status, **status)

    assert said.count("\n") == 1 and said.endswith(f"agent: ERROR: {told}\n"), "nobody would learn why"
