"""docs/compute.md, which every new price changes."""

from ops.advise import compute_page


def test_the_page_is_made_from_the_program() -> None:
    page = compute_page.PAGE.read_text(encoding="utf-8")
    assert page == compute_page.render(), "run `python -m ops.advise.compute_page`"
