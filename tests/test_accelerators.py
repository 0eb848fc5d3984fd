"""The table of accelerators against the data it is made from, and the refusals of fleets that cannot work."""

import re
from dataclasses import fields
from importlib import metadata
from pathlib import Path

import pytest

from components import accelerators
from components.accelerators import (
    Accelerator,
    FleetFault,
    find,
    fleet_faults,
    nearest,
    regions_selling,
    sold_in,
)
from ops import accelerators as generator

FIELD_CASE = ["g5.xlarge", "g5.2xlarge", "g6.xlarge"]


def the_fault(instance_types: list[str], region: str, node_image: str) -> FleetFault:
    faults = fleet_faults(instance_types, region, node_image)
    assert len(faults) == 1, f"one mistake must be told once, or the person mends the wrong thing: {faults}"
    return faults[0]


def known_types() -> set[str]:
    lines = accelerators.TABLE.read_text(encoding="utf-8").splitlines()[2:]
    return {line.split(",")[0] for line in lines}


def entry(instance_type: str) -> Accelerator:
    found = find(instance_type)
    assert found is not None, f"{instance_type} is a type of EC2 and would be refused as unknown"
    return found


# The table


def test_the_checked_in_table_is_byte_for_byte_what_the_packages_say() -> None:
    regenerated = generator.table().encode()
    assert accelerators.TABLE.read_bytes() == regenerated, (
        "the table is not what its sources say, so fleets are judged by old facts: python -m ops.accelerators"
    )


def test_the_table_names_the_packages_and_versions_it_was_made_from() -> None:
    first_line = accelerators.TABLE.read_text(encoding="utf-8").splitlines()[0]
    for package in ("moto", "cfn-lint"):
        assert f"{package} {metadata.version(package)}" in first_line, (
            f"nobody can tell the age of the {package} data"
        )
    assert re.search(r"\d{4}-\d{2}-\d{2}", first_line), "nobody can tell the date of the region data"


def test_every_type_is_complete_and_sold_somewhere() -> None:
    for name in known_types():
        found = entry(name)
        assert found.accelerator_kind in {"nvidia", "neuron"}, f"{name}: no node image drives it"
        assert found.regions and list(found.regions) == sorted(set(found.regions)), (
            f"{name}: regions missing or unsorted"
        )
        empty = [field.name for field in fields(found) if getattr(found, field.name) in ("", None)]
        assert not empty, f"{name}: a fleet would be judged without {empty}"
        total_gib = found.accelerator_count * found.accelerator_memory_gib_each
        assert total_gib == pytest.approx(found.accelerator_memory_gib_total, abs=0.05), (
            f"{name}: memory does not add up"
        )
        assert (
            min(found.accelerator_count, found.vcpus, found.accelerator_memory_gib_each, found.memory_gib) > 0
        ), name


@pytest.mark.parametrize(
    ("name", "accelerator", "count", "gib_each", "vcpus", "memory_gib", "nvme_gb", "efa", "architecture"),
    [
        # AWS, "Amazon EC2 accelerated computing instance types", and the pages of the families.
        ("g4dn.xlarge", "T4", 1, 16, 4, 16, 125, 0, "x86_64"),
        ("g5.xlarge", "A10G", 1, 22.35, 4, 16, 250, 0, "x86_64"),
        ("g5.48xlarge", "A10G", 8, 22.35, 192, 768, 7600, 1, "x86_64"),
        ("g5g.xlarge", "T4g", 1, 16, 4, 8, 0, 0, "arm64"),
        ("g6.xlarge", "L4", 1, 22.35, 4, 16, 250, 0, "x86_64"),
        ("g6e.xlarge", "L40S", 1, 44.7, 4, 32, 250, 0, "x86_64"),
        ("p4d.24xlarge", "A100", 8, 40, 96, 1152, 8000, 4, "x86_64"),
        ("p5.48xlarge", "H100", 8, 80, 192, 2048, 30400, 32, "x86_64"),
        ("p5en.48xlarge", "H200", 8, 141, 192, 2048, 30400, 16, "x86_64"),
        ("inf2.xlarge", "Inferentia2", 1, 32, 4, 16, 0, 0, "x86_64"),
        ("inf2.48xlarge", "Inferentia2", 12, 32, 192, 768, 0, 0, "x86_64"),
        ("trn1.32xlarge", "Trainium", 16, 32, 128, 512, 7600, 8, "x86_64"),
    ],
)
def test_a_type_has_the_figures_that_aws_publishes(
    name: str,
    accelerator: str,
    count: int,
    gib_each: float,
    vcpus: int,
    memory_gib: int,
    nvme_gb: int,
    efa: int,
    architecture: str,
) -> None:
    found = entry(name)
    assert (found.accelerator, found.accelerator_count, found.accelerator_memory_gib_each) == (
        accelerator,
        count,
        gib_each,
    )
    assert (found.vcpus, found.memory_gib, found.local_nvme_gb) == (vcpus, memory_gib, nvme_gb)
    assert (found.efa_interfaces, found.architecture) == (efa, architecture)


