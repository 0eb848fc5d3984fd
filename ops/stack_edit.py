"""Writes one mapping into a stack file and leaves every other byte, comments included, as it was."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml


class StackEditError(Exception):
    """The file has a shape that this careful edit does not cover; the message says what to write by hand."""


def with_mapping(text: str, key: str, entries: Mapping[str, str]) -> str:
    """`text` of a stack file with `entries` set in the mapping `key` of its configuration.

    `key` carries its namespace; the file may leave it out. What else the mapping holds stays. Reading the result
    back proves the edit; StackEditError is raised where it went wrong.
    """
    edited = _edited(text, key, entries)
    expected = yaml.safe_load(text) or {}
    config = dict(expected.get("config") or {})
    name = key if key in config or _bare(key) not in config else _bare(key)
    config[name] = {**(config.get(name) or {}), **entries}
    try:
        proven = yaml.safe_load(edited) == {**expected, "config": config}
    except yaml.YAMLError:
        proven = False
    if not proven:
        wanted = ", ".join(f"{name}: {value}" for name, value in entries.items())
        raise StackEditError(f"The file could not be edited safely. Write by hand: {key}: {{{wanted}}}.")
    return edited


def _edited(text: str, key: str, entries: Mapping[str, str]) -> str:
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    config = _value(root, "config")
    if not isinstance(config, yaml.MappingNode):
        return _with_config_section(text, config, f"{key}: {_flow(entries)}")
    node = _value(config, key, _bare(key))
    if node is None:
        return _with_new_entry(text, config, f"{key}: {_flow(entries)}")
    if not isinstance(node, yaml.MappingNode) or not node.value:
        # A key without a value ends at its colon.
        space = " " if node.start_mark.index == node.end_mark.index else ""
        return _replaced(text, node, space + _flow(entries))
    for name, value in entries.items():
        # The nodes tell places in the text as it is, so each entry is set in the text before it is read anew.
        text = _with_entry(text, key, name, value)
    return text


def _with_entry(text: str, key: str, name: str, value: str) -> str:
    node = _value(_value(yaml.compose(text, Loader=yaml.SafeLoader), "config"), key, _bare(key))
    old = _value(node, name)
    return _with_new_entry(text, node, f"{name}: {value}") if old is None else _replaced(text, old, value)


def _with_config_section(text: str, config: Any, entry: str) -> str:
    """The file has no `config`, or an empty one."""
    if config is None:
        return f"{_ended(text)}config:{_newline(text)}  {entry}{_newline(text)}"
    return _replaced(text, config, f"{_newline(text)}  {entry}")


def _with_new_entry(text: str, mapping: Any, entry: str) -> str:
    """`entry` after the last one of `mapping`, in the mapping's own style."""
    end = _last_index(mapping)
    if mapping.flow_style:
        return (
            f"{text[:end]}, {entry}{text[end:]}"
            if mapping.value
            else _replaced(text, mapping, f"{{{entry}}}")
        )
    line_end = text.find("\n", end)
    # A block of text ends where the next line begins.
    place = end if text[end - 1] == "\n" else len(text) if line_end < 0 else line_end + 1
    indent = " " * mapping.start_mark.column
    return f"{_ended(text[:place])}{indent}{entry}{_newline(text)}{text[place:]}"


def _last_index(node: Any) -> int:
    """Where the text of `node` ends; a block mapping or list claims the comments below it, its last value does not."""
    if isinstance(node, yaml.CollectionNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return _last_index(last[1] if isinstance(last, tuple) else last)
    if isinstance(node, yaml.MappingNode) and node.flow_style and node.value:
        return node.value[-1][1].end_mark.index
    return node.end_mark.index


def _replaced(text: str, node: Any, value: str) -> str:
    return text[: node.start_mark.index] + value + text[node.end_mark.index :]


def _value(mapping: Any, *names: str) -> Any:
    """The node under the first of `names` that a mapping has, or None."""
    found = dict(_items(mapping))
    return next((found[name] for name in names if name in found), None)


def _items(mapping: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(mapping, yaml.MappingNode):
        yield from ((key.value, value) for key, value in mapping.value)


def _bare(key: str) -> str:
    return key.split(":", 1)[1]


def _flow(entries: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{name}: {value}" for name, value in entries.items()) + "}"


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + _newline(text)
