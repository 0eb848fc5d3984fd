"""The boot scripts run under bash with nothing on the PATH but fakes that record their calls."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from components.user_data import render_user_data

AGENT_VALUES = {"FLEET": "ai-platform-dev-research", "NODE_LOG_GROUP": "gpu-research-node-logs-1a2b3c4"}
VALUES: dict[str, dict[str, str]] = {
    "dlami": {
        **AGENT_VALUES,
        "AWS_REGION": "eu-central-1",
        "FILE_SYSTEM_ID": "fs-0a1b2c3d4e5f60718",
        "DATASETS_ACCESS_POINT_ID": "fsap-0d",
        "CHECKPOINTS_ACCESS_POINT_ID": "fsap-0c",
        "CACHE_ACCESS_POINT_ID": "fsap-0a",
        "CHECKPOINT_FOLDER": "/mnt/shared-data/checkpoints/run-1",
        "AUTO_SCALING_GROUP_NAME": "ai-platform-dev-research",
        "LIFECYCLE_HOOK_NAME": "shared-files-mounted",
        "IDLE_MINUTES": "60",
        "MAXIMUM_LIFE_HOURS": "24",
    },
    "ecs": {"ECS_CLUSTER": "ai-cluster", "ECS_ENABLE_GPU_SUPPORT": "true", **AGENT_VALUES},
    "batch": AGENT_VALUES,
}
TRAIN = 'train --cache "$HF_HOME"'
FSTAB = "written /etc/fstab LABEL=scratch /scratch xfs noatime,nofail 0 0"
COMPLETE = (
    "aws autoscaling complete-lifecycle-action --region eu-central-1 --auto-scaling-group-name "
    "ai-platform-dev-research --lifecycle-hook-name shared-files-mounted --instance-id i-0123456789abcdef0 "
    "--lifecycle-action-result "
)
# Harmless programs that run for real; whatever else a script calls is a fake or is not found.
REAL_PROGRAMS = ("awk", "bash", "cat", "date", "mktemp")
RECORD = '#!/bin/bash\nprintf "%s\\n" "${0##*/} $*" >>"$CALLS"\n'
FAKES = {
    "timeout": 'while [[ $1 != [0-9]* ]]; do shift; done; shift; "$@"',
    "mount": 'case "$*" in *efs*) ;; *) exit 0 ;; esac\n'
    'if (($(awk "/^mount -t efs/ { n++ } END { print n }" "$CALLS") <= MOUNT_FAILURES)); then\n'
    '  printf "mount.nfs4:\\ntimed out\\n" >&2; exit 32\n'
    "fi",
    "curl": 'case "$*" in\n'
    "  *'--request PUT '*/latest/api/token*token-ttl-seconds:*) echo T1 ;;\n"
    "  */meta-data/instance-id*'X-aws-ec2-metadata-token: T1') echo i-0123456789abcdef0 ;;\n"
    "  *) ((INSTALLER_REACHABLE)) ;;\n"
    "esac",
    "sh": "install_recorder mount.efs",
    "dnf": "install_recorder mdadm",
    "tee": 'while read -r line; do printf "%s\\n" "written ${*: -1} $line" >>"$CALLS"; done',
    "lsblk": 'echo "/dev/nvme0n1 Amazon Elastic Block Store"\n'
    'for disk in $INSTANCE_STORE; do echo "$disk Amazon EC2 NVMe Instance Storage"; done',
    "chattr": 'exit "$CHATTR_STATUS"',
    "mkfs.xfs": 'exit "$MKFS_STATUS"',
    "systemctl": 'case "$*" in *node-agent* | set-* | try-*) exit "$OPTIONAL_STATUS" ;; esac\n'
    'exit "$SYSTEMCTL_STATUS"',
    **dict.fromkeys(("aws", "chmod", "install", "mkdir", "mountpoint", "shutdown", "sleep", "train"), ""),
}
BEHAVIOUR = {
    "MOUNT_FAILURES": "0",
    "INSTALLER_REACHABLE": "1",
    "INSTANCE_STORE": "",
    "CHATTR_STATUS": "0",
    "MKFS_STATUS": "0",
    "SYSTEMCTL_STATUS": "0",
    "OPTIONAL_STATUS": "0",
    "PYTHON_WORKS": "1",
}


@dataclass(frozen=True)
class Boot:
    """What one run of a boot script did."""

    status: int
    log: list[str]
    calls: list[str]
    platform: Path

    def called(self, start: str) -> list[str]:
        return [call for call in self.calls if call.startswith(start)]

    @property
    def errors(self) -> list[str]:
        return [line.partition("boot: ")[2] for line in self.log if "ERROR" in line]


def _install_programs(folder: Path) -> None:
    folder.mkdir()
    for name in REAL_PROGRAMS:
        (folder / name).symlink_to(str(shutil.which(name)))
    recorder = folder / "sleep"
    (folder / "install_recorder").write_text(f'#!/bin/bash\n{shutil.which("cp")} {recorder} "{folder}/$1"\n')
    for name, body in FAKES.items():
        (folder / name).write_text(f"{RECORD}{body}\n")
    (folder / "python3").write_text(f'#!/bin/bash\n((PYTHON_WORKS)) && exec {sys.executable} "$@"\n')
    for program in folder.iterdir():
        if not program.is_symlink():
            program.chmod(0o755)


@pytest.fixture
def boot(tmp_path: Path) -> Callable[..., Boot]:
    """Runs a boot script once, with `changes` to its values; keywords are the BEHAVIOUR of the fakes."""

    def run(
        script_name: str,
        extra_script: str = TRAIN,
        changes: Mapping[str, str] = MappingProxyType({}),
        **behaviour: str,
    ) -> Boot:
        _install_programs(tmp_path / "bin")
        script, calls = tmp_path / "user-data", tmp_path / "calls"
        # The scripts name the folder once, and everything below it is real.
        user_data = render_user_data(script_name, VALUES[script_name] | dict(changes), extra_script)
        platform = tmp_path / "ai-platform"
        script.write_text(user_data.replace("PLATFORM=/opt/ai-platform", f"PLATFORM={platform}"))
        calls.touch()
        environment = {"PATH": str(tmp_path / "bin"), "CALLS": str(calls), "TMPDIR": str(tmp_path)}
        result = subprocess.run(
            [tmp_path / "bin" / "bash", script],
            env=environment | BEHAVIOUR | behaviour,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        called = calls.read_text().replace(str(platform), "/opt/ai-platform").splitlines()
        return Boot(result.returncode, result.stdout.splitlines(), called, platform)

    return run


def test_a_mount_that_fails_four_times_is_mounted_and_training_starts_once(boot: Callable[..., Boot]) -> None:
    node = boot("dlami", MOUNT_FAILURES="4")

    assert (node.status, node.errors) == (0, []), f"a slow mount target would cost the node: {node.log}"
    assert len(node.called("mount -t efs")) == 4 + 3, "four failures, then one mount per access point"
    assert node.called("train") == ["train --cache /mnt/shared-data/cache"], (
        "training did not start exactly once"
    )
    assert node.called("sleep") == ["sleep 5", "sleep 10", "sleep 20", "sleep 40"], "the waits do not grow"
    assert node.calls[-1] == COMPLETE + "CONTINUE", "the node went into service before it was ready"


def test_a_mount_that_never_works_abandons_the_launch_and_trains_nothing(boot: Callable[..., Boot]) -> None:
    node = boot("dlami", MOUNT_FAILURES="999")

    assert node.status != 0, "cloud-init would call this boot a success"
    assert node.called("train") == [], "the training would write to the root disk"
    assert node.called("aws") == [COMPLETE + "ABANDON"], (
        "the broken node would go into service, or stay and bill"
    )
    assert node.errors == [
        "ERROR: mounting EFS fs-0a1b2c3d4e5f60718 (fsap-0d) at /mnt/shared-data/datasets: failed 10 times, "
        "last answer: mount.nfs4: timed out"
    ], "the log does not say in one line what failed"


def test_the_waits_between_mount_attempts_grow_and_are_bounded(boot: Callable[..., Boot]) -> None:
    waits = [int(call.split()[1]) for call in boot("dlami", MOUNT_FAILURES="999").called("sleep")]

    assert waits == sorted(waits) and waits[0] < waits[-1], (
        "the mount target would be asked at a constant rate"
    )
    assert max(waits) <= 60 and sum(waits) <= 600, "a broken GPU node would be paid for too long"


def test_each_access_point_is_mounted_with_tls_and_iam_at_its_own_path(boot: Callable[..., Boot]) -> None:
    node = boot("dlami")

    access_points = {"datasets": "fsap-0d", "checkpoints": "fsap-0c", "cache": "fsap-0a"}
    for name, access_point in access_points.items():
        path, options = f"/mnt/shared-data/{name}", f"tls,iam,_netdev,accesspoint={access_point}"
        mount = f"mount -t efs -o {options} fs-0a1b2c3d4e5f60718:/ {path}"
        assert f"timeout --kill-after=10 90 {mount}" in node.calls, (
            "an unreachable mount target hangs the boot"
        )
        assert node.calls.index(f"chattr +i {path}") < node.calls.index(mount), (
            "unmounted, it would take writes"
        )
        fstab = f"written /etc/fstab fs-0a1b2c3d4e5f60718:/ {path} efs {options} 0 0"
        assert fstab in node.calls, "the mount would be gone after a reboot"


MANAGER_SETTINGS = "/etc/systemd/system.conf.d/ai-platform.conf"


def test_every_shell_and_service_finds_the_shared_hugging_face_cache(boot: Callable[..., Boot]) -> None:
    node = boot("dlami")
    cache = "HF_HOME=/mnt/shared-data/cache"

    assert f"written /etc/environment {cache}" in node.calls, "a login shell would download models again"
    assert node.called(f"written {MANAGER_SETTINGS}")[:2] == [
        f"written {MANAGER_SETTINGS} [Manager]",
        f'written {MANAGER_SETTINGS} DefaultEnvironment="{cache}"',
    ], "a service would download models again after a reboot"
    restart = node.calls.index("systemctl try-restart *amazon-ssm-agent*.service")
    assert node.calls.index(f"systemctl set-environment {cache}") < restart, (
        "a shell of Session Manager has the environment that its agent had when it started"
    )


def test_a_node_whose_services_cannot_be_told_of_the_cache_is_used_all_the_same(
    boot: Callable[..., Boot],
) -> None:
    node = boot("dlami", OPTIONAL_STATUS="1")

    assert (node.status, node.errors, node.calls[-1]) == (0, [], COMPLETE + "CONTINUE"), (
        "a comfort would cost the node"
    )
    assert [line for line in node.log if "WARNING" in line and "HF_HOME" in line], "nobody would learn of it"


def test_a_percent_sign_reaches_services_as_it_is(boot: Callable[..., Boot]) -> None:
    folder = "/mnt/shared-data/checkpoints/50%h"
    calls = boot("dlami", changes={"CHECKPOINT_FOLDER": folder}).calls

    assert f'written {MANAGER_SETTINGS} DefaultEnvironment="CHECKPOINT_FOLDER={folder[:-1]}%h"' in calls, (
        "systemd would put a name of its own in place of %h"
    )


def test_every_shell_finds_the_checkpoint_folder_once_it_is_mounted(boot: Callable[..., Boot]) -> None:
    calls = boot("dlami").calls

    folder = "/mnt/shared-data/checkpoints/run-1"
    assert f"written /etc/environment CHECKPOINT_FOLDER={folder}" in calls, "training would save nowhere"
    assert f"systemctl set-environment CHECKPOINT_FOLDER={folder}" in calls, "a service would save nowhere"
    mount = next(place for place, call in enumerate(calls) if call.startswith("mount") and "fsap-0c" in call)
    assert calls.index(f"mkdir --parents {folder}") > mount, (
        "checkpoints would lie below the mount, on the root disk"
    )


def test_efs_utils_is_installed_from_aws_before_the_first_mount(boot: Callable[..., Boot]) -> None:
    calls = " | ".join(boot("dlami").calls)

    installer = calls.index("https://amazon-efs-utils.aws.com/efs-utils-installer.sh")
    assert installer < calls.index("--install |") < calls.index("mount -t efs"), (
        "there would be no mount helper"
    )


def test_an_unreachable_installer_abandons_the_launch(boot: Callable[..., Boot]) -> None:
    node = boot("dlami", INSTALLER_REACHABLE="0")

    assert (node.called("aws"), node.called("train")) == ([COMPLETE + "ABANDON"], []), "nothing is mounted"
    assert [error.split(":")[1] for error in node.errors] == [" installing efs-utils"]


@pytest.mark.parametrize(
    ("extra_script", "behaviour", "error"),
    [
        ("false\ntrain", {}, "ERROR: the extra boot script ended with status 1"),
        (TRAIN, {"CHATTR_STATUS": "3"}, 'chattr +i "$path" ended with status 3'),
    ],
)
def test_any_failure_abandons_the_launch_with_one_log_line(
    boot: Callable[..., Boot], extra_script: str, behaviour: dict[str, str], error: str
) -> None:
    node = boot("dlami", extra_script, **behaviour)

    assert node.status != 0 and node.called("train") == [], "the node would train after a failed step"
    assert node.called("aws") == [COMPLETE + "ABANDON"], "the broken node would go into service"
    assert len(node.errors) == 1 and node.errors[0].endswith(error), f"unclear log: {node.log}"


@pytest.mark.parametrize(("instance_store", "bound"), [("/dev/nvme1n1", True), ("", False)])
def test_scratch_lies_on_the_local_disks_that_the_image_mounted(
    boot: Callable[..., Boot], instance_store: str, bound: bool
) -> None:
    node = boot("dlami", INSTANCE_STORE=instance_store)

    steps = [
        "mountpoint --quiet /opt/dlami/nvme",
        "mount --bind /opt/dlami/nvme /scratch",
        "written /etc/fstab /opt/dlami/nvme /scratch none "
        "bind,nofail,x-systemd.requires=dlami-nvme.service 0 0",
    ]
    done = [call for call in node.calls if "/opt/dlami/nvme" in call]
    assert done == (steps if bound else []), "scratch is on the root disk, now or after a reboot"
    assert "chmod 1777 /scratch" in node.calls, "users could not write to scratch"


def test_an_ecs_node_joins_the_cluster_with_gpu_and_spot_draining(boot: Callable[..., Boot]) -> None:
    node = boot("ecs")

    assert (node.status, node.called("train")) == (0, ["train --cache "]), "the extra script did not run once"
    assert node.called("written /etc/ecs/ecs.config") == [
        "written /etc/ecs/ecs.config ECS_CLUSTER=ai-cluster",
        "written /etc/ecs/ecs.config ECS_ENABLE_GPU_SUPPORT=true",
        "written /etc/ecs/ecs.config ECS_ENABLE_SPOT_INSTANCE_DRAINING=true",
        "written /etc/ecs/ecs.config ECS_ENABLE_AWSLOGS_EXECUTIONROLE_OVERRIDE=true",
    ], "the node would join another cluster, offer no GPU, or lose its tasks without notice"


@pytest.mark.parametrize(
    ("instance_store", "expected"),
    [
        ("", []),
        (
            "/dev/nvme1n1",
            ["mkfs.xfs -f -L scratch /dev/nvme1n1", "mount -o noatime /dev/nvme1n1 /scratch", FSTAB],
        ),
        (
            "/dev/nvme1n1 /dev/nvme2n1",
            [
                "dnf install --assumeyes mdadm",
                "mdadm --create /dev/md0 --run --level=0 --raid-devices=2 /dev/nvme1n1 /dev/nvme2n1",
                "mkfs.xfs -f -L scratch /dev/md0",
                "mount -o noatime /dev/md0 /scratch",
                FSTAB,
            ],
        ),
    ],
)
@pytest.mark.parametrize("script_name", ["ecs", "batch"])
def test_a_container_host_uses_all_local_disks_and_no_other_for_scratch(
    boot: Callable[..., Boot], script_name: str, instance_store: str, expected: list[str]
) -> None:
    node = boot(script_name, INSTANCE_STORE=instance_store)

    used = [
        call
        for call in node.calls
        if call.startswith(("dnf", "mdadm", "mkfs.xfs", "mount", "written /etc/fstab"))
    ]
    assert (node.status, used) == (0, expected), "a disk is left unused, or the root disk is formatted"
    assert "chmod 1777 /scratch" in node.calls, "tasks could not write to scratch"


@pytest.mark.parametrize("script_name", ["ecs", "batch"])
def test_a_container_host_that_fails_to_boot_takes_no_task_and_powers_off(
    boot: Callable[..., Boot], script_name: str
) -> None:
    node = boot(script_name, INSTANCE_STORE="/dev/nvme1n1", MKFS_STATUS="1")

    assert node.status != 0 and len(node.errors) == 1, f"the failure is not reported once: {node.log}"
    assert node.called("train") + node.called("written") == [], "a half set up node would join the cluster"
    assert node.calls[-1] == "shutdown -h now", "a node without any use would be paid for"


def test_a_batch_node_leaves_its_cluster_to_batch_and_takes_no_job_once_it_is_to_go(
    boot: Callable[..., Boot],
) -> None:
    node = boot("batch")

    assert (node.status, node.called("train")) == (0, ["train --cache "]), "the extra script did not run once"
    settings = node.called("written /etc/ecs")
    assert settings == ["written /etc/ecs/ecs.config ECS_ENABLE_SPOT_INSTANCE_DRAINING=true"], (
        "an interrupted job would be tried again on the node that goes, or the node would leave Batch's cluster"
    )


START_WATCHER = "systemctl enable --now /opt/ai-platform/watcher/interruption-watcher.service"


@pytest.mark.parametrize("script_name", ["batch", "dlami", "ecs"])
def test_the_watcher_runs_before_any_work_can_arrive(boot: Callable[..., Boot], script_name: str) -> None:
    calls = boot(script_name).calls

    work = ("train", "written /etc/ecs", COMPLETE)
    arrivals = [place for place, call in enumerate(calls) if call.startswith(work)]
    assert calls.index(START_WATCHER) < min(arrivals), (
        "work would be lost that nobody tells of its interruption"
    )


@pytest.mark.parametrize("script_name", ["batch", "dlami", "ecs"])
def test_a_node_whose_watcher_does_not_start_takes_no_work(
    boot: Callable[..., Boot], script_name: str
) -> None:
    node = boot(script_name, SYSTEMCTL_STATUS="1")

    assert node.status != 0 and len(node.errors) == 1, f"the failure is not reported once: {node.log}"
    assert "systemctl enable --now" in node.errors[0], "the log does not say what failed"
    out_of_service = COMPLETE + "ABANDON" if script_name == "dlami" else "shutdown -h now"
    assert node.calls[-1] == out_of_service and not node.called("train"), "the node would take work"


@pytest.mark.parametrize("script_name", ["batch", "dlami", "ecs"])
def test_a_node_whose_files_cannot_be_unpacked_powers_off(
    boot: Callable[..., Boot], script_name: str
) -> None:
    node = boot(script_name, PYTHON_WORKS="0")

    assert (node.status, node.calls) == (1, ["shutdown -h now"]), "a node without any use would be paid for"
    assert node.errors == ["ERROR: the platform's own files cannot be unpacked"]


def test_an_interactive_node_knows_when_to_end_and_its_own_age(boot: Callable[..., Boot]) -> None:
    node = boot("dlami")

    *told, started_at = (node.platform / "watcher" / "settings").read_text().split("\0")[:-1]
    assert told == [
        "TARGETS=processes",
        "AWS_REGION=eu-central-1",
        "IDLE_MINUTES=60",
        "MAXIMUM_LIFE_HOURS=24",
    ]
    assert re.fullmatch(r"STARTED_AT=\d{10}", started_at), "the node would never reach its longest life"
    command = "install --mode=755 /opt/ai-platform/watcher/interruption-run /usr/local/bin/interruption-run"
    assert command in node.calls, "nobody could register a process"


@pytest.mark.parametrize("script_name", ["batch", "ecs"])
def test_a_container_host_tells_the_containers(boot: Callable[..., Boot], script_name: str) -> None:
    assert (boot(script_name).platform / "watcher" / "settings").read_text() == "TARGETS=containers\0"


START_AGENT = "systemctl enable --now --no-block /opt/ai-platform/agent/node-agent.service"


@pytest.mark.parametrize("script_name", ["batch", "dlami", "ecs"])
def test_no_boot_waits_for_the_agent_or_fails_with_it(boot: Callable[..., Boot], script_name: str) -> None:
    node = boot(script_name, OPTIONAL_STATUS="1")

    assert node.called(START_AGENT) == [START_AGENT], "the boot would wait until a package is installed"
    assert (node.status, node.errors) == (0, []), "a node would be lost because its log cannot be sent"
    warnings = [line for line in node.log if "the CloudWatch agent cannot be set up" in line]
    assert len(warnings) == 1, "nobody would learn why there is no log"


def test_the_log_of_a_boot_that_fails_is_sent(boot: Callable[..., Boot]) -> None:
    calls = boot("dlami", MOUNT_FAILURES="999").calls

    mount = next(place for place, call in enumerate(calls) if call.startswith("mount -t efs"))
    assert calls.index(START_AGENT) < mount, "why a launch was abandoned would be lost with its node"


@pytest.mark.parametrize("script_name", ["batch", "ecs"])
def test_a_container_host_is_ready_before_anything_is_installed(
    boot: Callable[..., Boot], script_name: str
) -> None:
    assert boot(script_name).calls[-1] == START_AGENT, "the first task would wait for the package manager"


HOSTILE = "$(touch /tmp/x) \"'`\\ %s\n-é $FLEET"


@pytest.mark.parametrize("script_name", ["batch", "dlami", "ecs"])
@pytest.mark.parametrize("text", ["training", HOSTILE, "$NODE_LOG_GROUP", "--help"])
def test_the_agent_is_told_its_log_group_and_fleet_whatever_they_hold(
    boot: Callable[..., Boot], script_name: str, text: str
) -> None:
    node = boot(script_name, changes={"FLEET": text, "NODE_LOG_GROUP": f"{text}-logs"})

    config = json.loads((node.platform / "agent" / "config.json").read_text())
    files = config["logs"]["logs_collected"]["files"]["collect_list"]
    assert {file["log_group_name"] for file in files} == {f"{text}-logs"}, "the log would be sent nowhere"
    for name, section in config["metrics"]["metrics_collected"].items():
        assert section["append_dimensions"] == {"Fleet": text}, f"{name} of two fleets would be mixed"


@pytest.mark.parametrize("script_name", ["batch", "dlami", "ecs"])
def test_a_node_that_sends_nothing_sets_up_no_agent(boot: Callable[..., Boot], script_name: str) -> None:
    node = boot(script_name, changes={"FLEET": "", "NODE_LOG_GROUP": ""})

    assert node.status == 0 and not node.called(START_AGENT), "it would be refused at every attempt"
    assert not (node.platform / "agent" / "config.json").exists()
