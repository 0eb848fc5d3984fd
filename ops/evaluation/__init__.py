"""`python -m ops evaluate`: asks an API a file of questions, measures the answers, and compares two such runs."""
