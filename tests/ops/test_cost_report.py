"""`ops cost`: what a reader is told, what is refused, the chart, and the page."""

import json
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from ops import preview
from ops.capture.recording import Recording
from ops.cost import command, page
from ops.cost.chart import MOST_BARS, svg
from ops.cost.command import all_columns
from ops.cost.estimate import Estimate, estimate
from ops.cost.free import FREE
from ops.cost.prices import Prices, read_table
from ops.cost.report import DESIGN_TARGETS, Column, document, rows, text, unpriced, verdicts
from ops.cost.screen import screen
from ops.cost.usage import Usage, UsageError, changed, meanings, read
from tests.ops.cost_world import DAY, PRICES, REGION, estimated, resource, service_price

TODAY = date(2026, 12, 2)
KEY, BUCKET = "aws:kms/key:Key", "aws:s3/bucket:Bucket"


@pytest.fixture(scope="module")
def columns() -> list[Column]:
    return all_columns(Usage())


def small() -> list[Column]:
    lake = resource("aiplatform:index:Lake", "lake")
    key = resource(KEY, "key", parent="lake")
    return [
        Column("one", estimated(lake, key)),
        Column("two", estimated(lake, key, resource(BUCKET, "bucket", parent="lake"))),
    ]


class TestReport:
    def test_all_stacks_stand_side_by_side_the_cheapest_first(self, columns: list[Column]) -> None:
        assert [column.label for column in columns] == ["dev, asleep", "dev", "staging", "prod"]
        floors = [column.estimate.idle_usd for column in columns]
        assert floors == sorted(floors)

    def test_the_dev_stack_costs_no_more_than_it_is_designed_for(self, columns: list[Column]) -> None:
        floors = {column.label: column.estimate.idle_usd for column in columns}
        for label, most in DESIGN_TARGETS.items():
            assert floors[label] <= most, f"{label} is no longer cheap: {floors[label]:.2f} USD a month"
        assert all(verdict.count(": met (") == 1 for verdict in verdicts(columns))

    def test_a_floor_above_its_target_is_told_with_where_it_goes(self) -> None:
        dear = estimated(*(resource("aws:ec2/natGateway:NatGateway", name) for name in "ab"))
        (told,) = verdicts([Column("dev", dear)])
        assert "at most 50: missed (VPC NAT gateway" in told

    def test_a_line_of_several_stacks_is_one_row_and_a_missing_one_is_no_zero(self) -> None:
        made = {(row.resource, row.what): row.sums for row in rows(small())}
        assert made["bucket", "S3 STANDARD"][0] is None
        assert made["key", "KMS key"][0] == made["key", "KMS key"][1]

    def test_every_line_has_price_unit_source_and_date(self, columns: list[Column]) -> None:
        told = "\n".join(text(columns, Usage(), ""))
        for column in columns:
            for line in column.estimate.lines:
                assert line.resource in told and line.source in told and str(line.read_on) in told
                assert f" / {line.unit}" in told

    def test_a_price_of_another_region_has_a_star(self) -> None:
        (column, _) = small()
        assert "*" not in "\n".join(text([column], Usage(), ""))
        elsewhere = {("KMS", "key", "us-east-1"): service_price("KMS", "key", 1.5, "us-east-1")}
        found = estimated(resource(KEY), prices=Prices(services=elsewhere))
        told = "\n".join(text([Column("real", found)], Usage(), ""))
        assert "1.5 / unit*" in told and "no price of the stack's region is known" in told

    def test_a_star_is_for_the_stacks_that_have_the_row(self) -> None:
        table = {("KMS", "key", "us-east-1"): service_price("KMS", "key", 1.5, "us-east-1")}
        here = estimated(resource(KEY), prices=Prices(services=table))
        there = replace(here, region="us-east-1")
        empty = estimated()

        def stars(*found: Estimate) -> list[bool]:
            return [
                row.is_starred
                for row in rows([Column(str(number), item) for number, item in enumerate(found)])
            ]

        assert stars(here) == [True] and stars(there) == [False]
        assert stars(empty, there) == [False], "the first stack is elsewhere, and has no such thing"
        assert stars(there, here) == [True], "it is not the price of the second"

    def test_what_has_no_price_is_told_with_its_stacks(self) -> None:
        database = resource("aws:rds/instance:Instance", "database")
        found = [Column("one", estimated(database)), Column("two", estimated(database))]
        line = "database (one; two): no meter for the type aws:rds/instance:Instance"
        assert unpriced(found) == [line]
        assert f"Not priced\n  {line}" in "\n".join(text(found, Usage(), ""))

    def test_the_usage_is_stated(self) -> None:
        told = "\n".join(text(small(), Usage(lake_reads=1_000_000), ""))
        assert "lake_reads = 1,000,000: objects read from the lake" in told

    def test_the_json_adds_up_to_the_estimate(self, columns: list[Column]) -> None:
        made = document(columns, Usage(), "")
        for entry, column in zip(made["columns"], columns, strict=True):
            assert round(sum(line["idle_usd"] for line in entry["lines"]), 2) == round(column.estimate.idle_usd, 2)  # fmt: skip
            assert round(sum(part["busy_usd"] for part in entry["components"].values()), 2) == round(column.estimate.busy_usd, 2)  # fmt: skip

    @pytest.mark.parametrize(
        ("kept", "verdict"),
        [
            (
                [KEY],
                "at least 0.00 USD a month, designed for at most 50: not known (no price of what it keeps)",
            ),
            ([KEY, "aws:ec2/natGateway:NatGateway"], "designed for at most 50: missed (VPC NAT gateway"),
        ],
    )
    def test_sums_that_lack_a_price_say_so_everywhere(self, kept: list[str], verdict: str) -> None:
        table = {key: price for key, price in PRICES.services.items() if key[0] != "KMS"}
        found = estimated(*(resource(kind, kind) for kind in kept), prices=replace(PRICES, services=table))
        column = Column("dev", found)
        least, floor = verdicts([column])
        assert least.startswith("dev: at least ") and least.endswith("(1 not priced).")
        assert verdict in floor, "what nobody can price would pass for nothing"
        for lines in (text([column], Usage(), ""), screen([column], Usage(), "", 100, lines=False)):
            assert any(line.startswith("sum, at least ") for line in lines)
        (entry,) = document([column], Usage(), "")["columns"]
        assert entry["not_priced"] == 1 and entry["sums_are_least"] is True
        assert "dev: at least " in svg([column]) and "**sum, at least**" in page.render([column], Usage())

    @pytest.mark.parametrize("width", [60, 80, 100, 300])
    @pytest.mark.parametrize("lines", [False, True])
    def test_a_terminal_is_never_too_narrow(self, columns: list[Column], width: int, lines: bool) -> None:
        for shown in (columns, columns[1:2]):
            told = list(screen(shown, Usage(), "a warning", width, lines=lines))
            if width >= 80:
                assert max(map(len, told)) <= width, "the terminal would break the table"
            sums = [line.split() for line in told if line.startswith("sum")]
            figures = [cell for line in sums for cell in line[1:]]
            assert figures == [
                f"{usd:,.2f}"
                for column in shown
                for usd in (column.estimate.idle_usd, column.estimate.busy_usd)
            ], "a column is lost"
            assert list(screen(shown, Usage(), "a warning", 1, lines=lines)), "a window may have any size"


