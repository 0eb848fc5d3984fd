"""The environment variables from which the pipeline in `lambda_src/rag` reads its settings."""

import pulumi

from components.config_sections import AnswersConfig
from components.vector_store import VectorStore


def pipeline_environment(answers: AnswersConfig, vector_store: VectorStore) -> dict[str, pulumi.Input[str]]:
    """What `rag.settings.PipelineSettings` reads, but for AWS_REGION, which Lambda sets and reserves for itself.

    https://docs.aws.amazon.com/lambda/latest/dg/configuration-envvars.html
    """
    # Not set where the model chooses itself: newer models refuse the parameter.
    temperature = {"ANSWER_TEMPERATURE": answers.answer_temperature} if answers.answer_temperature else {}
    return {
        "OPENSEARCH_ENDPOINT": vector_store.collection_endpoint,
        "INDEX_ALIAS": vector_store.index_alias,
        "EMBEDDING_MODEL_ID": answers.embedding_model,
        "EMBEDDING_DIMENSIONS": str(answers.embedding_dimensions),
        "ANSWER_MODEL_ID": answers.answer_model,
        "BEDROCK_READ_TIMEOUT_SECONDS": str(answers.bedrock_read_timeout_seconds),
        "BEDROCK_MAX_ATTEMPTS": str(answers.bedrock_maximum_attempts),
        "ANSWER_MAX_TOKENS": str(answers.answer_maximum_tokens),
        **temperature,
        "SEARCH_MODE": answers.search_mode,
        "RETRIEVAL_COUNT": str(answers.retrieval_count),
        "CONTEXT_TOKENS": str(answers.context_tokens),
    }
