"""`python -m ops prices`: the tables of instance and service prices, read anew from AWS."""
