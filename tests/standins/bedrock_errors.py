"""An error as Bedrock's runtime answers it."""

from tests.standins.loopback import Reply, json_reply


class BedrockError(Exception):
    """`code` is the name of the exception in botocore's description of the service."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self._status = status
        self._code = code

    def reply(self) -> Reply:
        return json_reply({"message": str(self)}, self._status, {"x-amzn-errortype": self._code})


def invalid(message: str) -> BedrockError:
    return BedrockError(400, "ValidationException", message)
