"""The function that makes the vector index and its alias while the platform is deployed."""
