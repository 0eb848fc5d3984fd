"""`python -m ops drill`: interrupts a node of a training run, and reports whether the run went on and what it lost."""
