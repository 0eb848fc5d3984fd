"""Plants faults in copies of the project, and tells whether the engine's tests go red, and whether others do:
`python -m tests.engine.planted_faults`. docs/engine.md holds the result.
"""

import argparse
import concurrent.futures
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ops.capture.program import PROJECT_ROOT
from tests.engine.command_line import MISSING, find_pulumi
from tests.mutant_table import Mutant
from tests.mutants import broken_copy, run_tests, source_files

AT_ONCE = 2
# What git does not list, and the tests on the engine need.
BUILT = (".engine", ".venv")
INSIDE_APPLY = """self.bucket_arn = self.bucket.arn
        self.bucket_arn.apply(lambda arn: aws.sqs.Queue(f"{name}-queue", opts=settings))
"""


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A fault against one promise. `fault.near` are the tests on the engine; `others` the unit tests nearest to it."""

    promise: str
    fault: Mutant
    others: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """The first test on the engine and the first unit test that went red; None where all stayed green."""

    planted: Planted
    on_engine: str | None
    in_others: str | None


def _planted(
    promise: str, sentence: str, file: str, old: str, new: str, near: str, others: tuple[str, ...]
) -> Planted:
    fault = Mutant(sentence, file, old, new, (f"tests/engine/{near}",))
    return Planted(
        promise=promise, fault=fault, others=(*others, "tests/test_program.py", "tests/test_house_rules.py")
    )


PLANTED = (
    _planted("preview shows what up creates", "a resource is made inside apply", "components/data_lake.py",
             "self.bucket_arn = self.bucket.arn\n", INSIDE_APPLY, "test_life_of_a_stack.py", ("tests/test_data_lake.py",)),
    _planted("a second preview is empty", "a tag differs from process to process", "components/queues.py",
             "sqs_managed_sse_enabled=True,", 'sqs_managed_sse_enabled=True, tags={"Seed": str(hash(purpose))},',
             "test_life_of_a_stack.py", ("tests/test_ingestion.py", "tests/test_orchestrator.py")),
    _planted("destroy leaves nothing", "queues stay behind when their stack is destroyed", "components/queues.py",
             "redrive_policy=redrive_policy,\n        opts=pulumi.ResourceOptions(parent=owner),",
             "redrive_policy=redrive_policy,\n        opts=pulumi.ResourceOptions(parent=owner, retain_on_delete=True),",
             "test_protection.py", ("tests/test_ingestion.py", "tests/test_orchestrator.py")),
    _planted("deletions come in an order that AWS takes", "the cluster's providers do not depend on the cluster",
             "components/cluster.py", "cluster_name=self._cluster.name", "cluster_name=self.cluster_name",
             "test_life_of_a_stack.py", ("tests/test_cluster.py",)),
    _planted("no physical name is taken twice", "all queues share one name", "components/queues.py",
             "sqs_managed_sse_enabled=True,", 'sqs_managed_sse_enabled=True, name="queue",', "test_life_of_a_stack.py",
             ("tests/test_ingestion.py", "tests/test_orchestrator.py")),
    _planted("a wrong or missing value is refused by the command line", "the region has a default", "Pulumi.yaml",
             "  region:\n    type: string\n", "  region:\n    type: string\n    default: us-east-1\n", "test_refusals.py",
             ("tests/test_project_file.py",)),
    _planted("unknown keys are refused by the loader", "an unknown key passes", "components/config.py",
             "faults = unknown_key_faults(Source(values=visible, prefix=PREFIX), known)", "faults: list[Fault] = []",
             "test_refusals.py", ("tests/test_config.py",)),
    _planted("data is never replaced", "backups decide how the file system is built", "components/shared_files.py",
             "encrypted=True,", 'encrypted=True, performance_mode="maxIO" if args.config.backup else "generalPurpose",',
             "test_changes.py", ("tests/test_shared_files.py",)),
    _planted("exactly the listed resources change", "a name follows a value of the configuration",
             "components/shared_files.py", 'f"{name}-policy",', 'f"{name}-policy-{args.config.backup}",', "test_changes.py",
             ("tests/test_shared_files.py",)),
    _planted("autoscaled counts are not reset", "the count of tasks is the program's", "components/rag_service.py",
             'ignore_changes=["desiredCount"],', "", "test_recovery.py", ("tests/test_rag_service.py",)),
    _planted("a failed up is finished by the next one", "a resource has another name in each process",
             "components/orchestrator.py", 'f"{self.pulumi_resource_name}-asynchronous"',
             'f"{self.pulumi_resource_name}-asynchronous-{hash(self.pulumi_resource_name)}"', "test_recovery.py",
             ("tests/test_orchestrator.py",)),
    _planted("what vanished is found by a refresh", "the stub finds what is gone", "tests/engine/stub/provider.py",
             "return provider_pb2.ReadResponse()",
             "return provider_pb2.ReadResponse(id=request.id, properties=request.properties, inputs=request.inputs)",
             "test_recovery.py", ()),
    _planted("secrets are in no plain text", "an output shows a value that another tool keeps secret", "__main__.py",
             'pulumi.export("cluster", cluster.cluster_name)',
             'pulumi.export("cluster", pulumi.Config("another-tool").get("token") or cluster.cluster_name)',
             "test_secrets.py", ("tests/test_cluster.py",)),
    _planted("a protected stack refuses to be destroyed", "the lake is not protected", "components/data_lake.py",
             "protect=args.protect, retain_on_delete=args.protect", "retain_on_delete=args.protect", "test_protection.py",
             ("tests/test_data_lake.py",)),
    _planted("an upgrade changes what the changelog names", "a deletion needs no line", "tests/engine/test_upgrade.py",
             ', "delete": "deletes"}', "}", "test_upgrade.py", ()),
)  # fmt: skip


def judge(planted: Planted, files: list[str]) -> Verdict:
    """Runs the tests on the engine, then the others, on a copy with the fault."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        broken_copy(planted.fault, files, folder)
        for built in BUILT:
            if (PROJECT_ROOT / built).exists():
                (folder / built).symlink_to(PROJECT_ROOT / built)
        on_engine = run_tests(folder, list(planted.fault.near))
        return Verdict(
            planted=planted, on_engine=on_engine, in_others=run_tests(folder, list(planted.others))
        )


def row(verdict: Verdict) -> str:
    """One line of the table in docs/engine.md."""
    planted = verdict.planted
    marks = (_red(verdict.on_engine), _red(verdict.in_others))
    return f"| {planted.promise} | {planted.fault.sentence} | {marks[0]} | {marks[1]} |"


def _red(failed: str | None) -> str:
    return f"red: `{failed.split(' - ')[0].rpartition('::')[2]}`" if failed else "green"


def main() -> int:
    parser = argparse.ArgumentParser(description="Plant faults and see which tests notice.")
    parser.add_argument("--only", default="", help="plant only faults whose sentence holds this text")
    only = parser.parse_args().only
    if find_pulumi() is None:
        print(MISSING, file=sys.stderr)
        return 1
    chosen = [planted for planted in PLANTED if only in planted.fault.sentence]
    files = source_files()
    with concurrent.futures.ThreadPoolExecutor(max_workers=AT_ONCE) as pool:
        verdicts = []
        for verdict in pool.map(lambda planted: judge(planted, files), chosen):
            print(row(verdict), flush=True)
            verdicts.append(verdict)
    unseen = [verdict for verdict in verdicts if not verdict.on_engine]
    print(f"{len(verdicts) - len(unseen)} of {len(verdicts)} faults seen on the engine")
    return 1 if unseen else 0


if __name__ == "__main__":
    sys.exit(main())
