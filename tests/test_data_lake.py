import json
from collections.abc import Callable
from typing import Any

import pulumi_aws as aws
import pytest

from components import lake_layout as lake
from components.aws_account import AwsAccount
from components.config import ConfigError, PlatformConfig, read_sections
from components.data_lake import DataLake, DataLakeArgs
from components.iam import trust_policy
from ingestion import store
from ops.capture.computed import Computed
from ops.capture.program import PROJECT_ROOT, record_program
from ops.capture.recording import Recording
from ops.capture.stack_files import load_stack_config

BUCKET = "aws:s3/bucket:Bucket"
PUBLIC_ACCESS = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
OWNERSHIP = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"
ENCRYPTION = "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
VERSIONING = "aws:s3/bucketVersioning:BucketVersioning"
POLICY = "aws:s3/bucketPolicy:BucketPolicy"
LIFECYCLE = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
SETTINGS = (PUBLIC_ACCESS, OWNERSHIP, ENCRYPTION, VERSIONING, POLICY, LIFECYCLE)

FIELD_VALUES = Computed(
    resources={BUCKET: {"id": "lake-abc", "bucket": "lake-abc", "arn": "arn:aws:s3:::lake-abc"}}
)

Register = Callable[..., Recording]


def build() -> None:
    config = PlatformConfig.load()
    account = AwsAccount.connect(config)
    args = DataLakeArgs(config=config.data_lake, protect=config.general.protect_data)
    data_lake = DataLake("data-lake", args, account.options)
    role = aws.iam.Role("reader", assume_role_policy=trust_policy("ec2.amazonaws.com"), opts=account.options)
    data_lake.grant_read(role, lake.RAW, lake.MODELS)
    data_lake.grant_write(role, lake.EVALUATIONS)


@pytest.fixture(scope="module")
def built() -> Recording:
    """The lake of the dev stack, with the values of the field cases."""
    return record_program(build, load_stack_config(PROJECT_ROOT, "dev"), "dev", computed=FIELD_VALUES)


