"""What can go wrong while a question is answered or a document is indexed, and what the caller is told."""


class PipelineError(Exception):
    """The base of every expected failure.

    `str(error)` is for the operator's log and never holds the text of a question or document. A caller sees
    `public_message`, which is the fixed `sentence`, together with `code` and the HTTP `status_code`.
    """

    status_code = 500
    code = "internal_error"
    sentence = "The service failed. The operator finds the cause in the log under this request id."

    @property
    def public_message(self) -> str:
        """What the caller is told."""
        return self.sentence


class QuestionError(PipelineError):
    """The request holds no question that can be answered; its own text tells the caller why."""

    status_code = 400
    code = "invalid_request"

    @property
    def public_message(self) -> str:
        """The error's own text."""
        return str(self)


class QuestionTooLongError(QuestionError):
    """The question or the request is longer than what is accepted."""

    status_code = 413
    code = "too_long"


class ThrottledError(PipelineError):
    """A service asked to be called less often, and still did after the last attempt."""

    status_code = 429
    code = "throttled"
    sentence = "The service receives too many requests at the moment. Try again in some seconds."


class UnavailableError(PipelineError):
    """A service behind the pipeline failed or could not be reached."""

    status_code = 503
    code = "unavailable"
    sentence = "A service behind this one is not available at the moment. Try again in some seconds."


class UnreachableError(PipelineError):
    """No address of a service's host took a connection in time. The next attempt would wait as long for nothing."""

    status_code = 503
    code = UnavailableError.code
    sentence = UnavailableError.sentence


class UpstreamTimeoutError(PipelineError):
    """A service behind the pipeline did not reply within its read time-out."""

    status_code = 504
    code = "upstream_timeout"
    sentence = "A service behind this one took too long to reply. Try again, or ask a shorter question."


class DeadlineError(PipelineError):
    """Too little of the request's own time is left to call another service."""

    status_code = 504
    code = "out_of_time"
    sentence = "There was not enough time left to finish the answer. Try again."


class CallerGoneError(PipelineError):
    """The caller left before the answer was complete; nobody reads what it is told."""

    status_code = 499
    code = "caller_gone"
    sentence = "The request was given up by its caller."


class ConfigurationError(PipelineError):
    """The function is set up wrongly: a variable, a model id, a permission. Trying again does not help."""

    code = "not_set_up"
    sentence = "The service is not set up correctly. The operator finds the cause in the log."


def code_and_reason(error: BaseException) -> tuple[str, str]:
    """What the operator may read of any error: the message of one that is not ours may quote a document."""
    if isinstance(error, PipelineError):
        return error.code, str(error)
    return PipelineError.code, type(error).__name__


class SearchError(PipelineError):
    """The vector store refused a request. `http_status` and `error_type` are what it replied."""

    code = "search_refused"

    def __init__(self, sentence: str, http_status: int, error_type: str) -> None:
        super().__init__(sentence)
        self.http_status = http_status
        self.error_type = error_type
