"""What to take before anything is built: which accelerator, and Lambda, ECS or EKS."""
