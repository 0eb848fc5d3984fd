"""Every region that botocore knows is in the right partition, with the right DNS suffix."""

from collections.abc import Iterator
from typing import Any

import botocore.session
import pytest

from components.config_values import REGION, ZONE
from components.partitions import PARTITIONS, partition_of


def known_partitions() -> list[dict[str, Any]]:
    loader = botocore.session.get_session().get_component("data_loader")
    return loader.load_data("partitions")["partitions"]


def known_regions() -> Iterator[tuple[str, str, str]]:
    for partition in known_partitions():
        for region in partition["regions"]:
            if not region.endswith("-global"):
                yield region, partition["id"], partition["outputs"]["dnsSuffix"]


def test_every_region_has_the_partition_and_suffix_that_botocore_knows() -> None:
    for region, partition, suffix in known_regions():
        assert partition_of(region) == (partition, suffix), (
            f"every ARN and host name in {region} would be wrong"
        )


def test_every_region_and_its_zones_can_be_configured() -> None:
    for region, _, _ in known_regions():
        assert REGION.accepts(region), f"nobody could deploy to {region}"
        assert ZONE.accepts(f"{region}a")


def test_every_partition_of_botocore_is_known_and_no_other() -> None:
    ours = {partition for partition, _ in PARTITIONS.values()} | {"aws"}
    assert ours == {partition["id"] for partition in known_partitions()}


@pytest.mark.parametrize(
    "zone", ["us-east-1-bos-1a", "us-east-1-wl1-bos-wlz-1", "eu-central-1", "euc1-az1", "eu-central-1a "]
)
def test_local_zones_and_zone_ids_are_not_availability_zones(zone: str) -> None:
    assert not ZONE.accepts(zone), "no load balancer and no NAT gateway could be placed there"


@pytest.mark.parametrize(
    "region", ["aws-global", "Frankfurt", "eu-central", "eu-central-1a", "eu_central_1", ""]
)
def test_what_is_no_region_is_refused(region: str) -> None:
    assert not REGION.accepts(region)