def test_a_type_with_part_of_a_gpu_counts_one_accelerator_with_the_memory_of_that_part() -> None:
    eighth, whole = entry("g6f.large"), entry("g6.xlarge")
    assert eighth.accelerator_count == 1, "a fleet of g6f would seem to have no GPU"
    assert eighth.accelerator_memory_gib_each == pytest.approx(
        whole.accelerator_memory_gib_each / 8, abs=0.01
    )


@pytest.mark.parametrize(
    ("name", "count"), [("trn2.3xlarge", 1), ("trn2.48xlarge", 16), ("trn2u.48xlarge", 16)]
)
def test_a_trainium2_device_has_the_96_gib_of_its_architecture_page_not_the_figure_of_the_api(
    name: str, count: int
) -> None:
    found = entry(name)
    assert (found.accelerator_count, found.accelerator_memory_gib_each) == (count, 96), (
        "a model would not fit as planned"
    )


@pytest.mark.parametrize(
    "name", ["p3.2xlarge", "p3dn.24xlarge", "g4ad.xlarge", "dl1.24xlarge", "dl2q.24xlarge", "m7i.large"]
)
def test_a_type_that_no_node_image_drives_is_not_in_the_table(name: str) -> None:
    assert find(name) is None, f"{name} would start and find no accelerator"


def test_gpus_of_another_maker_are_left_out_of_the_table() -> None:
    amd = {
        "Name": "Radeon Pro V520",
        "Manufacturer": "AMD",
        "LogicalGpuCount": 1,
        "MemoryInfo": {"SizeInMiB": 8192},
    }
    assert generator.device_of("g4ad.xlarge", {"GpuInfo": {"Gpus": [amd]}}) is None, "no node image drives it"


# Where types are sold


@pytest.mark.parametrize(
    ("name", "region", "sold"),
    [
        ("g5.xlarge", "eu-west-1", True),
        ("g6.xlarge", "eu-west-1", False),
        ("g5.xlarge", "us-gov-west-1", False),
        ("g4dn.xlarge", "us-gov-west-1", True),
        ("g4dn.xlarge", "cn-north-1", True),
        ("p5.48xlarge", "us-east-1", True),
        ("p5.48xlarge", "eu-central-1", False),
    ],
)
def test_a_region_sells_a_type_or_not(name: str, region: str, sold: bool) -> None:
    assert (region in regions_selling(name)) is sold
    assert (name in sold_in(region)) is sold


@pytest.mark.parametrize(("name", "region"), [("p5e.48xlarge", "us-west-2"), ("trn2.3xlarge", "sa-east-1")])
def test_a_type_without_an_on_demand_price_in_a_region_is_still_sold_there(name: str, region: str) -> None:
    assert region in regions_selling(name), "a Capacity Block fleet would be refused where AWS sells it"


def test_what_is_not_in_the_table_is_sold_nowhere() -> None:
    assert regions_selling("m7i.large") == ()
    assert sold_in("eu-nowhere-9") == frozenset()


def test_the_nearest_known_type_is_named_for_a_slip_of_the_finger_and_none_for_nonsense() -> None:
    assert nearest("g5.xlrage") == "g5.xlarge"
    assert nearest("G5.XLARGE") == "g5.xlarge", "capital letters are a slip like any other"
    assert nearest("?") is None


def test_a_family_left_out_is_no_misspelling_of_a_dearer_one() -> None:
    assert nearest("p3.2xlarge") is None, "the person is told to pay for eight A100 instead of one V100"


# Fleets


@pytest.mark.parametrize("node_image", ["ecs-gpu", "dlami"])
def test_g5_and_g6_types_share_a_fleet_in_frankfurt(node_image: str) -> None:
    assert fleet_faults(FIELD_CASE, "eu-central-1", node_image) == [], (
        "the usual mix for spot would be refused"
    )


