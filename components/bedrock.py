"""Bedrock model ids, inference profiles and the exact ARNs that a call needs. Pure."""

from collections.abc import Sequence

from components.partitions import partition_of

# Regions to which a geography's profiles may send a request (read 2026-12-01). A model can be served from fewer of
# them, never from others; the account is the authority, so compare before production:
#   aws bedrock get-inference-profile --inference-profile-identifier PROFILE
# https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-support.html
PROFILE_REGIONS: dict[str, tuple[str, ...]] = {
    "us": ("us-east-1", "us-east-2", "us-west-1", "us-west-2"),
    "us-gov": ("us-gov-east-1", "us-gov-west-1"),
    "eu": ("eu-central-1", "eu-north-1", "eu-south-1", "eu-south-2", "eu-west-1", "eu-west-3"),
    "jp": ("ap-northeast-1", "ap-northeast-3"),
    "au": ("ap-southeast-2", "ap-southeast-4"),
    "apac": (
        "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "ap-south-1", "ap-south-2",
        "ap-southeast-1", "ap-southeast-2", "ap-southeast-4",
    ),
}  # fmt: skip
GLOBAL = "global"

# Models of these families answer a bare id with ValidationException: on-demand throughput isn't supported.
# https://docs.aws.amazon.com/bedrock/latest/userguide/inference-profiles-prereq.html
PROFILE_ONLY_PREFIXES = (
    "anthropic.claude-3-5", "anthropic.claude-3-7", "anthropic.claude-fable", "anthropic.claude-haiku",
    "anthropic.claude-opus", "anthropic.claude-sonnet",
)  # fmt: skip

# Models of these families are called in the stack's own region only; they have no inference profile.
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-amazon-titan-text-embeddings-v2-2.html
OWN_REGION_PREFIXES = ("amazon.titan-",)
# Before one of these, the first part of an id is meant as a geography, also where the table above does not have it.
PROVIDERS = (
    "ai21", "amazon", "anthropic", "cohere", "deepseek", "meta", "mistral", "openai", "qwen", "stability", "writer",
)  # fmt: skip

# The embedding models that the pipeline in lambda_src/rag can call, and the lengths of vector they make.
# Titan has no profile; Cohere's has us, eu and global ones.
# https://docs.aws.amazon.com/bedrock/latest/userguide/model-card-cohere-embed-v4.html
EMBEDDING_DIMENSIONS: dict[str, tuple[int, ...]] = {
    "amazon.titan-embed-text-v2:0": (256, 512, 1024),
    "cohere.embed-v4:0": (256, 512, 1024, 1536),
}


def profile_of(model_id: str) -> str | None:
    """The geography before the model id (`eu`, `global`), or None for a bare model id."""
    head, _, rest = model_id.partition(".")
    is_geography = head == GLOBAL or head in PROFILE_REGIONS or rest.partition(".")[0] in PROVIDERS
    return head if rest and is_geography else None


def base_model_id(model_id: str) -> str:
    """The foundation model's id without the geography."""
    return model_id.split(".", 1)[1] if profile_of(model_id) else model_id


def profiles_for(region: str) -> tuple[str, ...]:
    """The geographies whose profiles can be called from `region`, the narrowest first."""
    local = [name for name, regions in PROFILE_REGIONS.items() if region in regions]
    everywhere = (GLOBAL,) if partition_of(region)[0] == "aws" else ()
    return (*local, *everywhere)


def model_fault(model_id: str, region: str) -> tuple[str, str] | None:
    """What is allowed and how to mend it, when `model_id` cannot be called from `region`; None when it can."""
    base, profile, usable = base_model_id(model_id), profile_of(model_id), profiles_for(region)
    needs_profile = base.startswith(PROFILE_ONLY_PREFIXES)
    profiles = [f"{name}.{base}" for name in usable]
    if base.startswith(OWN_REGION_PREFIXES):
        return ("names an inference profile, and this model has none", f"use {base}") if profile else None
    if profile in usable or (profile is None and not needs_profile):
        return None
    choices = profiles if needs_profile else [base, *profiles]
    fix = (
        f"use {' or '.join(choices)}" if choices else f"choose a model that {region} offers without a profile"
    )
    if profile is None:
        return f"needs an inference profile in {region}, since Bedrock refuses the bare id", fix
    return f"names a profile that cannot be called from {region}", fix


def model_arns(model_id: str, region: str, account_id: str, partition: str) -> list[str]:
    """Every ARN that a call of `model_id` needs: the model, or the profile and the model in each of its regions.

    A global profile also needs the model ARN without a region.
    https://docs.aws.amazon.com/bedrock/latest/userguide/global-cross-region-inference.html
    """
    profile = profile_of(model_id)
    if profile is None:
        return [_model_arn(model_id, region, partition)]
    regions: Sequence[str] = (region, "") if profile == GLOBAL else PROFILE_REGIONS[profile]
    profile_arn = f"arn:{partition}:bedrock:{region}:{account_id}:inference-profile/{model_id}"
    return [profile_arn, *(_model_arn(base_model_id(model_id), name, partition) for name in regions)]


def _model_arn(base_id: str, region: str, partition: str) -> str:
    return f"arn:{partition}:bedrock:{region}::foundation-model/{base_id}"
