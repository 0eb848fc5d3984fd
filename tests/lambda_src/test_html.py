"""Web pages: main text, all text where there is none, encodings, odd markup."""

import pytest

from ingestion import html
from ingestion.extraction import read
from rag.chunking import Block

SENTENCES = "".join(
    f"<p>Paragraph {number} tells the reader something of its own, number {number * 7}."
    for number in range(9)
)
ARTICLE = (
    "<!doctype html><html><head><title>The site &amp; its page</title><style>p {color: red}</style></head><body>"
    f"<nav><ul>{'<li><a href=/a>Menu entry</a>' * 20}</ul></nav><article><h2>Section</h2>{SENTENCES}"
    "<ul><li>one<ul><li>inner</ul></ul><table><tr><th>name<th>count<tr><td>a<td>1</table>"
    "<pre><code>def f():\n    return 1</code></pre></article>"
    "<footer>Imprint and cookies</footer><script>track()</script></body></html>"
)


def test_the_main_text_has_its_structure_and_no_menu() -> None:
    blocks = read(".html", ARTICLE.encode())
    assert blocks[:2] == [Block("The site & its page", "heading", 1), Block("Section", "heading", 2)]
    assert Block("- one\n- inner") in blocks
    assert [block.text for block in blocks if block.kind == "row"] == ["name | count", "a | 1"]
    assert Block("def f():\n    return 1", "code") in blocks
    assert sum(block.text.startswith("Paragraph") for block in blocks) == 9
    everything = " ".join(block.text for block in blocks)
    assert not any(word in everything for word in ("Menu", "Imprint", "track", "color"))


def test_minified_markup_is_the_same_page() -> None:
    assert read(".html", ARTICLE.replace("> <", "><").encode())[2:] == read(".html", ARTICLE.encode())[2:]


def test_a_page_without_main_text_is_read_whole() -> None:
    page = (
        "<title>T</title><script>no()</script><h1>Opening hours</h1><div>Monday<br>Tuesday</div>"
        "<table><tr><td><p>9</p></td><td>17</td></tr></table><pre>a\n  b</pre><noscript>no</noscript>end"
    )
    assert read(".html", page.encode()) == [
        Block("Opening hours", "heading", 1),
        Block("Monday"),
        Block("Tuesday"),
        Block("9 17", "row"),
        Block("a\n  b", "code"),
        Block("end"),
    ]


def test_text_deeper_than_the_parser_goes_is_not_lost() -> None:
    page = "<h1>Top</h1>" + "<div>" * 5000 + "deep" + "</div>" * 5000 + "<p>after"
    assert [block.text for block in read(".html", page.encode())] == ["Top", "deep", "after"]


def test_conditions_for_old_browsers_show_nothing_and_hide_nothing() -> None:
    page = "<p>one</p><![if !IE]><p>two</p><![endif]><![CDATA[three]]><![ <p>four"
    assert [block.text for block in read(".html", page.encode())] == ["one", "two", "four"]


def test_a_page_too_large_to_be_judged_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(html, "MAX_ELEMENTS", 10)
    assert "Imprint and cookies" in [block.text for block in read(".html", ARTICLE.encode())]


def test_a_page_that_the_library_fails_on_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("trafilatura.bare_extraction", fail)
    assert "Imprint and cookies" in [block.text for block in read(".html", ARTICLE.encode())]


@pytest.mark.parametrize(
    ("head", "encoding"),
    [
        ("", "utf-8"),
        ("", "utf-8-sig"),
        ("", "utf-16"),
        ('<meta charset="iso-8859-1">', "iso-8859-1"),
        ("<meta http-equiv=Content-Type content='text/html; charset=windows-1251'>", "cp1251"),
        ('<meta charset="utf-8">', "cp1252"),
        ('<meta charset="no-such-thing">', "cp1252"),
    ],
)
def test_a_page_is_read_in_the_encoding_that_it_has(head: str, encoding: str) -> None:
    text = (
        "Все люди рождаются свободными" if encoding == "cp1251" else "Die Straße ist für Fußgänger geöffnet"
    )
    assert read(".html", f"{head}<p>{text}".encode(encoding)) == [Block(text)]


@pytest.mark.parametrize("page", ["<script>x</script>", "<!-- nothing -->", "<p>&#8203;&nbsp;</p>"])
def test_a_page_that_shows_nothing_is_an_empty_document(page: str) -> None:
    assert read(".html", page.encode()) == []


def test_a_character_written_as_a_number_is_cleaned_too() -> None:
    assert read(".html", b"<p>a&#0;b&#x200b;c&#xD800;d&#1;") == [Block("a\ufffdbc\ufffdd")]
