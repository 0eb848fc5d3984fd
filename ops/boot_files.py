"""The scripts and files in a node's user data, those that components/node_archive.py packs among them. Pure."""

import base64
import bz2
import email
import json
import re
from email.message import Message

# components/user_data.py gives a node the archive as a here-document of lines in base 85.
ARCHIVE = re.compile(r"^platform_files\(\) \{\n.*?<<'([^'\n]+)'\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
SHELL = re.compile(r"#!.*\b(?:ba|da)?sh\b")


def packed_files(text: str) -> dict[str, str]:
    """The files that a user data text carries packed, by path; none is {}.

    `text` is a bash script or the MIME archive that AWS Batch takes, in either case after base64 is taken off.
    Raises ValueError for an archive that a node could not unpack either.
    """
    files: dict[str, str] = {}
    for script in scripts_in(text):
        for archive in ARCHIVE.finditer(script):
            try:
                packed = base64.b85decode("".join(archive[2].split()))
                files |= json.loads(bz2.decompress(packed))
            except (ValueError, OSError) as error:
                raise ValueError(
                    f"The archive of packed files in user data cannot be read: {error}"
                ) from error
    return files


def scripts_in(text: str) -> list[str]:
    """The shell scripts of a user data text (base64 taken off): itself, or the parts of one with several."""
    if SHELL.match(text):
        return [text]
    # Parsing takes long, and few texts are of several parts.
    if "multipart/" not in text:
        return []
    return [
        _body(part)
        for part in email.message_from_string(text).walk()
        if part.get_content_type() == "text/x-shellscript"
    ]


def shell_texts(text: str) -> dict[str, str]:
    """Every shell script of a user data text, by the path of a packed file, `user data` for what carries them."""
    scripts = scripts_in(text)
    carrying = {
        f"user data {number}" if number > 1 else "user data": item for number, item in enumerate(scripts, 1)
    }
    packed = packed_files(text)
    return carrying | {
        path: item for path, item in packed.items() if path.endswith(".sh") or SHELL.match(item)
    }


def _body(part: Message) -> str:
    """The text of a part: letters outside ASCII make it base64."""
    content = part.get_payload(decode=True)
    return content.decode() if isinstance(content, bytes) else str(content)
