"""What exists in AWS: one noun, one file, one component."""
