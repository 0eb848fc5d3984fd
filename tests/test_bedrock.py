"""Which model ids can be called from where, and the exact ARNs that a call needs."""

import pytest

from components.bedrock import (
    EMBEDDING_DIMENSIONS,
    PROFILE_REGIONS,
    base_model_id,
    model_arns,
    model_fault,
    profile_of,
    profiles_for,
)
from components.config_sections import AnswersConfig
from components.settings import settings_of
from rag import settings as pipeline

SONNET = "anthropic.claude-sonnet-4-5-20250929-v1:0"
TITAN = "amazon.titan-embed-text-v2:0"
ACCOUNT = "111122223333"


def test_the_regions_of_each_geography_are_those_read_from_aws() -> None:
    assert {name: " ".join(regions) for name, regions in PROFILE_REGIONS.items()} == {
        "us": "us-east-1 us-east-2 us-west-1 us-west-2",
        "us-gov": "us-gov-east-1 us-gov-west-1",
        "eu": "eu-central-1 eu-north-1 eu-south-1 eu-south-2 eu-west-1 eu-west-3",
        "jp": "ap-northeast-1 ap-northeast-3",
        "au": "ap-southeast-2 ap-southeast-4",
        "apac": "ap-northeast-1 ap-northeast-2 ap-northeast-3 ap-south-1 ap-south-2 "
        "ap-southeast-1 ap-southeast-2 ap-southeast-4",
    }, "a region that is missing is refused now and then, whenever the profile sends a call there"


@pytest.mark.parametrize(
    ("model_id", "profile", "base"),
    [
        (f"eu.{SONNET}", "eu", SONNET),
        (f"global.{SONNET}", "global", SONNET),
        ("us-gov.anthropic.claude-opus-5", "us-gov", "anthropic.claude-opus-5"),
        ("ca.amazon.nova-lite-v1:0", "ca", "amazon.nova-lite-v1:0"),
        (SONNET, None, SONNET),
        (TITAN, None, TITAN),
        ("zai.glm-4.7", None, "zai.glm-4.7"),
        ("qwen.qwen3-32b-v1:0", None, "qwen.qwen3-32b-v1:0"),
        ("eu.", None, "eu."),
        ("", None, ""),
    ],
)
def test_a_model_id_is_taken_apart(model_id: str, profile: str | None, base: str) -> None:
    assert (profile_of(model_id), base_model_id(model_id)) == (profile, base)


@pytest.mark.parametrize(
    ("region", "profiles"),
    [
        ("eu-central-1", ("eu", "global")), ("eu-west-2", ("global",)), ("us-west-1", ("us", "global")),
        ("ap-northeast-1", ("jp", "apac", "global")), ("us-gov-west-1", ("us-gov",)), ("cn-north-1", ()),
        ("us-isob-east-1", ()), ("eusc-de-east-1", ()),
    ],
)  # fmt: skip
def test_a_region_offers_its_geographies_and_global_only_in_the_standard_partition(
    region: str, profiles: tuple[str, ...]
) -> None:
    assert profiles_for(region) == profiles


@pytest.mark.parametrize(
    ("model_id", "region"),
    [
        (f"eu.{SONNET}", "eu-central-1"), (f"global.{SONNET}", "eu-west-2"), (TITAN, "eu-central-1"),
        ("amazon.nova-lite-v1:0", "us-east-1"), ("anthropic.claude-3-haiku-20240307-v1:0", "eu-central-1"),
    ],
)  # fmt: skip
def test_a_model_that_can_be_called_has_no_fault(model_id: str, region: str) -> None:
    assert model_fault(model_id, region) is None


BARE = "needs an inference profile in {}, since Bedrock refuses the bare id"
ABROAD = "names a profile that cannot be called from {}"
NOVA = "amazon.nova-lite-v1:0"


