"""Writes flow charts for mermaid: sorted, so that the same things give the same text. Pure.

The syntax: https://mermaid.js.org/syntax/flowchart.html
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# Words that mermaid keeps for itself; as the name of a node they break the chart.
_RESERVED = "call class classDef click default direction end flowchart graph href interpolate linkStyle style subgraph"
RESERVED = frozenset(_RESERVED.split())
# What mermaid reads inside of quotation marks: its entities, the end of the text, tags, Markdown, comments.
ENTITIES = {"#": "#35;", '"': "#quot;", "<": "#lt;", ">": "#gt;", "`": "#96;", "%": "#37;"}
DOTTED, BOTH_WAYS = "-.->", "<-->"
SHAPES = {"box": ("[", "]"), "round": ("([", "])"), "store": ("[(", ")]"), "outside": ("{{", "}}")}


@dataclass(frozen=True, order=True)
class Edge:
    """An arrow in one of mermaid's forms."""

    source: str
    target: str
    label: str = ""
    line: str = "-->"


@dataclass(kw_only=True)
class Group:
    """A frame with nodes and further frames in it."""

    label: str = ""
    nodes: dict[str, str] = field(default_factory=dict)
    groups: dict[str, "Group"] = field(default_factory=dict)

    def node(self, key: str, *lines: str, shape: str = "box") -> str:
        """Adds a node with these lines of text and returns its name in the chart."""
        begin, end = SHAPES[shape]
        self.nodes[name(key)] = f'{begin}"{"<br/>".join(escaped(line) for line in lines if line)}"{end}'
        return name(key)

    def group(self, key: str, label: str) -> "Group":
        """The frame of this name, made at first use."""
        return self.groups.setdefault(name(key), Group(label=label))

    def names(self) -> Iterator[str]:
        """The nodes in here, at any depth."""
        yield from self.nodes
        for inner in self.groups.values():
            yield from inner.names()


@dataclass(kw_only=True)
class Chart(Group):
    """A flow chart. `direction` is LR or TB."""

    direction: str = "LR"
    edges: set[Edge] = field(default_factory=set)

    def edge(self, source: str, target: str, label: str = "", *, line: str = "-->") -> None:
        """An arrow between two nodes or frames, given by key; `line` may be DOTTED or BOTH_WAYS."""
        self.edges.add(Edge(name(source), name(target), label, line))

    def render(self) -> str:
        """The chart as text, with a newline at its end; frames without anything in them are left out."""
        lines = [
            f"flowchart {self.direction}",
            *_inside(self, "  "),
            *(_arrow(edge) for edge in sorted(self.edges)),
        ]
        return "\n".join(lines) + "\n"


def name(key: str) -> str:
    """`key` as mermaid takes names: letters, digits and underscores."""
    plain = re.sub(r"\W", "_", key, flags=re.ASCII)
    return f"{plain}_" if plain in RESERVED else plain


def escaped(text: str) -> str:
    """`text` inside quotation marks."""
    return text.translate(str.maketrans(ENTITIES))


def _inside(group: Group, indent: str) -> Iterator[str]:
    for key, text in sorted(group.nodes.items()):
        yield f"{indent}{key}{text}"
    for key, inner in sorted(group.groups.items()):
        if any(inner.names()):
            yield f'{indent}subgraph {key}["{escaped(inner.label)}"]'
            yield from _inside(inner, indent + "  ")
            yield f"{indent}end"


def _arrow(edge: Edge) -> str:
    label = f'|"{escaped(edge.label)}"|' if edge.label else ""
    return f"  {edge.source} {edge.line}{label} {edge.target}"
