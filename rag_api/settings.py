"""What the HTTP service must know beside the pipeline's settings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

from rag.environment import Environment
from rag.openai_answer import OpenAISettings
from rag.settings import PipelineSettings

OPENAI_BASE_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """`bearer_token` is empty when the network alone protects the service; `openai` is None for Bedrock.

    `maximum_concurrency` counts questions that are answered at one time, each in a thread of its own.
    """

    pipeline: PipelineSettings
    request_timeout_seconds: int
    maximum_concurrency: int
    openai: OpenAISettings | None
    bearer_token: str = field(default="", repr=False)

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read every variable; raise one `ConfigurationError` that names all faults and shows no secret."""
        environment = Environment(environ)
        provider = environment.choice("ANSWER_PROVIDER", "bedrock", "openai")
        settings = cls(
            pipeline=PipelineSettings.read(environment),
            request_timeout_seconds=environment.integer("REQUEST_TIMEOUT_SECONDS", 1, 4000),
            maximum_concurrency=environment.integer("MAXIMUM_CONCURRENCY", 1, 1000),
            openai=_openai_settings(environment) if provider == "openai" else None,
            # A blank token must not open the API: where one is given, it counts.
            bearer_token=environment.secret("BEARER_TOKEN") if "BEARER_TOKEN" in environ else "",
        )
        environment.finish()
        return settings


def _openai_settings(environment: Environment) -> OpenAISettings:
    base_url = OPENAI_BASE_URL
    if environment.optional("OPENAI_BASE_URL"):
        base_url = environment.url("OPENAI_BASE_URL", "https", "http")
    # Only OpenAI itself always wants a key.
    wants_key = base_url == OPENAI_BASE_URL or environment.optional("OPENAI_API_KEY")
    api_key = environment.secret("OPENAI_API_KEY") if wants_key else ""
    return OpenAISettings(base_url=base_url, model=environment.text("OPENAI_MODEL"), api_key=api_key)
