"""What can go wrong before the pipeline is asked, and when the server stops."""

from rag.errors import PipelineError, UnavailableError


class UnauthorizedError(PipelineError):
    """The request carries no bearer token, or another one than ours."""

    status_code = 401
    code = "unauthorized"
    sentence = "Send the header Authorization: Bearer <token> with the token of this service."


class NotFoundError(PipelineError):
    """No such path."""

    status_code = 404
    code = "not_found"
    sentence = "There is nothing at this path."


class MethodNotAllowedError(PipelineError):
    """The path takes another method."""

    status_code = 405
    code = "method_not_allowed"
    sentence = "This path takes another method; the header Allow names it."


class SlowBodyError(PipelineError):
    """The body did not arrive in the time that is given to it."""

    status_code = 408
    code = "body_too_slow"
    sentence = "The request body did not arrive in time."


class BusyError(UnavailableError):
    """As many questions as this server takes at once are being answered."""

    code = "busy"
    sentence = "The service answers as many questions as it can at the moment. Try again in a second."


class ShuttingDownError(UnavailableError):
    """The server is about to stop."""

    code = "shutting_down"
    sentence = "This server is being replaced. Send the request again."


HTTP_ERRORS: dict[int, type[PipelineError]] = {404: NotFoundError, 405: MethodNotAllowedError}
