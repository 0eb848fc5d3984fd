"""How long an image is supported: by its name, by what its owner says, and by its state."""

from datetime import date, timedelta
from typing import Any

import pytest

from components.machine_images import IMAGE_PARAMETERS
from ops.images.support import FAMILIES, earliest_end, support_of

TODAY = date(2026, 12, 2)


def image(name: str, **more: Any) -> dict[str, Any]:
    return {"Name": name, "State": "available", **more}


@pytest.mark.parametrize(
    ("name", "family"),
    [
        ("amzn2-ami-ecs-gpu-hvm-2.0.20260620-x86_64-ebs", "Amazon Linux 2"),
        ("Deep Learning AMI Neuron (Amazon Linux 2) 20240101", "Amazon Linux 2"),
        ("Deep Learning Base OSS Nvidia Driver GPU AMI (Amazon Linux 2023) 20260921", "Amazon Linux 2023"),
        ("al2023-ami-ecs-neuron-hvm-2023.0.20260920-kernel-6.1-x86_64-ebs", "Amazon Linux 2023"),
        ("Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 24.04) 20260921", "Ubuntu 24.04"),
        ("ubuntu/images/hvm-ssd/ubuntu-jammy-22.04-amd64-server-20260101", "Ubuntu 22.04"),
        ("Deep Learning OSS Nvidia Driver AMI GPU PyTorch 2.8.0 (Ubuntu 24.04) 20260601", "PyTorch 2.8"),
    ],
)
def test_a_family_is_known_by_the_names_that_aws_gives(name: str, family: str) -> None:
    found = earliest_end(name)
    assert found is not None
    assert found.what == family, "the end of another family would be told"


def test_an_image_is_supported_up_to_its_last_day_and_not_beyond() -> None:
    end = date(2026, 6, 30)
    name = "amzn2-ami-ecs-gpu-hvm-2.0.20260620-x86_64-ebs"
    assert support_of(image(name), end).refusal == ""
    assert "past its end of support on 2026-06-30" in support_of(image(name), end + timedelta(days=1)).refusal


def test_an_end_that_is_near_is_told_before_it_comes() -> None:
    name = "Deep Learning Base OSS Nvidia Driver GPU AMI (Ubuntu 22.04) 20261120"
    assert "supported only until 2027-04-30" in support_of(image(name), TODAY).note
    assert "supported until 2027-04-30" in support_of(image(name), date(2026, 1, 1)).note


@pytest.mark.parametrize(
    ("deprecated", "refused"),
    [("2026-12-02T00:00:00.000Z", True), ("2026-12-03T00:00:00.000Z", False), ("soon", False), (None, False)],
)
def test_what_its_owner_deprecates_is_refused_from_that_day(deprecated: str | None, refused: bool) -> None:
    found = support_of(image("own", DeprecationTime=deprecated), TODAY)
    assert bool(found.refusal) == refused


def test_no_node_starts_from_an_image_that_is_not_available() -> None:
    assert support_of(image("own", State="disabled"), TODAY).refusal.startswith("it is disabled")
    assert support_of(None, TODAY).refusal


def test_an_image_of_no_known_family_is_not_refused_but_told() -> None:
    found = support_of(image("our-own-image"), TODAY)
    assert (found.refusal, found.note) == ("", "its end of support is not in the table")


def test_every_row_has_a_source_and_the_day_on_which_it_was_read() -> None:
    assert all(family.source.startswith("https://docs.aws.amazon.com/") for family in FAMILIES)
    assert all(family.read_on <= TODAY for family in FAMILIES)


def test_the_program_looks_up_no_image_whose_family_has_ended() -> None:
    """The paths name the families with dashes."""
    for path in IMAGE_PARAMETERS.values():
        family = earliest_end(path.replace("-", " "))
        assert family is not None
        assert family.ends > TODAY, "every new node would start without security updates"
