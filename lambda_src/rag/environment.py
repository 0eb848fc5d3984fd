"""Reads environment variables and reports everything that is wrong with them at once."""

from collections.abc import Mapping
from math import nan
from urllib.parse import urlsplit

from rag.errors import ConfigurationError


class Environment:
    """Typed access to `environ`. A fault is noted and a placeholder returned; `finish` raises with all."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._faults: list[str] = []

    def fault(self, sentence: str) -> None:
        """Note a fault that the caller found, such as two variables that do not fit each other."""
        self._faults.append(sentence)

    def optional(self, name: str) -> str:
        """The value without surrounding blanks, or an empty string when it is not set."""
        return self._environ.get(name, "").strip()

    def text(self, name: str) -> str:
        """A value that must not be empty."""
        value = self.optional(name)
        if not value:
            self.fault(f"{name} is not set")
        return value

    def secret(self, name: str) -> str:
        """A value that must not be empty, that fits into a header, and that no fault shows."""
        value = self.text(name)
        if not value.isprintable() or " " in value:
            self.fault(f"{name} holds blanks or control characters, it must be one word on one line")
        return value

    def choice(self, name: str, *allowed: str) -> str:
        """One of `allowed`."""
        value = self.text(name)
        if value and value not in allowed:
            self.fault(f"{name} is {value!r}, it must be {' or '.join(allowed)}")
        return value

    def integer(self, name: str, lowest: int, highest: int) -> int:
        """A whole number between `lowest` and `highest`, both included."""
        value = self.text(name)
        if not value:
            return lowest
        if value.isascii() and value.isdigit() and len(value) < 10 and lowest <= int(value) <= highest:
            return int(value)
        self.fault(f"{name} is {value!r}, it must be a whole number from {lowest} to {highest}")
        return lowest

    def integer_choice(self, name: str, *allowed: int) -> int:
        """One of the whole numbers in `allowed`."""
        value = self.choice(name, *map(str, allowed))
        return int(value) if value in map(str, allowed) else allowed[0]

    def optional_number(self, name: str, lowest: float, highest: float) -> float | None:
        """A number between `lowest` and `highest`, both included; None when it is not set."""
        value = self.optional(name)
        if not value:
            return None
        try:
            number = float(value)
        except ValueError:
            number = nan
        if lowest <= number <= highest:
            return number
        self.fault(f"{name} is {value!r}, it must be a number from {lowest} to {highest}")
        return None

    def url(self, name: str, *schemes: str, loopback: tuple[str, ...] = ()) -> str:
        """An address of one of `schemes` with a host, without the slash at its end.

        An address on the loopback interface may also have one of the schemes in `loopback`.
        """
        value = self.text(name)
        if value and not _is_url(value, schemes) and not (_is_url(value, loopback) and _is_loopback(value)):
            self.fault(
                f"{name} {_shown(value)}, it must look like {' or '.join(schemes)}://host, without query and fragment"
            )
        return value.rstrip("/")

    def finish(self) -> None:
        """Raise `ConfigurationError` naming every fault; do nothing when there is none."""
        if self._faults:
            raise ConfigurationError("The environment is not usable: " + "; ".join(self._faults) + ".")


def _is_url(value: str, schemes: tuple[str, ...]) -> bool:
    try:
        parts = urlsplit(value)
    except ValueError:
        return False
    return parts.scheme in schemes and bool(parts.hostname) and not parts.query and not parts.fragment


def _shown(value: str) -> str:
    """What may be shown of an address: the rest can hold a password or a key."""
    try:
        parts = urlsplit(value)
    except ValueError:
        return "is no address"
    return f"is '{parts.scheme}://{parts.hostname}...'" if parts.hostname else "is no address"


def _is_loopback(value: str) -> bool:
    return urlsplit(value).hostname in ("127.0.0.1", "::1", "localhost")
