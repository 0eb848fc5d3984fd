"""Where the money goes, as an SVG: a bar for each component, its idle part dark. The same estimates give the same bytes."""

from collections.abc import Iterator, Sequence
from xml.sax.saxutils import escape

from ops.cost.report import Column

WIDTH, ROW, GAP, LEFT, RIGHT = 860, 20, 44, 150, 190
MOST_BARS = 8
IDLE, BUSY, TEXT = "#1f4e79", "#9dc3e6", "#333333"


def svg(columns: Sequence[Column]) -> str:
    """The picture of all columns, one panel below the other, at one scale."""
    panels = [(column, _bars(column)) for column in columns]
    longest = max((busy for _, bars in panels for _, _, busy in bars), default=0.0) or 1.0
    top, parts = GAP, []
    for column, bars in panels:
        parts += _panel(column, bars, top, longest)
        top += GAP + ROW * len(bars)
    return "\n".join([*_frame(top), *parts, "</svg>", ""])


def _frame(height: int) -> Iterator[str]:
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
        ' font-family="sans-serif" font-size="12" role="img">'
    )
    yield "<title>What each component costs in a month, idle and busy, USD</title>"
    yield f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>'
    for place, (colour, words) in enumerate(((IDLE, "idle"), (BUSY, "busy: above idle"))):
        left = WIDTH - RIGHT - 40 + place * 70
        yield f'<rect x="{left}" y="8" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{left + 17}" y="18" fill="{TEXT}">{words}</text>'


def _bars(column: Column) -> list[tuple[str, float, float]]:
    """Component, idle and busy USD; the dearest first, the rest in one."""
    sums = [(name, idle, busy) for name, (idle, busy) in column.estimate.by_component().items()]
    sums.sort(key=lambda item: (-item[2], item[0]))
    shown, rest = sums[: MOST_BARS - 1], sums[MOST_BARS - 1 :]
    if rest:
        shown.append(("the rest", sum(idle for _, idle, _ in rest), sum(busy for _, _, busy in rest)))
    return shown


def _panel(
    column: Column, bars: Sequence[tuple[str, float, float]], top: int, longest: float
) -> Iterator[str]:
    estimate = column.estimate
    least = "at least " if estimate.not_priced else ""
    title = f"{column.label}: {least}{estimate.idle_usd:,.2f} idle, {estimate.busy_usd:,.2f} busy"
    yield f'<text x="10" y="{top - 8}" font-weight="bold" fill="{TEXT}">{escape(title)}</text>'
    scale = (WIDTH - LEFT - RIGHT) / longest
    for number, (name, idle, busy) in enumerate(bars):
        y = top + number * ROW
        yield f'<text x="{LEFT - 8}" y="{y + 12}" text-anchor="end" fill="{TEXT}">{escape(name)}</text>'
        yield f'<rect x="{LEFT}" y="{y}" width="{busy * scale:.1f}" height="{ROW - 5}" fill="{BUSY}"/>'
        yield f'<rect x="{LEFT}" y="{y}" width="{idle * scale:.1f}" height="{ROW - 5}" fill="{IDLE}"/>'
        label = f"{idle:,.2f} / {busy:,.2f}"
        yield f'<text x="{LEFT + busy * scale + 6:.1f}" y="{y + 12}" fill="{TEXT}">{label}</text>'
