"""The writer of flow charts, and the words in them."""

import pytest

from ops.diagram.mermaid import BOTH_WAYS, DOTTED, Chart, escaped, name
from ops.diagram.words import service_of, shortened, verbs


def test_a_chart_is_sorted_whatever_the_order_of_its_parts() -> None:
    chart = Chart()
    chart.node("b", "second")
    chart.group("inner", "frame").node("c", "inside", "twice")
    chart.node("a", "first", shape="round")
    chart.edge("b", "c", "uses")
    chart.edge("a", "b", line=DOTTED)
    chart.edge("a", "b", line=DOTTED)
    assert chart.render() == (
        'flowchart LR\n  a(["first"])\n  b["second"]\n  subgraph inner["frame"]\n    c["inside<br/>twice"]\n  end\n'
        '  a -.-> b\n  b -->|"uses"| c\n'
    )


def test_an_empty_frame_is_left_out() -> None:
    chart = Chart(direction="TB")
    chart.group("outer", "outer").group("inner", "inner")
    assert chart.render() == "flowchart TB\n"


def test_an_arrow_may_go_both_ways() -> None:
    chart = Chart()
    chart.edge("a", "b", "calls", line=BOTH_WAYS)
    assert '  a <-->|"calls"| b\n' in chart.render()


@pytest.mark.parametrize(
    ("key", "expected"),
    [("data-lake", "data_lake"), ("end", "end_"), ("a.b c/d", "a_b_c_d"), ("größe", "gr__e")],
)
def test_names_are_what_mermaid_takes(key: str, expected: str) -> None:
    assert name(key) == expected


def test_nothing_in_a_label_is_taken_for_syntax() -> None:
    assert escaped('a "b" <c> #d') == "a #quot;b#quot; #lt;c#gt; #35;d"
    assert escaped("`e` %%{f}") == "#96;e#96; #37;#37;{f}"


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["s3:PutObject", "s3:GetObject"], ("reads", "writes")),
        (["sqs:ReceiveMessage", "sqs:DeleteMessage"], ("reads",)),
        (["aoss:APIAccessAll"], ()),
        (["iam:*"], ("does anything",)),
        (["autoscaling:CompleteLifecycleAction"], ("CompleteLifecycleAction",)),
        (["ecs:SubmitTaskStateChange", "batch:SubmitJob"], ("joins", "runs")),
    ],
)
def test_actions_are_told_as_verbs(actions: list[str], expected: tuple[str, ...]) -> None:
    assert verbs(actions) == expected


def test_a_service_is_named_once_in_a_list_of_actions() -> None:
    assert (
        shortened(["s3:PutObject", "logs:PutLogEvents", "s3:GetObject"])
        == "logs:PutLogEvents, s3:GetObject, PutObject"
    )


def test_services_have_their_usual_names_and_plumbing_none() -> None:
    assert service_of("aws:efs/fileSystem:FileSystem") == "EFS"
    assert service_of("aws:iam/role:Role") == ""
    assert service_of("aws:newservice/thing:Thing") == "newservice", "a new service would not be seen"
