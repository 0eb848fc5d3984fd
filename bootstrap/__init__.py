"""A Pulumi program of its own: what the workflows need in AWS before the first deployment."""
