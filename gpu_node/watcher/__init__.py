"""Passes what EC2 announces about a node on to the work on it. Runs on the node's own Python, 3.9 or newer, without any library."""
