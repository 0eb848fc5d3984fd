"""Mixed documents made by a seed: English prose, Markdown, Chinese and Japanese, source code, lines without end."""

from collections.abc import Callable
from random import Random

TEXT = """
the of a to and in that is for on with as by it at from this be are was have not which their an or has its more system
cluster training instance storage network gradient checkpoint latency throughput region account policy we measured
between different nodes while every second request waited longer than expected during replication because nobody had
noticed before how quickly memory fills when large tensors move through shared file systems
"""
WORDS = TEXT.split()
HAN = "的一是不了人我在有他这中大来上国个到说们为子和你地出道也时年得就那要下以生会自着去之过家学对可里后小么心多天而能好都然没日于起还发成事只作当想看文无开手十用主行方又如前所本见经头面公同三已老从动两长"
KANA = (
    "これはそのためにできるものですからまたはいくつかの方法であるデータセンターネットワークストレージモデル"
)
NAMES = ("load", "batch", "tensor", "path", "count", "client", "reply", "buffer", "offset", "worker")


def sentence(random: Random) -> str:
    words = random.choices(WORDS, k=random.randint(6, 28))
    if random.random() < 0.05:
        words[len(words) // 2] = random.choice(("café", "naïve", "Zürich", "“quoted”", "🙂"))
    return " ".join(words).capitalize() + random.choice((".", ".", ".", "?", "!"))


def paragraph(random: Random) -> str:
    return " ".join(sentence(random) for _ in range(random.randint(2, 9)))


def prose(random: Random) -> str:
    return paragraph(random) + "\n\n"


def markdown(random: Random) -> str:
    parts = [f"{'#' * random.randint(1, 4)} {sentence(random)[:40]}\n", paragraph(random)]
    if random.random() < 0.5:
        parts.append("\n".join(f"- {sentence(random)}" for _ in range(random.randint(3, 9))))
    if random.random() < 0.3:
        rows = [
            f"| {random.choice(WORDS)} | {random.randint(1, 9999)} | {sentence(random)} |" for _ in range(12)
        ]
        parts.append("\n".join(["| name | count | remark |", "|---|---|---|", *rows]))
    if random.random() < 0.3:
        parts.append(f"```python\n{code(random).rstrip()}\n```")
    return "\n\n".join(parts) + "\n\n"


def chinese_and_japanese(random: Random) -> str:
    letters = random.choice((HAN, KANA))
    sentences = (
        "".join(random.choices(letters, k=random.randint(8, 60))) + "。" for _ in range(random.randint(3, 30))
    )
    return "".join(sentences) + "\n\n"


def code(random: Random) -> str:
    name = "_".join(random.choices(NAMES, k=3))
    lines = [
        f"    {random.choice(NAMES)} = {random.choice(NAMES)}({random.randint(0, 999)}, {name!r})"
        for _ in range(random.randint(3, 20))
    ]
    return "\n".join(
        [
            f"def {name}({random.choice(NAMES)}: int) -> int:",
            *lines,
            f"    return {random.choice(NAMES)}\n\n\n",
        ]
    )


def long_line(random: Random) -> str:
    """Thousands of characters without a line end; some without any blank, as minified scripts are."""
    blank = random.choice((" ", ";"))
    return blank.join(random.choices(WORDS, k=random.randint(500, 5000))) + "\n"


KINDS: dict[str, Callable[[Random], str]] = {
    "prose": prose,
    "Markdown": markdown,
    "Chinese, Japanese": chinese_and_japanese,
    "code": code,
    "long lines": long_line,
}


def mixed_documents(size_bytes: int, document_bytes: int = 200_000) -> list[bytes]:
    """Documents of each kind in turn, each kind with the same share of bytes, together about `size_bytes`."""
    random = Random(20)
    documents, kinds = [], list(KINDS.values())
    for number in range(size_bytes // document_bytes):
        kind, parts, size = kinds[number % len(kinds)], [], 0
        while size < document_bytes:
            parts.append(kind(random).encode())
            size += len(parts[-1])
        documents.append(b"".join(parts))
    return documents
