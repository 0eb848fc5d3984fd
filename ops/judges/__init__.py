"""Outside judges of one recording: each brings rules that others wrote and keep."""