def lifecycle(register: Register, rules: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The rules of the bucket's one lifecycle resource by id, with `rules` configured."""
    inputs = register(build, changes={"lakeLifecycleRules": rules}).one(LIFECYCLE).inputs
    return {rule["id"]: rule for rule in inputs["rules"]}


def granted(recording: Recording, verb: str) -> list[dict[str, Any]]:
    policy = recording.one("aws:iam/rolePolicy:RolePolicy", f"data-lake-{verb}-reader")
    assert policy.inputs["role"] == recording.one("aws:iam/role:Role").outputs["name"]
    return json.loads(policy.inputs["policy"])["Statement"]


def test_nothing_in_the_lake_can_become_public(built: Recording) -> None:
    inputs = built.one(PUBLIC_ACCESS).inputs
    flags = {key: value for key, value in inputs.items() if key != "bucket"}
    assert flags == {
        "blockPublicAcls": True,
        "blockPublicPolicy": True,
        "ignorePublicAcls": True,
        "restrictPublicBuckets": True,
    }, "documents could be published by one access list or policy"


def test_access_lists_count_for_nothing(built: Recording) -> None:
    rule = built.one(OWNERSHIP).inputs["rule"]
    assert rule == {"objectOwnership": "BucketOwnerEnforced"}, (
        "a writer could keep an object from its readers"
    )


def test_the_lake_answers_over_tls_only(built: Recording) -> None:
    policy = built.one(POLICY).inputs["policy"]
    [statement] = json.loads(policy)["Statement"]
    del statement["Sid"]
    assert statement == {
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": ["arn:aws:s3:::lake-abc", "arn:aws:s3:::lake-abc/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }, "documents could cross the network in clear"


def test_objects_are_encrypted_with_a_bucket_key(built: Recording) -> None:
    [rule] = built.one(ENCRYPTION).inputs["rules"]
    assert rule["applyServerSideEncryptionByDefault"] == {"sseAlgorithm": "aws:kms"}
    assert rule["bucketKeyEnabled"] is True, "every object would cost a call to KMS"
    assert rule["blockedEncryptionTypes"] == ["SSE-C"], (
        "whoever can write could lock objects with a key of their own"
    )


@pytest.mark.parametrize(("versioning", "status"), [(True, "Enabled"), (False, "Suspended")])
def test_versions_are_kept_by_choice(register: Register, versioning: bool, status: str) -> None:
    inputs = register(build, changes={"lakeVersioning": versioning}).one(VERSIONING).inputs
    assert inputs["versioningConfiguration"] == {"status": status}, (
        "S3 refuses Disabled for a bucket that ever had versions"
    )


def test_every_setting_is_one_of_the_lakes_own_bucket(built: Recording) -> None:
    recording = built
    for setting in SETTINGS:
        assert recording.one(setting).inputs["bucket"] == "lake-abc"


def test_the_bucket_is_named_by_pulumi_and_never_emptied_by_it(register: Register) -> None:
    inputs = (
        register(build, changes={"protectData": True, "allowedAccountIds": ["111122223333"]})
        .one(BUCKET)
        .inputs
    )
    assert inputs == {}, "a fixed name collides with another stack, forceDestroy deletes the data"


def test_a_protected_lake_survives_with_its_settings(register: Register) -> None:
    recording = register(build, changes={"protectData": True, "allowedAccountIds": ["111122223333"]})
    bucket = recording.one(BUCKET)
    assert bucket.protect, "destroy would take the data"
    assert bucket.retain_on_delete, "removing the lake from the program would delete it"
    for setting in SETTINGS:
        assert recording.one(setting).retain_on_delete, "the kept bucket would be open to plain HTTP"


def test_a_lake_that_is_not_protected_can_be_destroyed(built: Recording) -> None:
    kept = [item.name for item in built.resources if item.protect or item.retain_on_delete]
    assert not kept, "a stack for trying things out could not be taken down"


def test_no_object_stands_for_a_prefix(built: Recording) -> None:
    objects = [item.name for item in built.resources if "object" in item.type.lower()]
    assert not objects, "a marker would start ingestion and expire"


def test_no_resource_has_an_outdated_type(built: Recording) -> None:
    assert not [item.type for item in built.resources if item.type.endswith("V2")]


def test_the_default_rules_move_old_embeddings_and_delete_old_logs(built: Recording) -> None:
    rules = built.one(LIFECYCLE).inputs["rules"]
    assert rules == [
        {
            "id": "MoveOldEmbeddings",
            "status": "Enabled",
            "filter": {"prefix": "processed/embeddings/"},
            "transitions": [
                {"days": 30, "storageClass": "STANDARD_IA"},
                {"days": 90, "storageClass": "GLACIER"},
            ],
        },
        {
            "id": "DeleteOldLogs",
            "status": "Enabled",
            "filter": {"prefix": "logs/training/"},
            "expiration": {"days": 180},
        },
        {
            "id": "AbortIncompleteUploads",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
        },
        {
            "id": "DeleteOldVersions",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "noncurrentVersionExpiration": {"noncurrentDays": 30},
            "expiration": {"expiredObjectDeleteMarker": True},
        },
    ]


def test_three_prefixes_still_make_one_lifecycle_resource(register: Register) -> None:
    prefixes = ("raw/", "models/", "evaluations/")
    rules = [{"id": prefix.strip("/"), "prefix": prefix, "expireDays": 365} for prefix in prefixes]
    built = lifecycle(register, rules)
    assert [built[prefix.strip("/")]["filter"]["prefix"] for prefix in prefixes] == list(prefixes), (
        "a second lifecycle resource would undo the first"
    )


@pytest.mark.parametrize("rules", [[], [{"id": "old", "expireDays": 30}]])
def test_uploads_that_never_finish_and_old_versions_go_whatever_is_configured(
    register: Register, rules: list[dict[str, Any]]
) -> None:
    changes = {
        "lakeLifecycleRules": rules,
        "lakeAbortIncompleteUploadDays": 3,
        "lakeNoncurrentVersionDays": 11,
    }
    inputs = register(build, changes=changes).one(LIFECYCLE).inputs
    built = {rule["id"]: rule for rule in inputs["rules"]}
    assert built["AbortIncompleteUploads"]["abortIncompleteMultipartUpload"] == {"daysAfterInitiation": 3}, (
        "parts of broken uploads are paid for, and no listing shows them"
    )
    assert built["DeleteOldVersions"]["noncurrentVersionExpiration"] == {"noncurrentDays": 11}, (
        "every version ever written would be paid for"
    )


def test_a_rule_with_only_an_expiry_has_an_explicit_filter(register: Register) -> None:
    rule = lifecycle(register, [{"id": "old", "expireDays": 30}])["old"]
    assert rule["filter"] == {"prefix": ""}, "S3 refuses a rule without a filter"
    assert rule["expiration"] == {"days": 30}


def test_prefix_and_minimum_size_use_the_combined_form(register: Register) -> None:
    rules = [{"id": "large", "prefix": "raw/", "minimumSizeBytes": 1_048_576, "expireDays": 30}]
    assert lifecycle(register, rules)["large"]["filter"] == {
        "and": {"prefix": "raw/", "objectSizeGreaterThan": 1_048_576}
    }, "S3 refuses two conditions side by side"


def test_which_small_objects_move_is_said(built: Recording) -> None:
    inputs = built.one(LIFECYCLE).inputs
    assert inputs["transitionDefaultMinimumObjectSize"] == "all_storage_classes_128K", (
        "S3 would decide which small objects move"
    )


def test_rules_for_old_versions_come_after_versioning(built: Recording) -> None:
    recording = built
    assert recording.one(VERSIONING).urn in recording.one(LIFECYCLE).dependencies, (
        "S3 has no old versions to judge yet"
    )


@pytest.mark.parametrize(
    ("rules", "key", "value"),
    [
        (
            [{"id": "early", "transitions": [{"days": 7, "storageClass": "STANDARD_IA"}]}],
            "lakeLifecycleRules[0].transitions[0]",
            "STANDARD_IA at 7 days",
        ),
        (
            [{"id": "gone", "transitions": [{"days": 90, "storageClass": "GLACIER"}], "expireDays": 60}],
            "lakeLifecycleRules[0].expireDays",
            "60",
        ),
        (
            [{"id": "twice", "expireDays": 30}, {"id": "twice", "expireDays": 60}],
            "lakeLifecycleRules[1].id",
            "twice",
        ),
        ([{"id": "before", "expireDays": -30}], "lakeLifecycleRules[0].expireDays", "-30"),
        (
            [{"id": "before", "transitions": [{"days": -90, "storageClass": "GLACIER"}]}],
            "lakeLifecycleRules[0].transitions[0].days",
            "-90",
        ),
    ],
)
def test_rules_that_contradict_themselves_are_refused_before_anything_is_built(
    register: Register, rules: list[dict[str, Any]], key: str, value: str
) -> None:
    values = load_stack_config(PROJECT_ROOT, "dev", {"lakeLifecycleRules": rules}).values
    _, faults = read_sections({name.partition(":")[2]: text for name, text in values.items()})
    assert [(fault.key, fault.value) for fault in faults] == [(f"ai-platform:{key}", value)]
    with pytest.raises(ConfigError) as error:
        register(build, changes={"lakeLifecycleRules": rules})
    assert f"{key} = {value}: " in str(error.value), "nobody could tell what to change"


def test_readers_get_their_prefixes_and_nothing_else(built: Recording) -> None:
    assert granted(built, "read") == [
        {
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": ["arn:aws:s3:::lake-abc"],
            "Condition": {"StringLike": {"s3:prefix": ["raw/*", "models/*"]}},
        },
        {
            "Effect": "Allow",
            "Action": ["s3:GetObject"],
            "Resource": ["arn:aws:s3:::lake-abc/raw/*", "arn:aws:s3:::lake-abc/models/*"],
        },
    ]


def test_writers_get_their_prefixes_and_no_old_version(built: Recording) -> None:
    assert granted(built, "write") == [
        {
            "Effect": "Allow",
            "Action": ["s3:ListBucket"],
            "Resource": ["arn:aws:s3:::lake-abc"],
            "Condition": {"StringLike": {"s3:prefix": ["evaluations/*"]}},
        },
        {
            "Effect": "Allow",
            "Action": ["s3:PutObject", "s3:AbortMultipartUpload", "s3:DeleteObject"],
            "Resource": ["arn:aws:s3:::lake-abc/evaluations/*"],
        },
    ], "a writer that deletes versions could destroy what versioning keeps"


def test_the_lake_has_the_eleven_folders_of_the_layout() -> None:
    assert lake.PREFIXES == (
        "raw/pdfs/",
        "raw/web-scrapes/",
        "raw/databases/",
        "processed/chunks/",
        "processed/embeddings/",
        "models/fine-tuned/",
        "models/adapters/",
        "models/onnx/",
        "evaluations/benchmarks/",
        "evaluations/ab-tests/",
        "logs/training/",
    )
    above = (lake.RAW, lake.PROCESSED, lake.MODELS, lake.EVALUATIONS, lake.LOGS_TRAINING)
    assert all(prefix.startswith(above) for prefix in lake.PREFIXES), "a grant would miss a folder"


def test_ingestion_writes_where_the_lake_expects_it() -> None:
    assert (store.CHUNKS_PREFIX, store.EMBEDDINGS_PREFIX) == (
        lake.PROCESSED_CHUNKS,
        lake.PROCESSED_EMBEDDINGS,
    )


@pytest.mark.parametrize("answers", [{"preview": True}, {"computed": Computed(empty=True)}])
def test_what_is_not_known_yet_changes_no_resource(built: Recording, answers: dict[str, Any]) -> None:
    early = record_program(build, load_stack_config(PROJECT_ROOT, "dev"), "dev", **answers)
    assert {item.urn for item in early.resources} == {item.urn for item in built.resources}, (
        "a preview would hide resources"
    )
