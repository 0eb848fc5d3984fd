"""Plain text and Markdown: encodings, characters that show nothing, structure."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingestion.errors import DocumentError
from ingestion.extraction import extract
from ingestion.markdown import markdown_blocks
from ingestion.text import clean, decode
from rag.chunking import Block


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252"])
def test_a_text_is_read_in_each_encoding_that_editors_save(encoding: str) -> None:
    text = "Die Straße nach Köln ist gesperrt, heißt es. Früher war das üblich, sagen Ältere."
    if encoding == "utf-16-be":
        assert extract("raw/a.txt", "\ufeff".encode(encoding) + text.encode(encoding)) == [Block(text)]
    assert extract("raw/a.txt", text.encode(encoding)) == [Block(text)]


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (
            "Les élèves français étudient près de la forêt où règne le silence. Être prêt, c'est déjà gagner.",
            "cp1252",
        ),
        (
            "Många människor älskar att åka båt på sjön när det är sommar och höga träd växer vid ån.",
            "cp1252",
        ),
        ("Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Łódź.", "cp1250"),
        ("Все люди рождаются свободными и равными в своем достоинстве и правах.", "cp1251"),
        ("すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。", "cp932"),
        ("人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心。", "gb18030"),
    ],
)
def test_the_encoding_of_an_old_text_is_found_out(text: str, encoding: str) -> None:
    assert decode(text.encode(encoding)) == text


def test_a_damaged_place_does_not_cost_the_rest_of_a_text_its_letters() -> None:
    content = "Größe und Länge".encode()
    assert decode(content[:-2] + b"\xff" + content[-2:]) == "Größe und Län\ufffdge"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"lonely \xed\xa0\x80 half", "lonely \ufffd half"),
        (b"pair \xed\xa0\xbd\xed\xb8\x80", "pair 😀"),
        ("é ".encode() + b"\xed\xa0\x80", "é \ufffd"),
        ("\ufeffé ".encode() + b"\xed\xa0\xbd\xed\xb8\x80", "é 😀"),
    ],
)
def test_surrogates_that_a_program_wrote_as_utf_8_cost_the_rest_of_a_text_nothing(
    content: bytes, expected: str
) -> None:
    assert decode(content) == expected


@pytest.mark.parametrize(
    "content", [bytes(range(256)) * 4, b"\xff\x00\xfe\x01" * 50, b"\xff\xfe\x00\xd8", b"a\0b"]
)
def test_bytes_that_are_no_text_are_refused_with_the_remedy(content: bytes) -> None:
    with pytest.raises(DocumentError, match="raw/a.txt cannot be indexed: it is no text in a known encoding"):
        extract("raw/a.txt", content)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\rc\x0bd\x0ce\x85f\u2028g", "a\nb\nc\nd\ne\nf\ng"),
        ("a\0b\x1bc", "a b c"),
        ("zero\u200bwidth\ufeff\u2060 soft\xadhyphen", "zerowidth softhyphen"),
        ("👩\u200d🔬 می\u200cخواهم", "👩\u200d🔬 می\u200cخواهم"),
        ("lone \ud800 surrogate", "lone \ufffd surrogate"),
        ("pair \ud83d\ude00", "pair 😀"),
        ("e\u0301", "é"),
    ],
)
def test_characters_that_say_nothing_become_harmless(raw: str, expected: str) -> None:
    assert clean(raw) == expected


@given(st.text(st.characters(exclude_categories=())))
def test_clean_text_can_be_encoded_and_stays_as_it_is(text: str) -> None:
    once = clean(text)
    once.encode()
    assert clean(once) == once


def test_a_text_of_characters_that_show_nothing_is_an_empty_document() -> None:
    assert extract("raw/a.txt", " \n\u200b\n\u200d\ufe0f\n\u3164\n".encode()) == []


def test_a_plain_text_is_parted_at_blank_lines_and_marks_mean_nothing_in_it() -> None:
    text = "# one\nline\n \t\n\n\ntwo\n"
    assert extract("raw/a.txt", text.encode()) == [Block("# one\nline"), Block("two")]


MARKDOWN = """---
title: front matter
---
# Title
Text without a blank line.
## Sub ##
Para #1
with two lines
Setext
======
Other
-----

| a | b |
|---|---|
| 1 | 2 |

```python
# no heading

| no table |
```
~~~~
```
~~~
~~~~
#hashtag

---

- item
- item
"""


def test_markdown_has_headings_of_both_styles_tables_code_and_front_matter() -> None:
    assert markdown_blocks(MARKDOWN) == [
        Block("---\ntitle: front matter\n---", "code"),
        Block("Title", "heading", 1),
        Block("Text without a blank line."),
        Block("Sub", "heading", 2),
        Block("Para #1\nwith two lines\nSetext", "heading", 1),
        Block("Other", "heading", 2),
        Block("| a | b |", "row"),
        Block("|---|---|", "row"),
        Block("| 1 | 2 |", "row"),
        Block("```python\n# no heading\n\n| no table |\n```", "code"),
        Block("~~~~\n```\n~~~\n~~~~", "code"),
        Block("#hashtag"),
        Block("---"),
        Block("- item\n- item"),
    ]


@pytest.mark.parametrize("rest", ["", "\n", "\n\ntext"])
def test_front_matter_ends_at_its_line(rest: str) -> None:
    assert markdown_blocks(f"---\na: b\n---{rest}")[0] == Block("---\na: b\n---", "code")
    assert len(markdown_blocks(f"---\na: b\n---{rest}")) == 1 + rest.count("text")


@pytest.mark.parametrize("text", ["```\ncode\n\n# still code", "text\n```"])
def test_code_that_is_never_closed_goes_to_the_end(text: str) -> None:
    assert markdown_blocks(text)[-1].kind == "code"


@pytest.mark.parametrize("text", ["a ``` b\n\nc", "    ```\n    indented"])
def test_three_backticks_inside_of_a_line_open_no_code(text: str) -> None:
    assert all(block.kind == "paragraph" for block in markdown_blocks(text))


@given(st.text(st.sampled_from("a #`~|-=\n\t"), max_size=80))
def test_every_letter_of_a_markdown_text_is_in_its_blocks(text: str) -> None:
    blocks = markdown_blocks(text)
    assert "".join(block.text for block in blocks).count("a") == text.count("a"), "a part of the text is lost"
