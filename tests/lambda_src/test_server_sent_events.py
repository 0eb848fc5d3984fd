"""Server-sent events as they arrive, in whatever pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag.server_sent_events import MAX_EVENT_BYTES, event_data


def complete(parts: list[bytes]) -> list[bytes]:
    return [item for item in event_data(parts) if item]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_events_are_read_with_both_kinds_of_line_end(end: bytes) -> None:
    lines = [
        b": hello",
        b"",
        b"event: x",
        b"id: 1",
        b"data: a",
        b"data:b",
        b"",
        b"data",
        b"data:  c",
        b"",
        b"",
    ]
    assert complete([end.join(lines)]) == [b"a\nb", b" c"]


def test_an_event_that_is_not_complete_is_left_out() -> None:
    assert complete([b"data: a\n\ndata: b\n"]) == [b"a"]


def test_an_empty_item_follows_each_part_so_that_its_reader_can_look_up() -> None:
    parts = [b": hello\n\n", b"data: a\n\ndata: b\n\n", b"data: c", b"\n\n"]
    assert list(event_data(parts)) == [b"", b"a", b"b", b"", b"", b"c", b""], (
        "a stream of comments would hold its reader for ever"
    )


@pytest.mark.parametrize("endless", [[b"x" * 1_000_000] * 6, [b"data: x\n" * 100_000] * 60])
def test_an_endless_event_is_refused(endless: list[bytes]) -> None:
    with pytest.raises(ValueError, match="too long"):
        list(event_data(endless))
    assert sum(map(len, endless)) > MAX_EVENT_BYTES


@given(
    st.lists(
        st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), min_size=1), max_size=5
    ),
    st.sampled_from(["\n", "\r\n"]),
    st.data(),
)
def test_it_does_not_matter_where_the_stream_is_cut(texts: list[str], end: str, data: st.DataObject) -> None:
    stream = "".join(f"data: {text}{end}{end}" for text in texts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))
    parts = [stream[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert [one.decode() for one in complete(parts)] == texts
