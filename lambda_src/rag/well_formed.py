"""Text that every encoder takes."""


def well_formed(text: str) -> str:
    """`text` with U+FFFD in place of each lone surrogate: JSON can carry one as an escape, UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
