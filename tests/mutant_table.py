"""The known faults of `make mutants`: one changed line each, over every component, the tools and the tests themselves."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """`old` becomes `new` once in `file`; `near` are the tests that should see it first."""

    sentence: str
    file: str
    old: str
    new: str
    near: tuple[str, ...] = ()


PROGRAM = ("tests/test_program.py", "tests/test_house_rules.py")
PUBLIC_ACCESS_BLOCK = '''        aws.s3.BucketPublicAccessBlock(
            f"{name}-public-access",
            bucket=self.bucket_name,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=settings,
        )
'''

MUTANTS = (
    # The twelve changes of the field case about test suites without teeth.
    Mutant("the service's task count is reset at every deployment", "components/rag_service.py",
           'ignore_changes=["desiredCount"],', "", ("tests/test_rag_service.py",)),
    Mutant("the shared file system is not encrypted", "components/shared_files.py",
           "encrypted=True,", "encrypted=False,", ("tests/test_shared_files.py",)),
    Mutant("anybody on the internet may reach the file system", "components/shared_files.py",
           "referenced_security_group_id=security_group_id,", 'cidr_ipv4="0.0.0.0/0",', ("tests/test_shared_files.py",)),
    Mutant("parts of unfinished uploads are kept for ever", "components/lifecycle.py",
           '"abort_incomplete_multipart_upload": {"days_after_initiation": abort_incomplete_upload_days},', "",
           ("tests/test_data_lake.py",)),
    Mutant("nodes hand out credentials without a session token", "components/gpu_node.py",
           '"http_tokens": "required"', '"http_tokens": "optional"', ("tests/test_gpu_fleet.py",)),
    Mutant("anybody may call the orchestrator's URL", "components/orchestrator.py",
           'authorization_type="AWS_IAM"', 'authorization_type="NONE"', ("tests/test_orchestrator.py",)),
    Mutant("objects of the lake may become public", "components/data_lake.py",
           PUBLIC_ACCESS_BLOCK, "", ("tests/test_data_lake.py",)),
    Mutant("an output is turned into text", "components/service_scaling.py",
           'pulumi.Output.concat("service/", args.cluster_name, "/", args.service_name)',
           'f"service/{args.cluster_name}/{args.service_name}"', ("tests/test_rag_service.py",)),
    Mutant("the halves of the scaling label are swapped", "components/load_balancer.py",
           'pulumi.Output.concat(balancer.arn_suffix, "/", self.target_group.arn_suffix)',
           'pulumi.Output.concat(self.target_group.arn_suffix, "/", balancer.arn_suffix)', ("tests/test_rag_service.py",)),
    Mutant("a test looks into an output and is not awaited", "tests/test_iam.py",
           "@pulumi.runtime.test\n", "", ("tests/test_house_rules.py",)),
    Mutant("the program runs before the recording stands", "ops/capture/program.py",
           '    logger = logging.Logger("recording")\n', '    program()\n    logger = logging.Logger("recording")\n', PROGRAM),
    Mutant("the tests record a first preview, in which nothing is known", "tests/recordings.py",
           "    return record(stack)\n", "    return record(stack, preview=True)\n", PROGRAM),
)  # fmt: skip
