"""The same function as `lambda_src/orchestrator`, written with LangChain's parts the way its documentation shows."""

import json
import os
from functools import cache
from typing import Any
from urllib.parse import urlsplit

import boto3
from langchain_aws import BedrockEmbeddings, ChatBedrockConverse  # ty: ignore[import-not-found]
from langchain_community.vectorstores import OpenSearchVectorSearch  # ty: ignore[import-not-found]
from langchain_core.output_parsers import StrOutputParser  # ty: ignore[import-not-found]
from langchain_core.prompts import ChatPromptTemplate  # ty: ignore[import-not-found]
from opensearchpy import Urllib3AWSV4SignerAuth, Urllib3HttpConnection  # ty: ignore[import-not-found]

PROMPT = [
    ("system", "Answer from the documents alone, in the language of the question."),
    ("human", "<documents>\n{documents}\n</documents>\n\n<question>{question}</question>"),
]


@cache
def store() -> Any:
    region, endpoint = os.environ["AWS_REGION"], os.environ["OPENSEARCH_ENDPOINT"]
    return OpenSearchVectorSearch(
        opensearch_url=endpoint,
        index_name=os.environ["INDEX_ALIAS"],
        embedding_function=BedrockEmbeddings(
            model_id=os.environ["EMBEDDING_MODEL_ID"],
            region_name=region,
            model_kwargs={"dimensions": int(os.environ["EMBEDDING_DIMENSIONS"]), "normalize": True},
        ),
        http_auth=Urllib3AWSV4SignerAuth(boto3.Session().get_credentials(), region, "aoss"),
        connection_class=Urllib3HttpConnection,
        use_ssl=urlsplit(endpoint).scheme == "https",
    )


@cache
def chain() -> Any:
    model = ChatBedrockConverse(
        model=os.environ["ANSWER_MODEL_ID"],
        region_name=os.environ["AWS_REGION"],
        max_tokens=int(os.environ["ANSWER_MAX_TOKENS"]),
    )
    return ChatPromptTemplate.from_messages(PROMPT) | model | StrOutputParser()


def lambda_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    found = store().similarity_search_with_score(
        event["query"],
        k=int(os.environ["RETRIEVAL_COUNT"]),
        vector_field="embedding",
        text_field="text",
        metadata_field="*",
    )
    documents = "\n".join(document.page_content for document, _ in found)
    answer = chain().invoke({"documents": documents, "question": event["query"]})
    sources = [
        {"document_key": document.metadata["document_key"], "score": score} for document, score in found
    ]
    return {"statusCode": 200, "body": json.dumps({"answer": answer, "sources": sources})}
