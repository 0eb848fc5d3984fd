"""Bytes to text, and text to what is worth indexing."""

import re
from codecs import BOM_UTF8, BOM_UTF16_BE, BOM_UTF16_LE
from unicodedata import normalize

from ingestion.errors import DocumentError
from rag.well_formed import well_formed

ENCODINGS = {BOM_UTF8: "utf-8-sig", BOM_UTF16_LE: "utf-16", BOM_UTF16_BE: "utf-16"}
UTF_8 = ("utf-8", "utf-8-sig")
SAMPLE_BYTES = 4096
OTHER_ENCODINGS = ("cp1252", "cp1250", "cp1251", "cp1253", "cp932", "euc_jp", "gb18030", "big5", "euc_kr")
# These two differ in a few letters only, of which the guess is often wrong; the guess of the language is not.
LATIN_ENCODINGS = ("cp1252", "cp1250")
CENTRAL_EUROPEAN = ("Croatian", "Czech", "Hungarian", "Polish", "Romanian", "Slovak", "Slovene")
# Control characters say nothing, but for those that end a line.
CONTROL = re.compile(r"[\0-\x08\x0b-\x1f\x7f]")
CONTROLS = dict.fromkeys((*range(0x09), *range(0x0E, 0x20), 0x7F), " ") | dict.fromkeys(
    (0x0B, 0x0C, 0x0D), "\n"
)
# More line ends; zero-width characters that neither join emoji nor shape letters; hyphens shown at a line's end only.
WIDE = dict.fromkeys("\x85\u2028\u2029", "\n") | dict.fromkeys("\u200b\u2060\ufeff\xad", "")


def decode(content: bytes) -> str:
    """The text of a file as `clean` makes it; raises `DocumentError` where the encoding cannot be told."""
    return clean(decode_as_it_is(content))


def decode_as_it_is(content: bytes) -> str:
    """The text of a file whose line ends and control characters mean something to its format.

    UTF-8 is tried first, UTF-16 is known by its byte order mark or its zeros, others are guessed.
    """
    encoding = next((name for mark, name in ENCODINGS.items() if content.startswith(mark)), None)
    encoding = encoding or _utf_16_by_zeros(content) or "utf-8"
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        text = _decode_surrogates(content) if encoding in UTF_8 else None
        return _decode_other(content, error.start) if text is None else text


def _decode_surrogates(content: bytes) -> str | None:
    """UTF-8 with surrogates in it, as programs write it that keep UTF-16 in memory; None for anything else.

    https://www.unicode.org/reports/tr26/ (CESU-8)
    """
    try:
        return well_formed(content.decode("utf-8-sig", "surrogatepass"))
    except UnicodeDecodeError:
        return None


def _utf_16_by_zeros(content: bytes) -> str | None:
    """Most texts in UTF-16 have a zero in every other byte, and no other text has so many."""
    first, second = content[:SAMPLE_BYTES:2], content[1:SAMPLE_BYTES:2]
    if 0 not in first + second:
        return None
    if second.count(0) * 2 > len(second):
        return None if first.count(0) else "utf-16-le"
    return "utf-16-be" if first.count(0) * 2 > len(first) and not second.count(0) else None


def _decode_other(content: bytes, position: int) -> str:
    """UTF-8 with damaged places, else text of before Unicode, its encoding guessed by the letters in sequence."""
    damaged = content.decode("utf-8", "replace")
    faults = damaged.count("\ufffd")
    if len(damaged) - len(damaged.encode("ascii", "ignore")) - faults > faults:
        return damaged
    if b"\0" not in content:
        # Only this rare case pays for the import.
        from charset_normalizer import from_bytes

        best = from_bytes(content, cp_isolation=list(OTHER_ENCODINGS)).best()
        if best and best.encoding in LATIN_ENCODINGS:
            central = best.language in CENTRAL_EUROPEAN
            return content.decode("cp1250" if central else "cp1252", "replace")
        if best:
            return str(best)
    raise DocumentError(f"it is no text in a known encoding (byte {position}); save it as UTF-8")


def clean(text: str) -> str:
    """The text in normal form C with `\\n` as line end, without control and zero-width characters.

    A lone surrogate becomes U+FFFD; the two halves of a pair become their character.
    """
    if CONTROL.search(text):
        text = text.replace("\r\n", "\n").translate(CONTROLS)
    if text.isascii():
        return text
    text = well_formed(text)
    for character, instead in WIDE.items():
        if character in text:
            text = text.replace(character, instead)
    return normalize("NFC", text)
