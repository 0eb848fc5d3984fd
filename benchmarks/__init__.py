"""Figures that the documentation quotes, each as a ratio of two sides measured in one run."""