class TestUsage:
    def test_numbers_are_changed_by_name(self) -> None:
        assert changed(Usage(), ["documents=5", "lake_gb = 1e3"]) == Usage(documents=5, lake_gb=1000)

    @pytest.mark.parametrize(
        ("setting", "words"),
        [
            ("documents", "sets nothing. Fix: write NAME=NUMBER"),
            ("document=5", "The usage has no document. Fix: use one of alarm_emails,"),
            ("documents=many", "documents = many: is no number of a month"),
            ("documents=-1", "documents = -1.0: is no number of a month"),
            ("documents=nan", "is no number of a month"),
            ("documents=inf", "is no number of a month"),
        ],
    )
    def test_what_is_no_number_is_refused(self, setting: str, words: str) -> None:
        with pytest.raises(UsageError, match=words.replace(".", r"\.")):
            changed(Usage(), [setting])

    def test_a_file_gives_several_and_the_rest_stays(self, tmp_path: Path) -> None:
        path = tmp_path / "month.yaml"
        path.write_text("documents: 5\nfleet_hours: 1.5\n", encoding="utf-8")
        assert read(path) == Usage(documents=5, fleet_hours=1.5)
        path.write_text("", encoding="utf-8")
        assert read(path) == Usage()

    @pytest.mark.parametrize(
        "content",
        ["- 1", "documents: yes", "documents: [1]", "a: b: c", "docs: 1", "documents: 1\ndocuments: 2"],
    )
    def test_a_file_that_is_no_usage_is_refused(self, tmp_path: Path, content: str) -> None:
        path = tmp_path / "month.yaml"
        path.write_text(content, encoding="utf-8")
        with pytest.raises(UsageError) as raised:
            read(path)
        assert "\n" not in str(raised.value)

    def test_a_month_without_use_is_idle(self, platform: Recording) -> None:
        nothing = Usage(**dict.fromkeys(set(meanings()) - {"image_gb", "insights_metrics"}, 0.0))
        found = estimate(platform, nothing, Prices())
        # A deployment's two calls of the function that makes the index are all that is left.
        assert found.busy_usd == pytest.approx(found.idle_usd, abs=0.001)