@pytest.mark.parametrize(
    ("model_id", "region", "allowed", "fix"),
    [
        (SONNET, "eu-central-1", BARE, f"use eu.{SONNET} or global.{SONNET}"),
        (SONNET, "eu-west-2", BARE, f"use global.{SONNET}"),
        (SONNET, "cn-north-1", BARE, "choose a model that cn-north-1 offers without a profile"),
        (f"us.{SONNET}", "eu-central-1", ABROAD, f"use eu.{SONNET} or global.{SONNET}"),
        (f"global.{SONNET}", "us-gov-west-1", ABROAD, f"use us-gov.{SONNET}"),
        (f"global.{SONNET}", "cn-north-1", ABROAD, "choose a model that cn-north-1 offers without a profile"),
        (f"us.{NOVA}", "eu-central-1", ABROAD, f"use {NOVA} or eu.{NOVA} or global.{NOVA}"),
        (f"us.{NOVA}", "cn-north-1", ABROAD, f"use {NOVA}"),
        (f"euu.{SONNET}", "eu-west-2", ABROAD, f"use global.{SONNET}"),
        (
            f"eu.{TITAN}",
            "eu-central-1",
            "names an inference profile, and this model has none",
            f"use {TITAN}",
        ),
    ],
)
def test_a_model_that_cannot_be_called_is_told_with_one_that_can(
    model_id: str, region: str, allowed: str, fix: str
) -> None:
    assert model_fault(model_id, region) == (allowed.format(region), fix)


def test_what_a_fault_offers_has_no_fault_itself() -> None:
    regions = {region for regions in PROFILE_REGIONS.values() for region in regions} | {
        "eu-west-2",
        "sa-east-1",
    }
    for region in sorted(regions):
        for model_id in (SONNET, f"xx.{SONNET}", f"xx.{NOVA}", f"eu.{TITAN}"):
            found = model_fault(model_id, region)
            assert found is not None
            for offered in found[1].removeprefix("use ").split(" or "):
                assert model_fault(offered, region) is None, (
                    f"{offered} is offered in {region} and refused there"
                )


def test_a_profile_needs_the_model_in_each_of_its_regions() -> None:
    assert model_arns("jp.anthropic.claude-sonnet-4-6", "ap-northeast-1", ACCOUNT, "aws") == [
        f"arn:aws:bedrock:ap-northeast-1:{ACCOUNT}:inference-profile/jp.anthropic.claude-sonnet-4-6",
        "arn:aws:bedrock:ap-northeast-1::foundation-model/anthropic.claude-sonnet-4-6",
        "arn:aws:bedrock:ap-northeast-3::foundation-model/anthropic.claude-sonnet-4-6",
    ], "a request that is sent to the other region would be denied"


def test_a_global_profile_needs_the_model_here_and_without_a_region() -> None:
    assert model_arns(f"global.{SONNET}", "eu-central-1", ACCOUNT, "aws") == [
        f"arn:aws:bedrock:eu-central-1:{ACCOUNT}:inference-profile/global.{SONNET}",
        f"arn:aws:bedrock:eu-central-1::foundation-model/{SONNET}",
        f"arn:aws:bedrock:::foundation-model/{SONNET}",
    ]


def test_a_bare_model_needs_itself_only_and_follows_the_partition() -> None:
    assert model_arns(NOVA, "us-gov-west-1", ACCOUNT, "aws-us-gov") == [
        f"arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/{NOVA}"
    ]


def test_no_arn_holds_a_wildcard() -> None:
    for profile, regions in PROFILE_REGIONS.items():
        for arn in model_arns(f"{profile}.{SONNET}", regions[0], ACCOUNT, "aws"):
            assert "*" not in arn, "any model could be called"


def test_every_dimension_that_can_be_configured_is_one_of_a_known_embedding_model() -> None:
    choices = settings_of(AnswersConfig)["embeddingDimensions"].metadata["allowed"].choices
    made = {size for sizes in EMBEDDING_DIMENSIONS.values() for size in sizes}
    assert set(choices) == made, "a length is refused that a model makes, or allowed that none makes"
    default = AnswersConfig()
    assert default.embedding_dimensions in EMBEDDING_DIMENSIONS[default.embedding_model]


def test_the_embedding_models_are_those_that_the_pipeline_can_call() -> None:
    assert pipeline.EMBEDDING_DIMENSIONS == EMBEDDING_DIMENSIONS, (
        "a stack would come up whose functions refuse their environment"
    )
    for model_id in EMBEDDING_DIMENSIONS:
        for typed in (model_id, f"eu.{model_id}", f"global.{model_id}"):
            assert pipeline.base_model(typed) == base_model_id(typed), f"{typed} means two models"
