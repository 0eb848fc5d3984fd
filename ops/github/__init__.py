"""What the workflows tell people on GitHub."""
