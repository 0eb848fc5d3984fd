"""The HTTP service that answers questions from the documents in the data lake."""