def test_inferentia2_types_share_a_fleet_on_the_neuron_image() -> None:
    assert fleet_faults(["inf2.xlarge", "inf2.8xlarge"], "eu-central-1", "ecs-neuron") == []


def test_a_misspelt_type_is_refused_with_the_nearest_one() -> None:
    fault = the_fault(["g5.xlrage"], "eu-central-1", "ecs-gpu")
    assert fault.value == "g5.xlrage"
    assert "NVIDIA" in fault.allowed and "Trainium" in fault.allowed
    assert "g5.xlarge" in fault.fix, "the person is left to guess the spelling"


def test_a_type_like_no_other_is_refused_with_the_place_of_the_list() -> None:
    assert "components/accelerators.csv" in the_fault(["?"], "eu-central-1", "ecs-gpu").fix


def test_a_type_not_sold_in_the_region_is_refused_with_its_regions_and_with_what_is_sold_instead() -> None:
    fault = the_fault(["g6.xlarge"], "eu-west-1", "ecs-gpu")
    assert fault.value == "g6.xlarge in eu-west-1"
    assert "no node ever starts" in fault.allowed
    assert set(regions_selling("g6.xlarge")) <= set(re.findall(r"[a-z-]+-\d", fault.allowed)), (
        "a region is kept back"
    )
    assert fault.fix == (
        "use another nvidia type with 22.35 GiB per accelerator that eu-west-1 sells:"
        " g5.xlarge, g5.2xlarge, g5.4xlarge"
    )


def test_the_types_sold_instead_are_the_most_alike_in_accelerators_and_then_in_vcpus() -> None:
    fix = the_fault(["g6.12xlarge"], "eu-west-1", "ecs-gpu").fix
    assert fix.endswith(": g5.12xlarge, g5.24xlarge, g5.16xlarge"), (
        f"a job for four GPUs is sent to one: {fix}"
    )


def test_the_types_sold_instead_are_of_the_same_kind_even_where_another_kind_has_equal_memory() -> None:
    fix = the_fault(["trn1.2xlarge"], "eu-central-1", "ecs-neuron").fix
    assert fix.endswith(": inf2.xlarge, inf2.8xlarge, inf2.24xlarge"), (
        f"a job for Neuron is sent to a GPU: {fix}"
    )


def test_a_type_without_an_equal_in_the_region_is_refused_with_the_families_sold_there() -> None:
    fix = the_fault(["g6e.xlarge"], "eu-west-1", "ecs-gpu").fix
    families = {name.split(".")[0] for name in sold_in("eu-west-1")}
    assert ", ".join(sorted(families)) in fix and "another region" in fix, (
        f"the person gets no way out: {fix}"
    )


def test_a_type_in_a_region_without_accelerators_is_sent_to_another_region() -> None:
    assert the_fault(["g5.xlarge"], "eu-nowhere-9", "ecs-gpu").fix == (
        "choose another region: eu-nowhere-9 sells no accelerator type"
    )


def test_different_accelerator_memory_in_one_fleet_is_refused_with_the_harm_and_the_fleets_to_make() -> None:
    fault = the_fault(["g6e.xlarge", "g5.xlarge", "g6.xlarge"], "eu-central-1", "ecs-gpu")
    assert fault.value == "g6e.xlarge, g5.xlarge, g6.xlarge"
    assert "runs out of memory" in fault.allowed
    assert fault.fix == "make a fleet for each: g5.xlarge, g6.xlarge (22.35 GiB); g6e.xlarge (44.7 GiB)"


def test_part_of_a_gpu_and_a_whole_one_are_different_memory() -> None:
    assert "memory" in the_fault(["g6.xlarge", "g6f.xlarge"], "eu-central-1", "ecs-gpu").allowed


@pytest.mark.parametrize("node_image", ["ecs-gpu", "dlami", "ecs-neuron"])
def test_two_kinds_of_accelerator_in_one_fleet_are_refused_with_an_image_for_each(node_image: str) -> None:
    fault = the_fault(["g5.xlarge", "inf2.xlarge"], "eu-central-1", node_image)
    assert fault.value == "g5.xlarge, inf2.xlarge"
    assert "finds no device" in fault.allowed
    assert fault.fix == (
        "make a fleet for each: g5.xlarge with node image ecs-gpu or dlami;"
        " inf2.xlarge with node image ecs-neuron"
    )


