"""The retrieval pipeline that the Lambda functions and the RAG API share."""
