"""What an operator runs before and after `pulumi up`."""
