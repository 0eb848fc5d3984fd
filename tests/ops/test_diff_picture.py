"""The changed picture: what is new and what is changed is marked, by mermaid's own means."""

from ops.capture.program import record
from ops.capture.recording import Recording
from ops.diagram import component_diagram
from ops.diff.picture import picture

BASE = """flowchart LR
  end_["end<br/>S3"]
  rag["rag<br/>ECS"]
  subgraph network["network: no NAT gateway"]
    files["files<br/>EFS"]
  end
  files -->|"reads"| rag
  rag -.-> end_
"""


def test_the_same_picture_is_none() -> None:
    assert picture(BASE, BASE) is None


def test_new_and_changed_nodes_frames_and_arrows_are_marked() -> None:
    head = BASE.replace("no NAT", "1 NAT").replace("  rag -.->", '  jobs <-->|"x"| rag\n  rag -.->')
    head = head.replace('  rag["', '  jobs[("jobs")]\n  rag["')
    found = picture(BASE, head)
    assert found
    assert found.chart.startswith(head)
    marks = [line.strip() for line in found.chart.removeprefix(head).splitlines()]
    assert marks[1] == "class jobs added" and marks[3] == "class network changed"
    assert marks[4].startswith("linkStyle 1 "), "mermaid counts the arrows in the order of the text, from 0"
    assert len(marks) == 5
    assert found.gone == ('subgraph network["network: no NAT gateway"]',)
    assert len(found.new) == 3


def test_what_is_gone_is_named_and_nothing_else_is_marked() -> None:
    found = picture(BASE, BASE.replace("  rag -.-> end_\n", ""))
    assert found
    assert (found.new, found.gone) == ((), ("rag -.-> end_",))
    assert "class" not in found.chart and "linkStyle" not in found.chart


def test_every_node_and_arrow_of_the_program_can_be_marked(dev: Recording) -> None:
    head = component_diagram(record("dev", changes={"natGateways": "single"}))
    found = picture(component_diagram(dev), head)
    assert found and "  class network changed\n" in found.chart
    whole = picture("flowchart LR\n", head)
    assert whole
    (line,) = [line for line in whole.chart.splitlines() if line.endswith(" added")]
    assert len(line.split()[1].split(",")) == head.count('["') + head.count("{{")
    (line,) = [line for line in whole.chart.splitlines() if "linkStyle" in line]
    assert len(line.split()[1].split(",")) == head.count("-->") + head.count("-.->")
