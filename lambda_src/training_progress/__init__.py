"""The function that tells how long a training job has made no progress."""
