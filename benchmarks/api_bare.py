"""The floor of the API: a bare FastAPI route that makes the same three calls by hand, with pools and threads as ours.

It checks, limits, logs, and retries nothing.
"""

import hashlib
import json
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import anyio.to_thread
import botocore.session
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.config import Config
from botocore.httpsession import URLLib3Session
from fastapi import FastAPI

CONNECTIONS = 256
REGION = os.environ["AWS_REGION"]
SESSION = botocore.session.get_session()
CREDENTIALS = SESSION.get_credentials()
BEDROCK = SESSION.create_client(
    "bedrock-runtime", config=Config(region_name=REGION, max_pool_connections=CONNECTIONS)
)
SEARCH = URLLib3Session(max_pool_connections=CONNECTIONS)
SEARCH_URL = f"{os.environ['OPENSEARCH_ENDPOINT']}/{os.environ['INDEX_ALIAS']}/_search"


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None]:
    """As many threads as the service has."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = int(os.environ["MAXIMUM_CONCURRENCY"])
    yield


app = FastAPI(lifespan=lifespan)


def embed(text: str) -> list[float]:
    """The vector of a text."""
    body = {"inputText": text, "dimensions": int(os.environ["EMBEDDING_DIMENSIONS"]), "normalize": True}
    reply = BEDROCK.invoke_model(modelId=os.environ["EMBEDDING_MODEL_ID"], body=json.dumps(body))
    return json.loads(reply["body"].read())["embedding"]


def search(vector: list[float]) -> list[dict[str, Any]]:
    """The nearest passages."""
    count = int(os.environ["RETRIEVAL_COUNT"])
    query = {"size": count, "query": {"knn": {"embedding": {"vector": vector, "k": count}}}}
    data = json.dumps(query).encode()
    headers = {
        "content-type": "application/json",
        "x-amz-content-sha256": hashlib.sha256(data).hexdigest(),
    }
    request = AWSRequest("POST", SEARCH_URL, data=data, headers=headers)
    SigV4Auth(CREDENTIALS, "aoss", REGION).add_auth(request)
    reply = json.loads(SEARCH.send(request.prepare()).content)
    return [hit["_source"] for hit in reply["hits"]["hits"]]


@app.post("/v1/query")
def query(question: dict[str, str]) -> dict[str, Any]:
    """The same three calls, one after the other, in a thread of FastAPI's pool."""
    sources = search(embed(question["query"]))
    documents = "\n".join(source["text"] for source in sources)
    reply = BEDROCK.converse_stream(
        modelId=os.environ["ANSWER_MODEL_ID"],
        system=[{"text": "Answer from the documents."}],
        messages=[{"role": "user", "content": [{"text": f"{documents}\n\n{question['query']}"}]}],
        inferenceConfig={"maxTokens": int(os.environ["ANSWER_MAX_TOKENS"])},
    )
    texts = [event.get("contentBlockDelta", {}).get("delta", {}).get("text", "") for event in reply["stream"]]
    return {
        "answer": "".join(texts),
        "sources": [source["document_key"] for source in sources],
    }
