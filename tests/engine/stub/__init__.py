"""A stand-in for the AWS providers, for tests on the real engine. It is not an emulator of AWS."""
