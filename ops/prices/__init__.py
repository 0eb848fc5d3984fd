"""`python -m ops prices refresh`: the table of instance prices, read anew from AWS."""
