"""The arithmetic of waiting: how long one request may take at each step of the way. Pure."""

from math import ceil

# The pipeline calls Bedrock twice (embedding, answer) and the vector store once.
BEDROCK_CALLS = 2
SEARCH_TIMEOUT_SECONDS = 10
# What is left for work of our own: parsing, signing, logging.
OWN_WORK_SECONDS = 1
LONGEST_BACK_OFF_SECONDS = 8


def back_off_seconds(attempts: int) -> int:
    """The longest sum of pauses between `attempts` tries: 1 s, doubled each time, at most 8 s each."""
    return sum(min(2**pause, LONGEST_BACK_OFF_SECONDS) for pause in range(attempts - 1))


def request_seconds(read_timeout_seconds: int, attempts: int) -> int:
    """The longest that one question can take when every try runs into its time-out."""
    bedrock = BEDROCK_CALLS * (read_timeout_seconds * attempts + back_off_seconds(attempts))
    return ceil(bedrock + SEARCH_TIMEOUT_SECONDS + OWN_WORK_SECONDS)
