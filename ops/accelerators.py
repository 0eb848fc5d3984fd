"""Regenerates the table of accelerator instance types from the EC2 data inside moto and cfn-lint.

`python -m ops.accelerators` writes it; with `--check` nothing is written and a difference exits 1.
"""

import argparse
import csv
import difflib
import gzip
import io
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import fields
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from components.accelerators import TABLE, Accelerator

# The answers of EC2's DescribeInstanceTypes and DescribeInstanceTypeOfferings.
MOTO_TYPES = "moto/ec2/resources/instance_types.json.gz"
MOTO_OFFERINGS = "moto/ec2/resources/instance_type_offerings/region"
# The instance types on EC2's price list of each region (rule E3628), whole lists rather than differences.
CFN_LINT_TYPES = "cfnlint/data/schemas/extensions/aws_ec2_instance/instancetype_enum.json"
CFN_LINT_VERSION = "cfnlint/data/schemas/version.json"

# V100 GPUs are older than Turing, the oldest that NVIDIA's open kernel modules drive (their README), and the
# machine images carry those modules. Types with neither NVIDIA GPUs nor Neuron devices (AMD, Gaudi, Qualcomm,
# media and FPGA cards) are left out because no node image has their driver.
LEFT_OUT_FAMILIES = frozenset({"p3", "p3dn"})


class Device(NamedTuple):
    name: str
    kind: str
    count: int
    memory_mib: int


# EC2 reports 512 GiB for a Trainium2 device and no device at all for trn2u. A device has 96 GiB and both
# 48xlarge types have 16 of them (AWS Neuron documentation, "Trainium2 Architecture" and "Trn2 Architecture").
CORRECTED_DEVICES = {
    "trn2.3xlarge": Device("Trainium2", "neuron", 1, 96 * 1024),
    "trn2.48xlarge": Device("Trainium2", "neuron", 16, 96 * 1024),
    "trn2u.48xlarge": Device("Trainium2", "neuron", 16, 96 * 1024),
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ops.accelerators", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument(
        "--check", action="store_true", help="compare with the checked-in table and write nothing"
    )
    check = parser.parse_args(arguments).check
    try:
        regenerated = table()
    except FileNotFoundError as missing:
        print(missing, file=sys.stderr)
        return 2
    if check:
        checked_in = TABLE.read_text(encoding="utf-8")
        difference = difflib.unified_diff(
            checked_in.splitlines(True), regenerated.splitlines(True), TABLE.name, f"{TABLE.name} regenerated"
        )
        sys.stdout.writelines(difference)
        return int(checked_in != regenerated)
    TABLE.write_text(regenerated, encoding="utf-8", newline="\n")
    print(f"wrote {TABLE}")
    return 0


def table() -> str:
    """The text of the table, the same for the same versions of moto and cfn-lint.

    Raises FileNotFoundError, with what to do about it, where a package or its data is missing.
    """
    specifications = json.loads(gzip.decompress(_path_inside("moto", MOTO_TYPES).read_bytes()))
    regions = _regions()
    text = io.StringIO()
    text.write(f"# {_sources()}; written by python -m ops.accelerators\n")
    writer = csv.writer(text, lineterminator="\n")
    columns = [column.name for column in fields(Accelerator)]
    writer.writerow(columns)
    for name, specification in sorted(specifications.items()):
        if (device := device_of(name, specification)) and name.split(".")[0] not in LEFT_OUT_FAMILIES:
            entry = _accelerator(specification, device, regions[name])
            writer.writerow([_cell(getattr(entry, column)) for column in columns])
    return text.getvalue()


def _sources() -> str:
    moto, cfn_lint = metadata.version("moto"), metadata.version("cfn-lint")
    date = json.loads(_path_inside("cfn-lint", CFN_LINT_VERSION).read_bytes())["schema_date"][:10]
    return (
        f"specifications: moto {moto}; regions: cfn-lint {cfn_lint} (schemas of {date}) and moto's offerings"
    )


def _regions() -> dict[str, set[str]]:
    """Instance type -> regions that sell it, by the price list or by the offerings.

    Neither is enough: the price list leaves out what has no on-demand price (trn2.3xlarge; p5e outside one
    region), and the offerings in moto leave out China, GovCloud and the newest regions.
    """
    regions: dict[str, set[str]] = defaultdict(set)
    for region, schema in json.loads(_path_inside("cfn-lint", CFN_LINT_TYPES).read_bytes()).items():
        for name in schema["enum"] if isinstance(schema, dict) else ():
            regions[name].add(region)
    for path in _path_inside("moto", MOTO_OFFERINGS).glob("*.json.gz"):
        for offering in json.loads(gzip.decompress(path.read_bytes())):
            regions[offering["InstanceType"]].add(path.name.removesuffix(".json.gz"))
    return regions


def device_of(name: str, specification: Mapping[str, Any]) -> Device | None:
    """The accelerators of a type, all alike, or None for a type without any that a node image drives."""
    if name in CORRECTED_DEVICES:
        return CORRECTED_DEVICES[name]
    gpus = specification.get("GpuInfo", {}).get("Gpus", [])
    if nvidia := [gpu for gpu in gpus if gpu["Manufacturer"] == "NVIDIA"]:
        [gpu] = nvidia
        # A type with a part of a GPU has count 0 and one logical GPU.
        return Device(gpu["Name"], "nvidia", gpu["LogicalGpuCount"], gpu["MemoryInfo"]["SizeInMiB"])
    if neuron := specification.get("NeuronInfo", {}).get("NeuronDevices", []):
        [device] = neuron
        return Device(device["Name"], "neuron", device["Count"], device["MemoryInfo"]["SizeInMiB"])
    return None


def _accelerator(specification: Mapping[str, Any], device: Device, regions: set[str]) -> Accelerator:
    [architecture] = specification["ProcessorInfo"]["SupportedArchitectures"]
    return Accelerator(
        instance_type=specification["InstanceType"],
        accelerator=device.name,
        accelerator_kind=device.kind,
        accelerator_count=device.count,
        accelerator_memory_gib_each=_gib(device.memory_mib),
        accelerator_memory_gib_total=_gib(device.memory_mib * device.count),
        vcpus=specification["VCpuInfo"]["DefaultVCpus"],
        memory_gib=_gib(specification["MemoryInfo"]["SizeInMiB"]),
        local_nvme_gb=specification.get("InstanceStorageInfo", {}).get("TotalSizeInGB", 0),
        efa_interfaces=specification["NetworkInfo"].get("EfaInfo", {}).get("MaximumEfaInterfaces", 0),
        architecture=architecture,
        regions=tuple(sorted(regions)),
    )


def _gib(mib: int) -> float:
    return round(mib / 1024, 2)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".")
    return " ".join(value) if isinstance(value, tuple) else str(value)


def _path_inside(package: str, path: str) -> Path:
    """A data file or folder of an installed package, found without importing the package (seconds each)."""
    try:
        found = Path(str(metadata.distribution(package).locate_file(path)))
    except metadata.PackageNotFoundError as missing:
        raise FileNotFoundError(
            f"the development package {package} is not installed: `make test` installs what the tests need"
        ) from missing
    if not found.exists():
        version = metadata.version(package)
        raise FileNotFoundError(
            f"{package} {version} has no {path}: look for its new place and name it in ops/accelerators.py"
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
