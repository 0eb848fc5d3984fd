"""The picture of the components after a change, with what is new in it marked. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

NODE = re.compile(r"^\s+(?:subgraph )?(\w+)(?=[\[({])")
ARROW = re.compile(r"^\s+(\w+) (?:-->|-\.->|<-->)")
# GitHub shows pictures on white and on black: a coloured border is seen on both.
STYLES = {
    "added": "stroke:#1a7f37,stroke-width:3px",
    "changed": "stroke:#bf8700,stroke-width:3px",
}


@dataclass(frozen=True, kw_only=True)
class Picture:
    """`chart` is the new picture with its marks; `gone` and `new` are the lines that only one of the two has."""

    chart: str
    new: tuple[str, ...]
    gone: tuple[str, ...]


def picture(base: str, head: str) -> Picture | None:
    """What has changed between two charts for mermaid; None when they are the same."""
    if base == head:
        return None
    before, after = base.splitlines(), head.splitlines()
    return Picture(
        chart=head + "".join(f"  {line}\n" for line in _marks(before, after)),
        new=tuple(line.strip() for line in after if line not in before),
        gone=tuple(line.strip() for line in before if line not in after),
    )


def _marks(before: list[str], after: list[str]) -> Iterator[str]:
    known = set(_nodes(before))
    marked: dict[str, list[str]] = {"added": [], "changed": []}
    for name, line in _nodes(after).items():
        if line not in before:
            marked["changed" if name in known else "added"].append(name)
    for kind, names in marked.items():
        if names:
            yield f"classDef {kind} {STYLES[kind]}"
            yield f"class {','.join(names)} {kind}"
    arrows = [line for line in after if ARROW.match(line)]
    fresh = [str(number) for number, line in enumerate(arrows) if line not in before]
    if fresh:
        yield f"linkStyle {','.join(fresh)} {STYLES['added']}"


def _nodes(lines: list[str]) -> dict[str, str]:
    """The line of each node and frame by its name."""
    return {found[1]: line for line in lines if (found := NODE.match(line))}
