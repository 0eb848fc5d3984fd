"""`python -m ops reindex`: a new vector index beside the old one, filled from the data lake, and the switch to it."""
