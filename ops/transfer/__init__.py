"""Datasets and model folders between this machine and the lake, on s3transfer."""
