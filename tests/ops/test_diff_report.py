"""The report as text, Markdown and JSON: nothing breaks out of its place, and it fits into a comment."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from ops.capture.program import record
from ops.capture.recording import Recording, Secret
from ops.diff.comparison import Comparison, compared
from ops.diff.document import stack_document
from ops.diff.markdown import OPEN_LINES, code, escaped, markdown
from ops.diff.picture import Picture
from ops.diff.sections import SHOWN_CHANGES, headline, money
from ops.diff.text import text
from ops.github.text import LONGEST_BODY
from policies.data import data_findings
from policies.storage import FILE_SYSTEM
from recordings import recorded
from tests.policies.planting import added, changed, inputs, options

TITLE = "From main to the working tree."
COMMAND = "python -m ops diff --base main"
ROLE = "aws:iam/role:Role"


@pytest.fixture(scope="module")
def asleep() -> Comparison:
    return compared(recorded("prod"), record("prod", changes={"asleep": True}))


def _risky(dev: Recording) -> Comparison:
    return compared(dev, changed(dev, FILE_SYSTEM, "shared-files-files", inputs(performanceMode="maxIO")))


def test_a_loud_line_can_be_searched_for(dev: Recording) -> None:
    lines = text(TITLE, {"dev": _risky(dev)}, None).splitlines()
    assert lines[2].startswith("dev: 1 changed, ")
    assert lines[4] == "!! DATA AT RISK" and lines[5].startswith("!! shared-files-files is replaced for")


def test_text_fits_the_terminal(dev: Recording) -> None:
    narrow = text(TITLE, {"dev": _risky(dev)}, 60)
    assert max(map(len, narrow.splitlines())) <= 60
    whole = text(TITLE, {"dev": _risky(dev)}, None)
    assert narrow.split() == whole.split(), "words were lost"


def test_nothing_changed_is_one_line_beside_stacks_that_changed(dev: Recording, prod: Recording) -> None:
    outcomes = {"dev": _risky(dev), "prod": compared(prod, prod)}
    assert text(TITLE, outcomes, None).splitlines()[-1] == "prod: no change"
    assert markdown(TITLE, outcomes, COMMAND).splitlines()[-1] == "Stack `prod`: no change"


def test_a_rename_in_place_is_a_change(dev: Recording) -> None:
    policy = next(item for item in dev.of_type("aws:iam/rolePolicy:RolePolicy"))
    new = changed(
        dev, policy.type, policy.name, options(urn=f"{policy.urn}-new", name="new", aliases=(policy.urn,))
    )
    report = text(TITLE, {"dev": compared(dev, new)}, None)
    assert "dev: only names or exports changed" in report
    assert f"  {policy.name} → {policy.name}-new" in report


def test_an_export_that_others_read_is_told(dev: Recording) -> None:
    exports = {**dev.exports, "bucket": "other", "key": Secret("hunter2")}
    found = compared(dev, replace(dev, exports=exports))
    assert not found.is_same, "a report would say that nothing has changed"
    report = text(TITLE, {"dev": found}, None)
    assert "  bucket: data-lake-bucket → other" in report
    assert "  key: (not set) → [secret]" in report and "hunter2" not in report


def test_a_resource_with_many_changes_shows_the_first_and_counts_the_rest(dev: Recording) -> None:
    tags = {f"tag{number:02}": "x" for number in range(SHOWN_CHANGES + 3)}
    found = compared(dev, changed(dev, FILE_SYSTEM, "shared-files-files", inputs(tags=tags)))
    report = text(TITLE, {"dev": found}, None)
    assert report.count("      tags.tag") == SHOWN_CHANGES
    assert "      and 3 more properties" in report


def test_a_cost_that_nobody_knows_is_named(dev: Recording) -> None:
    new = added(dev, "aws:rds/cluster:Cluster", "database", {}, dev.one(FILE_SYSTEM))
    report = text(TITLE, {"dev": compared(dev, new)}, None)
    assert "  not priced: database: no meter for the type aws:rds/cluster:Cluster" in report


def test_the_cost_of_a_thing_goes_from_and_to(dev: Recording, asleep: Comparison) -> None:
    assert asleep.cost.head.idle_usd < asleep.cost.base.idle_usd
    gateways = next(part for part in asleep.cost.parts if part.what == "VPC NAT gateway")
    assert gateways.base[0] > 0 and gateways.head == (0.0, 0.0)
    assert sum(part.head[0] - part.base[0] for part in asleep.cost.parts) == pytest.approx(
        asleep.cost.head.idle_usd - asleep.cost.base.idle_usd, abs=0.1
    ), "the lines do not add up to the sum"
    same = compared(dev, dev).cost
    assert same.parts == () and same.unpriced == ()


def test_markdown_folds_what_is_long_and_shows_what_is_loud(asleep: Comparison, dev: Recording) -> None:
    report = markdown(TITLE, {"prod": asleep, "dev": _risky(dev)}, COMMAND)
    assert report.count("<details>") == report.count("</details>") > 1
    loud = report[report.index("> [!CAUTION]") :].splitlines()[:4]
    assert loud[1] == "> **DATA AT RISK**" and loud[3].startswith("> - shared-files-files is replaced")
    removed = report[report.index("<b>Removed: ") :]
    assert len(asleep.removed) > OPEN_LINES
    assert removed[: removed.index("</details>")].count("\n- ") == len(asleep.removed)
    assert report.count("```mermaid\n") == 1, "the picture of prod has changed, that of dev has not"


@pytest.mark.parametrize("count", [5, 500, 2500])
def test_markdown_fits_into_a_comment_and_tells_what_it_leaves_out(dev: Recording, count: int) -> None:
    like = dev.one(FILE_SYSTEM)
    more = [
        replace(like, urn=f"{like.urn}-{number}", name=f"queue-{number}", type="aws:sqs/queue:Queue")
        for number in range(count)
    ]
    head = changed(dev, FILE_SYSTEM, "shared-files-files", inputs(performanceMode="maxIO"))
    found = compared(dev, replace(head, resources=(*head.resources, *more)))
    report = markdown(TITLE, {"dev": found, "prod": found, "staging": found}, COMMAND)
    assert len(report) < LONGEST_BODY
    assert report.count("DATA AT RISK") == 3, "what matters most was cut off"
    assert report.count("<details>") == report.count("</details>")
    left_out = re.search(r"(\d+) more lines are left out here: `python -m ops diff --base main`", report)
    assert bool(left_out) == (count > 5)


def test_even_warnings_without_end_fit_into_a_comment(dev: Recording) -> None:
    system = dev.one(FILE_SYSTEM)
    many = [replace(system, urn=f"{system.urn}-{n}", name=f"files-{n}") for n in range(900)]
    found = compared(replace(dev, resources=(*dev.resources, *many)), dev)
    report = markdown(TITLE, {"dev": found}, COMMAND)
    assert len(report) < LONGEST_BODY
    assert report.rstrip().endswith(f"The rest is left out, since a comment takes no more: `{COMMAND}`")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("plain", "`plain`"),
        ("a|b", "`a|b`"),
        ("a`b", "`` a`b ``"),
        ("```\nx", "```` ``` x ````"),
        ("", '`""`'),
    ],
)
def test_a_value_stays_inside_its_backticks(value: str, shown: str) -> None:
    assert code(value) == shown


def test_words_mean_nothing_to_markdown_and_call_nobody() -> None:
    assert escaped("kms:* <b> [x](y) @team `a` a|b\n# c") == (
        r"kms:\* \<b\> \[x\](y) @&#8203;team \`a\` a\|b \#&#8203; c"
    )


def test_a_picture_with_backticks_stays_in_its_block(dev: Recording) -> None:
    drawn = Picture(chart='flowchart LR\n  a["```"]\n', new=(), gone=())
    report = markdown(TITLE, {"dev": replace(_risky(dev), picture=drawn)}, COMMAND)
    assert "\n````mermaid\nflowchart LR\n" in report and '"]\n````\n' in report


def test_what_only_follows_is_told_with_its_source(dev: Recording) -> None:
    template = dev.one("aws:ec2/launchTemplate:LaunchTemplate")
    found = compared(dev, changed(dev, template.type, template.name, inputs(userData="other")))
    report = text(TITLE, {"dev": found}, None)
    assert (
        "Updated with what they refer to: 1\n  gpu-notebook-group autoscaling.Group follows gpu-notebook-template"
        in report
    )
    (item,) = stack_document("dev", found)["updated"]
    assert item["urn"].endswith("::gpu-notebook-group") and item["follows"] == template.name


def test_a_name_that_is_markup_stays_a_name(dev: Recording) -> None:
    evil = "x` </details> @team\n## pwned"
    new = added(dev, "aws:sqs/queue:Queue", evil, {}, dev.one(FILE_SYSTEM))
    report = markdown(TITLE, {"dev": compared(dev, new)}, COMMAND)
    assert "`` x` </details> @team ## pwned ``" in report
    assert not re.search(r"^## pwned", report, flags=re.MULTILINE)


def test_a_failure_is_shown_under_its_stack(dev: Recording) -> None:
    outcomes = {"dev": compared(dev, dev), "prod": "it has 2 faults:\n  - no <zone>\n  - ``` no fence"}
    report = markdown(TITLE, outcomes, COMMAND)
    assert report.endswith(
        "### Stack `prod`\n\n````text\nit has 2 faults:\n  - no <zone>\n  - ``` no fence\n````\n"
    )
    assert "\nprod: it has 2 faults:\n  - no <zone>\n" in text(TITLE, outcomes, 60)


def test_the_document_holds_all_and_no_secret(dev: Recording, asleep: Comparison) -> None:
    secret = changed(dev, ROLE, "rag-task-role", inputs(description=Secret("hunter2")))
    document = stack_document("dev", compared(dev, secret))
    assert "hunter2" not in json.dumps(document)
    (item,) = document["changed"]
    assert item["changes"] == [{"path": "description", "old": "(not set)", "new": "[secret]"}]
    whole = stack_document("prod", asleep)
    assert len(json.loads(json.dumps(whole))["removed"]) == len(asleep.removed)
    assert whole["cost"]["idle_usd"][0] > whole["cost"]["idle_usd"][1]
    assert stack_document("dev", _risky(dev))["is_refused"] is True


def test_a_failure_of_many_words_leaves_no_block_open(dev: Recording) -> None:
    report = markdown(TITLE, {"dev": "word " * 20_000, "prod": compared(dev, dev)}, COMMAND)
    assert len(report) <= LONGEST_BODY
    assert report.count("```") == 2 and "cut off here" in report


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (options(protect=False), "data-lake-bucket is no longer protected"),
        (options(retain_on_delete=False), "data-lake-bucket no longer stays in AWS when it is removed"),
        (inputs(forceDestroy=True), "data-lake-bucket can be deleted with all that is in it (forceDestroy)"),
    ],
)
def test_data_that_is_held_back_by_less_than_before_is_loud(prod: Recording, change: Any, said: str) -> None:
    found = compared(prod, changed(prod, "aws:s3/bucket:Bucket", "data-lake-bucket", change))
    assert found.is_refused, "a required check would let it pass"
    report = text(TITLE, {"prod": found}, None)
    assert f"!! DATA NO LONGER PROTECTED\n!! {said}" in report


def test_data_that_gets_protected_is_no_alarm(prod: Recording) -> None:
    less = changed(prod, "aws:s3/bucket:Bucket", "data-lake-bucket", options(protect=False))
    assert not compared(less, prod).unprotected


def test_what_has_no_price_does_not_read_as_a_saving(dev: Recording) -> None:
    unknown = changed(
        dev, "aws:efs/fileSystem:FileSystem", "shared-files-files", inputs(throughputMode="odd")
    )
    told = headline(compared(dev, unknown))
    assert re.search(r"; 0 → [1-9]\d* lines are not priced and missing in these sums$", told), told


def test_the_difference_is_that_of_the_sums_that_are_shown(dev: Recording) -> None:
    nothing = compared(dev, dev).cost
    base, head = (replace(nothing.base, lines=[]) for _ in range(2))
    assert money(replace(nothing, base=base, head=head)).startswith("the same cost")


def test_data_that_moves_to_another_parent_is_told_how_to_keep_it(dev: Recording) -> None:
    bucket = dev.one("aws:s3/bucket:Bucket")
    moved = replace(bucket, urn=bucket.urn.replace("DataLake$", "Lake$"))
    head = replace(dev, resources=tuple(moved if item is bucket else item for item in dev.resources))
    found = replace(
        compared(dev, dev), removed=(bucket,), added=(moved,), data=tuple(data_findings(dev, head, {}))
    )
    report = text(TITLE, {"dev": found}, None)
    assert "It looks like a move to another parent: keep it by aliases=[pulumi.Alias(parent=...)]" in report
