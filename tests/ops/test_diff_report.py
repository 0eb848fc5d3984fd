"""The report as text, Markdown and JSON: nothing breaks out of its place, and it fits into a comment."""

import json
import re
from dataclasses import replace

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
from ops.preview_text import counts
from policies.storage import BUCKET, FILE_SYSTEM
from recordings import recorded
from tests.policies.planting import Change, added, changed, inputs, options

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


def test_a_sum_that_is_shown_alike_is_one_number_and_a_difference_is_that_of_what_is_shown(
    dev: Recording,
) -> None:
    same = compared(dev, dev).cost
    first = same.head.lines[0]
    line = replace(first, price=replace(first.price, price_usd=0.0014), idle_quantity=0)
    months = [replace(same.head, lines=(replace(line, quantity=quantity),)) for quantity in (2.5, 6)]
    assert [round(month.busy_usd, 4) for month in months] == [0.0035, 0.0084]
    assert money(replace(same, base=months[0], head=months[1])) == (
        "USD a month: 0.00 idle, 0.00 → 0.01 busy (+0.01)"
    ), "the difference of what is not shown is 0.00"


@pytest.mark.parametrize("is_base", [True, False])
def test_a_sum_without_all_prices_does_not_look_like_a_saving(dev: Recording, is_base: bool) -> None:
    more = added(dev, "aws:rds/cluster:Cluster", "database", {}, dev.one(FILE_SYSTEM))
    found = compared(more, dev) if is_base else compared(dev, more)
    assert headline(found).endswith(" (not all priced: 1 line)")
    report = text(TITLE, {"dev": found}, None)
    assert f"  not priced{' before' * is_base}: database: no meter" in report
    both = compared(more, changed(more, FILE_SYSTEM, "shared-files-files", inputs(tags={"a": "b"})))
    assert headline(both).endswith(" (not all priced: 1 line)"), (
        "the sums of both are the least that it may be"
    )


def test_resources_are_counted_as_the_preview_does(dev: Recording) -> None:
    found, numbers = compared(None, dev), counts(dev)
    told = f"{numbers['resources']} resources, {numbers['components']} components and 1 provider"
    assert headline(found).startswith(f"the stack is new: {told} added")
    assert f"\nAdded: {told}\n" in text(TITLE, {"dev": found}, None)


def test_data_that_is_protected_no_longer_is_loud(prod: Recording) -> None:
    bare = compared(prod, record("prod", changes={"protectData": False}))
    assert bare.is_refused and not bare.data
    lines = text(TITLE, {"prod": bare}, None).splitlines()
    assert lines[4] == "!! DATA NO LONGER PROTECTED"
    loud = {line.split()[1].rstrip(":"): line for line in lines if line.startswith("!! ")}
    assert {"data-lake-bucket", "shared-files-files", "vector-store-collection"} <= loud.keys()
    assert (
        "protect is taken off, retain_on_delete is taken off, forceDelete is turned on"
        in loud["rag-build-repository"]
    )
    assert stack_document("prod", bare)["protection_lost"] == list(bare.unprotected)
    back = compared(record("prod", changes={"protectData": False}), prod)
    assert not back.unprotected and not back.is_refused


@pytest.mark.parametrize(
    "change", [options(protect=False), options(retain_on_delete=False), inputs(forceDestroy=True)]
)
def test_each_way_to_lose_protection_is_refused(prod: Recording, change: Change) -> None:
    (line,) = compared(prod, changed(prod, BUCKET, "data-lake-bucket", change)).unprotected
    assert line.startswith("data-lake-bucket: ") and "may delete for good its objects" in line


def test_a_name_with_a_line_break_stays_on_its_line(dev: Recording) -> None:
    new = added(dev, "aws:sqs/queue:Queue", "x\n!! DATA AT RISK", {}, dev.one(FILE_SYSTEM))
    assert "\n!! DATA" not in text(TITLE, {"dev": compared(dev, new)}, None)


@pytest.mark.parametrize("stacks", [1, 30])
def test_failures_without_end_close_their_fences(dev: Recording, stacks: int) -> None:
    system = dev.one(FILE_SYSTEM)
    many = [replace(system, urn=f"{system.urn}-{n}", name=f"files-{n}") for n in range(900)]
    loud = compared(replace(dev, resources=(*dev.resources, *many)), dev)
    for rest in ({}, {"a": loud}):
        report = markdown(TITLE, {**rest, **{f"s{n}": "x\n" * 33_000 for n in range(stacks)}}, COMMAND)
        assert len(report) < LONGEST_BODY
        assert report.count("```text\n") == report.count("\n```\n") == stacks, (
            "the rest of the comment would be code"
        )
        assert report.count("The rest is cut off here") == stacks


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
