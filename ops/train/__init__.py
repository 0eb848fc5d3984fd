"""`python -m ops train`: starts training runs, and shows, follows and stops them."""
