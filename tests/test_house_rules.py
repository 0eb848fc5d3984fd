"""Rules over every registered resource and every source file, so that taste is not left to memory."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from components import config_gpu_sections, config_sections
from components.config import section_types
from components.settings import settings_of
from mutant_table import MUTANTS
from ops.capture.program import PROJECT_ROOT
from ops.capture.recording import Recording
from tests.engine.planted_faults import PLANTED

SOURCE_FOLDERS = ("components", "lambda_src", "rag_api", "gpu_node", "ops", "policies", "tests", "benchmarks")
LONGEST_FUNCTION = 50
LONGEST_COMPONENT_FILE = 250
LONGEST_MAIN = 150


def _python_files(*folders: str) -> list[Path]:
    return [path for folder in folders for path in sorted((PROJECT_ROOT / folder).rglob("*.py"))]


def _functions(path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node


def test_every_resource_hangs_under_a_component(platform: Recording) -> None:
    orphans = [
        resource.name
        for resource in platform.resources
        if resource.parent is None and not resource.type.startswith(("aiplatform:", "pulumi:providers:"))
    ]
    assert not orphans, "nobody could tell what these belong to"


def test_no_two_resources_of_a_type_share_a_name(platform: Recording) -> None:
    counts = Counter((resource.type, resource.name) for resource in platform.resources)
    assert not [key for key, count in counts.items() if count > 1]


def test_every_child_is_named_after_its_component(platform: Recording) -> None:
    for resource in platform.resources:
        if resource.parent and not resource.expanded:
            parent = platform.by_urn(resource.parent)
            assert resource.name.startswith(parent.name), (
                f"{resource.name} does not tell that {parent.name} made it"
            )


def test_every_component_registers_its_outputs(platform: Recording) -> None:
    for resource in platform.resources:
        if resource.type.startswith("aiplatform:"):
            assert resource.urn in platform.registered_outputs, (
                f"{resource.name} never finishes in the engine's view"
            )


def test_every_bucket_is_private_and_encrypted(platform: Recording) -> None:
    for bucket in platform.of_type("aws:s3/bucket:Bucket"):
        name = bucket.outputs["bucket"]
        block = platform.one("aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock")
        assert block.inputs["bucket"] == name
        flags = {
            key: block.inputs.get(key)
            for key in ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")
        }
        assert all(flags.values()), f"objects of {bucket.name} could become public: {flags}"
        encryption = platform.one(
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
        )
        assert encryption.inputs["bucket"] == name
        assert encryption.inputs["rules"][0]["bucketKeyEnabled"] is True, (
            "every object would cost a call of KMS"
        )


def test_everything_that_stores_data_is_encrypted(platform: Recording) -> None:
    for system in platform.of_type("aws:efs/fileSystem:FileSystem"):
        assert system.inputs["encrypted"] is True, "files would lie in clear"
    for queue in platform.of_type("aws:sqs/queue:Queue"):
        assert queue.inputs["sqsManagedSseEnabled"] is True, f"messages of {queue.name} would lie in clear"
    for template in platform.of_type("aws:ec2/launchTemplate:LaunchTemplate"):
        for mapping in template.inputs["blockDeviceMappings"]:
            assert mapping["ebs"]["encrypted"] == "true", f"disks of {template.name} would lie in clear"


def test_every_node_requires_session_tokens_for_its_metadata(platform: Recording) -> None:
    for template in platform.of_type("aws:ec2/launchTemplate:LaunchTemplate"):
        assert template.inputs["metadataOptions"]["httpTokens"] == "required", (
            "a forged request could steal the role"
        )


def test_nothing_but_a_public_balancer_is_open_to_the_world(platform: Recording) -> None:
    for rule in platform.of_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"):
        world = rule.inputs.get("cidrIpv4") == "0.0.0.0/0" or rule.inputs.get("cidrIpv6")
        public = (
            platform.stack == "prod"
            and rule.name.startswith("rag-balancer")
            and rule.inputs["fromPort"] in (80, 443)
        )
        assert not world or public, f"{rule.name} lets anyone in"
    for group in platform.of_type("aws:ec2/securityGroup:SecurityGroup"):
        assert not group.inputs.get("ingress"), f"{group.name} mixes rules of its own with rule resources"


def test_every_log_group_forgets(platform: Recording) -> None:
    for group in platform.of_type("aws:cloudwatch/logGroup:LogGroup"):
        assert group.inputs["retentionInDays"] > 0, f"{group.name} would be kept, and paid for, for ever"


def test_every_component_class_has_arguments_a_docstring_and_outputs() -> None:
    for path in sorted((PROJECT_ROOT / "components").glob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
        for name, node in classes.items():
            if not any(ast.unparse(base) == "pulumi.ComponentResource" for base in node.bases):
                continue
            assert f"{name}Args" in classes, f"{path.name}: {name} takes loose arguments"
            assert ast.get_docstring(node), f"{path.name}: {name} promises nothing"
            assert any(isinstance(item, ast.AnnAssign) for item in node.body), (
                f"{path.name}: {name} has untyped outputs"
            )


@pytest.mark.parametrize(
    "path", _python_files(*SOURCE_FOLDERS), ids=lambda path: path.relative_to(PROJECT_ROOT).as_posix()
)
def test_functions_are_short_enough_to_read_at_once(path: Path) -> None:
    for function in _functions(path):
        length = (function.end_lineno or 0) - function.lineno + 1
        assert length <= LONGEST_FUNCTION, f"{path.name}: {function.name} has {length} lines"


def test_component_files_and_the_table_of_contents_stay_short() -> None:
    for path in sorted((PROJECT_ROOT / "components").glob("*.py")):
        lines = len(path.read_text(encoding="utf-8").splitlines())
        limit = 300 if path.name == "config_sections.py" else LONGEST_COMPONENT_FILE
        assert lines <= limit, f"{path.name} has {lines} lines; split it by noun"
    main = (PROJECT_ROOT / "__main__.py").read_text(encoding="utf-8")
    assert len(main.splitlines()) <= LONGEST_MAIN


def test_the_table_of_contents_computes_nothing() -> None:
    tree = ast.parse((PROJECT_ROOT / "__main__.py").read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        assert not isinstance(node, ast.FunctionDef | ast.Lambda | ast.While | ast.Try), ast.unparse(node)
        if isinstance(node, ast.Attribute):
            assert node.attr not in ("apply", "format", "all", "concat"), "wiring belongs into components"
    assert sum(isinstance(node, ast.For) for node in ast.walk(tree)) == 1, (
        "one loop over the fleets is enough"
    )


def test_components_read_no_configuration_and_export_nothing() -> None:
    for path in sorted((PROJECT_ROOT / "components").glob("*.py")):
        if path.name == "config.py":
            continue
        text = path.read_text(encoding="utf-8")
        for banned in ("pulumi.Config", "pulumi.export", "get_stack(", "get_project(", "os.environ"):
            assert banned not in text, f"{path.name} has a hidden input or output: {banned}"


def test_every_setting_is_used_by_the_program() -> None:
    code = (PROJECT_ROOT / "__main__.py").read_text(encoding="utf-8")
    for path in sorted((PROJECT_ROOT / "components").glob("*.py")):
        if path.name not in (
            "config_sections.py",
            "config_gpu_sections.py",
            "settings.py",
        ) and not path.name.endswith("_rules.py"):
            code += path.read_text(encoding="utf-8")
    nested = [
        config_gpu_sections.GpuFleetConfig,
        config_sections.LifecycleRule,
        config_sections.LifecycleTransition,
        config_sections.ExistingSubnet,
    ]
    told_only = {"client_timeout_seconds"}  # judged by the timeout ladder; callers set it, not AWS
    for cls in [*section_types().values(), *nested]:
        for key, item in settings_of(cls).items():
            if item.name not in told_only:
                assert re.search(rf"\.{item.name}\b", code), f"{key} is declared, and nothing reads it"


def test_every_test_file_is_collected() -> None:
    for path in _python_files("tests"):
        has_tests = any(function.name.startswith("test_") for function in _functions(path))
        # A state machine is a test by way of this attribute.
        has_tests = has_tests or re.search(
            r"^Test\w+ = \w+\.TestCase$", path.read_text(encoding="utf-8"), re.M
        )
        assert bool(has_tests) == path.name.startswith("test_"), (
            f"{path.name} would never run, or holds no test"
        )


def test_every_test_asserts_something() -> None:
    for path in _python_files("tests"):
        for function in _functions(path):
            if function.name.startswith("test_"):
                text = ast.unparse(function)
                checks = re.search(r"\bassert\b|pytest\.raises|assert_\w+\(|_accepts\(|check_\w+\(", text)
                assert checks, f"{path.name}: {function.name} cannot fail"


def test_a_test_that_looks_into_an_output_is_awaited() -> None:
    """An assertion inside `apply` runs after the test unless the SDK's decorator awaits it."""
    for path in _python_files("tests"):
        for function in _functions(path):
            looks_inside = any(
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr == "apply"
                for node in ast.walk(function)
            )
            decorators = [ast.unparse(item) for item in function.decorator_list]
            if function.name.startswith("test_") and looks_inside:
                assert "pulumi.runtime.test" in decorators, f"{path.name}: {function.name} can only pass"


def test_every_known_fault_can_still_be_planted() -> None:
    for mutant in [*MUTANTS, *(planted.fault for planted in PLANTED)]:
        text = (PROJECT_ROOT / mutant.file).read_text(encoding="utf-8")
        assert mutant.old in text, f"no longer found, so never planted: {mutant.sentence}"
        assert mutant.old != mutant.new
        assert all((PROJECT_ROOT / near).is_file() for near in mutant.near)


def test_nothing_unfinished_is_left_in_the_sources() -> None:
    marks = re.compile("|".join(["TO" + "DO", "FIX" + "ME", "X" * 3 + r"\b", "NotImplemented" + "Error"]))
    for path in _python_files(*SOURCE_FOLDERS):
        assert not marks.search(path.read_text(encoding="utf-8")), f"{path.name} holds unfinished work"