def test_two_architectures_in_one_fleet_are_refused_with_the_types_to_leave_out() -> None:
    fault = the_fault(["g4dn.xlarge", "g5g.xlarge", "g5g.2xlarge"], "eu-central-1", "ecs-gpu")
    assert "boots on one only" in fault.allowed
    assert fault.fix == "leave out g5g.xlarge, g5g.2xlarge: the node images are x86_64"


@pytest.mark.parametrize("node_image", ["ecs-gpu", "dlami"])
def test_neuron_types_on_an_nvidia_image_are_refused_with_the_neuron_image(node_image: str) -> None:
    fault = the_fault(["inf2.xlarge", "inf2.8xlarge"], "eu-central-1", node_image)
    assert fault.value == f"inf2.xlarge, inf2.8xlarge with node image {node_image}"
    assert "no driver for neuron" in fault.allowed
    assert fault.fix == "set the node image to ecs-neuron, or choose nvidia types"


def test_nvidia_types_on_the_neuron_image_are_refused_with_the_nvidia_images() -> None:
    fault = the_fault(["g5.xlarge"], "eu-central-1", "ecs-neuron")
    assert "no driver for nvidia" in fault.allowed
    assert fault.fix == "set the node image to ecs-gpu or dlami, or choose neuron types"


@pytest.mark.parametrize("node_image", ["ecs-gpu", "dlami", "ecs-neuron"])
def test_arm_types_are_refused_on_every_image_with_the_like_types_that_boot(node_image: str) -> None:
    fault = the_fault(["g5g.xlarge"], "eu-central-1", node_image)
    assert "do not boot on arm64" in fault.allowed
    assert fault.fix == "use g4dn.xlarge, g4dn.2xlarge, g4dn.4xlarge with node image ecs-gpu or dlami"


def test_all_faults_of_a_fleet_are_told_at_once() -> None:
    faults = fleet_faults(["g5.xlrage", "g6.xlarge", "g6e.xlarge", "inf2.xlarge"], "eu-west-1", "ecs-gpu")
    values = [fault.value for fault in faults]
    assert values == [
        "g5.xlrage",
        "g6.xlarge in eu-west-1",
        "g6e.xlarge in eu-west-1",
        "g6.xlarge, g6e.xlarge, inf2.xlarge",
        "g6.xlarge, g6e.xlarge",
    ], "the person would mend one fault only to meet the next"


def test_an_empty_fleet_and_an_unknown_image_are_left_to_the_caller() -> None:
    assert fleet_faults([], "eu-central-1", "ecs-gpu") == []
    assert fleet_faults(["g5.xlarge"], "eu-central-1", "windows") == []


# The generator


@pytest.fixture
def copy_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    copy = tmp_path / accelerators.TABLE.name
    copy.write_bytes(accelerators.TABLE.read_bytes())
    monkeypatch.setattr(generator, "TABLE", copy)
    return copy


def test_a_check_of_the_table_passes_and_prints_nothing(
    copy_of_the_table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert generator.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


def test_a_check_of_a_changed_table_fails_with_the_difference_and_writes_nothing(
    copy_of_the_table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    changed = copy_of_the_table.read_bytes().replace(b"g5.xlarge,A10G", b"g5.xlarge,A10X")
    copy_of_the_table.write_bytes(changed)
    assert generator.main(["--check"]) == 1, "a stale table would pass"
    out = capsys.readouterr().out
    assert "-g5.xlarge,A10X" in out and "+g5.xlarge,A10G" in out
    assert copy_of_the_table.read_bytes() == changed, "a check must not write"


def test_regenerating_writes_the_same_bytes_again(copy_of_the_table: Path) -> None:
    copy_of_the_table.write_bytes(b"old")
    assert generator.main([]) == 0
    assert copy_of_the_table.read_bytes() == accelerators.TABLE.read_bytes()


def test_a_missing_package_is_named_with_the_command_that_installs_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def not_installed(package: str) -> metadata.Distribution:
        raise metadata.PackageNotFoundError(package)

    monkeypatch.setattr(metadata, "distribution", not_installed)
    assert generator.main(["--check"]) == 2
    message = capsys.readouterr().err
    assert "moto" in message and "make test" in message, (
        "an operator without the development packages is lost"
    )


def test_data_that_a_package_no_longer_carries_is_named_with_its_version(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generator, "CFN_LINT_TYPES", "cfnlint/gone.json")
    assert generator.main(["--check"]) == 2
    assert f"cfn-lint {metadata.version('cfn-lint')} has no cfnlint/gone.json" in capsys.readouterr().err
