"""Lambda functions: what their archive holds, what they may do, and where they run."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from answer_parts import FUNCTION, LAKE, Parts, id_of, record_part
from components.function import PackagedFunction, PackagedFunctionArgs
from components.library_bundle import library_folder
from components.source_bundle import SOURCE_FOLDER, source_files
from ops.capture.computed import Computed
from ops.capture.recording import RecordedResource, Recording, Unknown
from walk import statements

PACKAGES = ("ingestion", "orchestrator", "training_progress", "vector_index")
LOG_GROUP = "aws:cloudwatch/logGroup:LogGroup"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
EGRESS = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"


def build(
    parts: Parts, package: str = "orchestrator", *, inside: bool = False, reserved: int | None = None
) -> PackagedFunction:
    args = PackagedFunctionArgs(
        package=package,
        environment={"INDEX_ALIAS": "documents"},
        timeout_seconds=17,
        memory_mib=320,
        log_retention_days=14,
        partition=parts.account.partition,
        network=parts.network if inside else None,
        reserved_concurrency=reserved,
    )
    return PackagedFunction("answer", args, parts.on)


@pytest.fixture(scope="module")
def outside() -> Recording:
    return record_part(build)


@pytest.fixture(scope="module")
def inside() -> Recording:
    return record_part(lambda parts: build(parts, inside=True))


def test_an_archive_holds_the_sources_of_its_packages_and_nothing_else(tmp_path: Path) -> None:
    for name in (
        "answer/handler.py",
        "answer/deep/part.py",
        "answer/README.md",
        "answer/__pycache__/handler.cpython-313.pyc",
        "other/handler.py",
        "rag/search.py",
        "rag/.search.py.swp",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    files = source_files(["rag", "answer"], tmp_path)
    assert list(files) == ["answer/deep/part.py", "answer/handler.py", "rag/search.py"], (
        "a test run or another function's change would deploy this function again"
    )
    assert all(files[name] == tmp_path / name for name in files)


def test_a_package_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="orchestrater holds no Python file"):
        source_files(["orchestrater"], tmp_path)


@pytest.mark.parametrize("package", PACKAGES)
def test_each_function_carries_its_own_package_the_shared_pipeline_and_its_libraries(package: str) -> None:
    code = record_part(lambda parts: build(parts, package)).one(FUNCTION).inputs["code"]
    expected = {
        path.relative_to(SOURCE_FOLDER).as_posix(): {"file": f"lambda_src/{path.relative_to(SOURCE_FOLDER)}"}
        for folder in (package, "rag")
        for path in SOURCE_FOLDER.glob(f"{folder}/**/*")
        if path.suffix == ".py"
    }
    lock = SOURCE_FOLDER / package / "requirements.txt"
    libraries = library_folder(lock) if lock.is_file() else None
    for entry in libraries.iterdir() if libraries else ():
        expected[entry.name] = {"file": f".bundles/{entry.parent.name}/{entry.name}"}
    assert code == expected
    assert f"{package}/handler.py" in code, "Lambda would find no handler"
    assert not any("__pycache__" in path for path in code), "the archive would change with every test run"


@pytest.mark.parametrize("package", PACKAGES)
def test_everything_that_a_function_imports_of_ours_is_in_its_archive(package: str) -> None:
    archived = {path.removesuffix(".py").replace("/", ".") for path in source_files([package, "rag"])}
    ours = {folder.name for folder in SOURCE_FOLDER.iterdir() if folder.is_dir()}
    for path, file in source_files([package, "rag"]).items():
        for module in _imported_modules(file):
            if module.split(".")[0] in ours:
                assert {module, f"{module}.__init__"} & archived, (
                    f"{path} imports {module}: it would not start"
                )


def _imported_modules(file: Path) -> set[str]:
    nodes = list(ast.walk(ast.parse(file.read_text(encoding="utf-8"))))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module}


@pytest.mark.parametrize("package", PACKAGES)
def test_each_handler_is_where_lambda_is_told_to_look(package: str) -> None:
    function = record_part(lambda parts: build(parts, package)).one(FUNCTION)
    module, name = function.inputs["handler"].rsplit(".", 1)
    source = (SOURCE_FOLDER / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    names = {node.name for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}
    assert name in names, "every invocation would fail with a handler that is not found"


def test_a_function_runs_as_it_was_asked_to(outside: Recording) -> None:
    inputs = outside.one(FUNCTION).inputs
    assert (inputs["runtime"], inputs["architectures"]) == ("python3.13", ["arm64"])
    assert (inputs["timeout"], inputs["memorySize"]) == (17, 320)
    assert inputs["environment"] == {"variables": {"INDEX_ALIAS": "documents"}}
    assert "tracingConfig" not in inputs


def test_a_function_writes_to_a_log_group_of_its_own_that_forgets(outside: Recording) -> None:
    function, group = outside.one(FUNCTION), outside.one(LOG_GROUP)
    assert group.inputs["retentionInDays"] == 14
    assert group.inputs["namePrefix"] == "/aws/lambda/answer-", "people look for function logs there"
    logging = function.inputs["loggingConfig"]
    assert logging == {"logFormat": "JSON", "logGroup": group.outputs["name"]}, (
        "Lambda would make a group of its own that keeps logs for ever"
    )


def test_a_role_is_for_lambda_and_writes_its_own_log_only(outside: Recording) -> None:
    role, group = outside.one("aws:iam/role:Role"), outside.one(LOG_GROUP)
    trust = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    assert [item["Principal"] for item in trust] == [{"Service": "lambda.amazonaws.com"}]
    assert outside.one(FUNCTION).inputs["role"] == role.outputs["arn"]
    granted = [item for _, item in statements(outside) if "sts:AssumeRole" not in item["Action"]]
    assert granted == [
        {
            "Effect": "Allow",
            "Action": ["logs:CreateLogStream", "logs:PutLogEvents"],
            "Resource": [f"{group.outputs['arn']}:log-stream:*"],
        }
    ], "a function must start with nothing but its log"
    assert not outside.of_type(ATTACHMENT), "AWS's basic execution policy allows writing to every log group"


def test_a_function_outside_of_the_network_has_no_place_in_it(outside: Recording) -> None:
    assert "vpcConfig" not in outside.one(FUNCTION).inputs
    assert not outside.of_type(GROUP)


def test_a_function_in_the_network_sits_in_the_workload_subnets_behind_its_own_group(
    inside: Recording,
) -> None:
    group = inside.one(GROUP, "answer-group")
    assert group.inputs["vpcId"] == id_of(inside.one("aws:ec2/vpc:Vpc"))
    public = [id_of(item) for item in _subnets(inside, public=True)]
    assert inside.one(FUNCTION).inputs["vpcConfig"] == {
        "securityGroupIds": [id_of(group)],
        "subnetIds": public,
    }
    assert not inside.of_type("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"), (
        "nothing has to reach a function"
    )


def test_a_function_in_the_network_reaches_out_by_https_only(inside: Recording) -> None:
    rule = inside.one(EGRESS).inputs
    assert rule["securityGroupId"] == id_of(inside.one(GROUP, "answer-group"))
    assert (rule["ipProtocol"], rule["fromPort"], rule["toPort"]) == ("tcp", 443, 443)


def test_a_function_in_the_network_may_manage_its_interfaces_before_it_exists(inside: Recording) -> None:
    attachment = inside.one(ATTACHMENT)
    assert (
        attachment.inputs["policyArn"] == "arn:aws:iam::aws:policy/service-role/AWSLambdaENIManagementAccess"
    )
    assert attachment.inputs["role"] == inside.one("aws:iam/role:Role").outputs["name"]
    assert attachment.urn in inside.one(FUNCTION).dependencies, "Lambda would refuse to make the function"


def test_a_function_waits_for_its_log_permission(outside: Recording) -> None:
    policy = outside.one("aws:iam/rolePolicy:RolePolicy")
    assert policy.urn in outside.one(FUNCTION).dependencies, "its first lines would be lost"


def test_the_interface_policy_is_that_of_the_partition() -> None:
    moved: dict[str, Any] = {
        "region": "cn-north-1",
        "availabilityZones": ["cn-north-1a", "cn-north-1b"],
        "answerModel": "amazon.nova-lite-v1:0",
        "gpuFleets": [],
    }
    china = record_part(lambda parts: build(parts, inside=True), moved)
    assert china.one(ATTACHMENT).inputs["policyArn"].startswith("arn:aws-cn:iam::aws:policy/")


@pytest.mark.parametrize("reserved", [0, 7])
def test_concurrency_is_reserved_where_asked(reserved: int) -> None:
    function = record_part(lambda parts: build(parts, reserved=reserved)).one(FUNCTION)
    assert function.inputs["reservedConcurrentExecutions"] == reserved


def test_concurrency_is_shared_where_nothing_is_asked(outside: Recording) -> None:
    assert "reservedConcurrentExecutions" not in outside.one(FUNCTION).inputs, (
        "a new account has no concurrency to reserve"
    )


def test_a_first_preview_shows_the_same_function() -> None:
    preview = record_part(lambda parts: build(parts, inside=True), preview=True)
    assert preview.one(FUNCTION).inputs["role"] == Unknown()
    empty = record_part(
        lambda parts: build(parts, inside=True), computed=Computed(resources=LAKE, empty=True)
    )
    assert preview.one(FUNCTION).urn == empty.one(FUNCTION).urn


def test_what_a_function_is_called_is_registered(outside: Recording) -> None:
    component = outside.one("aiplatform:index:PackagedFunction")
    assert outside.registered_outputs[component.urn] == {
        "function_name": outside.one(FUNCTION).outputs["name"],
        "function_arn": outside.one(FUNCTION).outputs["arn"],
    }


def _subnets(recording: Recording, *, public: bool) -> list[RecordedResource]:
    return [
        item
        for item in recording.of_type("aws:ec2/subnet:Subnet")
        if item.inputs["mapPublicIpOnLaunch"] is public
    ]
