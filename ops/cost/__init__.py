"""`python -m ops cost`: what the stacks cost in a month, from recordings of the program and dated prices."""
