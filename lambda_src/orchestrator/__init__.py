"""The function that answers one question."""
