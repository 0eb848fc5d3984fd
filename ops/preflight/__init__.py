"""`python -m ops preflight`: what an AWS account lacks for a stack, found out before `pulumi up`."""
