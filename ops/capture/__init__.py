"""The recording of what the program registers, and the modules that complete it without AWS."""
