"""The arithmetic of waiting: how long one request may take at each step of the way. Pure."""

# The pipeline in lambda_src/rag, which a test holds these to: it calls Bedrock twice (embedding, answer) and searches
# once. A search that ran into its time-out is not repeated; some time is kept back to build the reply.
BEDROCK_CALLS = 2
SEARCH_TIMEOUT_SECONDS = 35
RESERVE_SECONDS = 2
LONGEST_BACK_OFF_SECONDS = 8


def back_off_seconds(attempts: int) -> int:
    """The longest sum of pauses between `attempts` tries: 1 s, doubled each time, at most 8 s each."""
    return sum(min(2**pause, LONGEST_BACK_OFF_SECONDS) for pause in range(attempts - 1))


def request_seconds(read_timeout_seconds: int, attempts: int) -> int:
    """The longest that one question can take when every try runs into its time-out."""
    bedrock = BEDROCK_CALLS * (read_timeout_seconds * attempts + back_off_seconds(attempts))
    return bedrock + SEARCH_TIMEOUT_SECONDS + RESERVE_SECONDS