class TestCommand:
    def test_one_stack_is_told_without_an_account(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert command.main(["--stack", "dev"], date(2099, 1, 1)) == 0
        told = capsys.readouterr().out
        assert "Idle floor of dev:" in told and "staging" not in told
        assert "Warning: The oldest of these prices is of " in told

    def test_json_takes_the_usage_and_sleeps(self, dev: Recording, capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
        assert command.main(["--stack", "dev", "--asleep", "--set", "documents=7", "--json"], TODAY) == 0
        made = json.loads(capsys.readouterr().out)
        assert made["usage"]["documents"] == 7
        assert [entry["label"] for entry in made["columns"]] == ["dev, asleep"]
        assert made["columns"][0]["idle_usd"] < 0.5 * estimate(dev, Usage(), Prices()).idle_usd

    def test_fresh_prices_are_no_reason_to_warn(self) -> None:
        assert command.age_warning(date(2027, 1, 30), [DAY]) == ""
        assert "2026-11-01, 91 days ago" in command.age_warning(date(2027, 1, 31), [DAY])

    def test_wrong_usage_is_told(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
        assert command.main(["--stack", "dev", "--set", "x=1"], TODAY) == 2
        assert command.main(["--stack", "nowhere"], TODAY) == 2
        assert command.main(["--usage", str(tmp_path / "none.yaml")], TODAY) == 2
        assert len(capsys.readouterr().err.splitlines()) == 3
        with pytest.raises(SystemExit) as stopped:
            command.main(["--asleep"], TODAY)
        assert stopped.value.code == 2

    def test_a_picture_is_drawn_or_its_failure_told(self, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:  # fmt: skip
        path = tmp_path / "cost.svg"
        assert command.main(["--stack", "dev", "--svg", str(path)], TODAY) == 0
        assert path.read_text(encoding="utf-8").startswith("<svg") and str(path) in capsys.readouterr().err
        assert command.main(["--stack", "dev", "--svg", str(tmp_path / "no" / "x.svg")], TODAY) == 1
        assert "cannot be written" in capsys.readouterr().err

    def test_a_preview_ends_with_the_sums(self, dev: Recording) -> None:
        found = estimate(dev, Usage(), Prices())
        assert preview.cost_line(dev) == (
            f"Costs about {found.idle_usd:,.0f} USD a month idle, {found.busy_usd:,.0f} busy: "
            "python -m ops cost --stack dev"
        )

    def test_a_preview_says_what_its_sums_lack(self, dev: Recording, monkeypatch: pytest.MonkeyPatch) -> None:
        table = {key: price for key, price in read_table().items() if key[0] != "ELB"}
        monkeypatch.setattr(preview, "Prices", lambda: Prices(services=table))
        assert preview.cost_line(dev).startswith("Costs at least 7 USD a month idle, ")
        assert " busy (2 not priced): " in preview.cost_line(dev)

    def test_a_price_table_that_is_empty_is_no_estimate(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (tmp_path / "prices.csv").touch()
        monkeypatch.setattr(command, "Prices", lambda: Prices(services=read_table(tmp_path / "prices.csv")))
        assert command.main(["--stack", "dev"], TODAY) == 1
        out, err = capsys.readouterr()
        assert out == "" and err.startswith("prices.csv has no price in it. ")

    @pytest.mark.parametrize(("arguments", "shown"), [([], False), (["--lines"], True)])
    def test_a_terminal_gets_the_sums_and_the_lines_when_asked(
        self, arguments: list[str], shown: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:  # fmt: skip
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert command.main(["--stack", "dev", *arguments], TODAY) == 0
        told = capsys.readouterr().out
        assert ("rag-balancer: ELB application load balancer" in told) == shown
        assert ("--lines also shows" in told) != shown
        assert max(map(len, told.splitlines())) <= 80 and "met (ELB" in " ".join(told.split())


class TestPictureAndPage:
    def test_the_picture_is_svg_with_a_bar_for_each_component(self) -> None:
        tree = ElementTree.fromstring(svg(small()))
        bars = [item for item in tree.iter() if item.tag.endswith("rect") and item.get("height") == "15"]
        # Idle on top of busy, in each of the two columns.
        assert len(bars) == 4
        assert float(bars[0].get("width", "0")) >= float(bars[1].get("width", "0")) > 0

    def test_many_components_end_in_one_bar_for_the_rest(self) -> None:
        many = estimated(*(resource(KEY, f"key{number}") for number in range(12)))
        drawn = svg([Column("many", many)])
        assert drawn.count(">key") == MOST_BARS - 1 and drawn.count(">the rest<") == 1

    def test_names_are_escaped_and_nothing_is_drawn_of_nothing(self) -> None:
        drawn = svg([Column("a & b", Estimate(stack="s", region=REGION, lines=(), unpriced=(), free=()))])
        assert ElementTree.fromstring(drawn) is not None and "a &amp; b" in drawn

    def test_page_and_picture_are_made_from_the_program(self, columns: list[Column]) -> None:
        fix = "run `python -m ops.cost.page`"
        assert page.PAGE.read_text(encoding="utf-8") == page.render(columns, Usage()), fix
        assert page.CHART.read_text(encoding="utf-8") == svg(columns), fix

    def test_every_free_type_has_its_reason_on_the_page(self) -> None:
        told = page.PAGE.read_text(encoding="utf-8")
        assert all(f"| `{kind}` | {why} |" in told for kind, why in FREE.items())
        assert all(f"`{name}`" in told for name in meanings())
        assert read_table()
