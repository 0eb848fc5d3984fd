"""The function that keeps the vector index in step with the documents in the data lake."""
