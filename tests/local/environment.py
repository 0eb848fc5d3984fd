"""The environment variables of the local services, with the names that the deployed ones have."""

import os
from collections.abc import Mapping
from pathlib import Path

from tests.local.aws import BUCKET, MAXIMUM_RECEIVES, REGION, LocalAws
from tests.standins.signature import ACCESS_KEY_ID, SECRET_ACCESS_KEY

PROJECT_ROOT = Path(__file__).resolve().parents[2]
INDEX = "local-documents-1"
ALIAS = "local-documents"
DIMENSIONS = 256


def aws_environment(aws_url: str, bedrock_url: str) -> dict[str, str]:
    """Leads boto3 to the stand-ins and nowhere else: the user's own account is out of reach."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "PYTHON"))}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join([str(PROJECT_ROOT), str(PROJECT_ROOT / "lambda_src")]),
        "PYTHONUNBUFFERED": "1",
        "AWS_REGION": REGION,
        "AWS_DEFAULT_REGION": REGION,
        "AWS_ACCESS_KEY_ID": ACCESS_KEY_ID,
        "AWS_SECRET_ACCESS_KEY": SECRET_ACCESS_KEY,
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": aws_url,
        "AWS_ENDPOINT_URL_S3": aws_url,
        "AWS_ENDPOINT_URL_SQS": aws_url,
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": bedrock_url,
    }


def pipeline_environment(collection_url: str) -> dict[str, str]:
    """What all three services read."""
    return {
        "OPENSEARCH_ENDPOINT": collection_url,
        "INDEX_ALIAS": ALIAS,
        "EMBEDDING_MODEL_ID": "amazon.titan-embed-text-v2:0",
        "EMBEDDING_DIMENSIONS": str(DIMENSIONS),
        "ANSWER_MODEL_ID": "eu.anthropic.claude-sonnet-4-6",
        "BEDROCK_READ_TIMEOUT_SECONDS": "20",
        "BEDROCK_MAX_ATTEMPTS": "3",
        "RETRIEVAL_COUNT": "5",
        "SEARCH_MODE": "hybrid",
        "CONTEXT_TOKENS": "4000",
        "ANSWER_MAX_TOKENS": "512",
    }


def ingestion_environment(aws: LocalAws, generation: str) -> dict[str, str]:
    return {
        "DATA_LAKE_BUCKET": BUCKET,
        "COLLECTION_GENERATION": generation,
        "CHUNK_TOKENS": "200",
        "CHUNK_OVERLAP_TOKENS": "20",
        "EMBEDDING_TOKENS_PER_MINUTE": "10000000",
        "QUEUE_URL": aws.queue_url,
        "DEAD_LETTER_QUEUE_URL": aws.dead_letter_queue_url,
        "MAXIMUM_RECEIVES": str(MAXIMUM_RECEIVES),
    }


def api_environment(openai: Mapping[str, str]) -> dict[str, str]:
    """`openai` holds OPENAI_BASE_URL and OPENAI_MODEL where another model is to answer."""
    return {
        "ANSWER_PROVIDER": "openai" if openai else "bedrock",
        "REQUEST_TIMEOUT_SECONDS": "60",
        "MAXIMUM_CONCURRENCY": "16",
        **openai,
    }
