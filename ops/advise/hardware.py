"""What the accelerators of the instance types can do beyond their memory: speed, and how they are joined. Pure."""

from dataclasses import dataclass

from components.accelerators import Accelerator


@dataclass(frozen=True, kw_only=True)
class Chip:
    """One accelerator: dense bf16 peak and memory speed as its maker publishes them, and the link to its neighbours.

    `bf16_tflops` is None where sources disagree or nothing is published; 0 means that it has no bf16 at all.
    """

    bf16_tflops: float | None
    memory_gb_per_second: float | None
    link: str
    serves_llms: bool = True


NVIDIA_SHEETS = "NVIDIA's data sheets, dense, read 2026-12-02 (ops/advise/hardware.py names a page for each)"
NEURON_PAGES = "AWS Neuron documentation, architecture pages, read 2026-12-02"
# GPUs of the G families are joined by PCIe only. The A10G's bf16 peak differs between sources (62 to 125), and NVIDIA
# publishes none without sparsity for the RTX PRO servers.
# NVLink: https://github.com/aws-samples/awsome-distributed-training, EFA cheatsheet. bf16 of L4 to H200: torchtitan's
# peak table. Blackwell: 64 TB/s of the eight B200 of a DGX, https://glennklockwood.com/garden/processors/B200; B300,
# https://glennklockwood.com/garden/processors/B300 and https://datacrunch.io/blog/nvidia-b300-vs-b200-complete-gpu-comparison-to-date.
# RTX PRO: https://www.nvidia.com/en-us/data-center/rtx-pro-6000-blackwell-server-edition/ and
# https://www.exxactcorp.com/blog/benchmark/nvidia-rtx-pro-4500-blackwell-llm-inference-benchmark.
# Neuron: https://awsdocs-neuron.readthedocs-hosted.com/en/latest/about-neuron/arch/neuron-hardware/trainium2.html, and
# the pages of inferentia2 and trainium beside it.
CHIPS = {
    "T4": Chip(bf16_tflops=0, memory_gb_per_second=320, link="PCIe"),
    "T4g": Chip(bf16_tflops=0, memory_gb_per_second=320, link="PCIe"),
    "A10G": Chip(bf16_tflops=None, memory_gb_per_second=600, link="PCIe"),
    "L4": Chip(bf16_tflops=121, memory_gb_per_second=300, link="PCIe"),
    "L40S": Chip(bf16_tflops=362, memory_gb_per_second=864, link="PCIe"),
    "RTX PRO 4500": Chip(bf16_tflops=None, memory_gb_per_second=800, link="PCIe"),
    "RTX PRO Server 6000": Chip(bf16_tflops=None, memory_gb_per_second=1597, link="PCIe"),
    "A100": Chip(bf16_tflops=312, memory_gb_per_second=1555, link="NVLink"),
    "H100": Chip(bf16_tflops=989, memory_gb_per_second=3350, link="NVLink"),
    "H200": Chip(bf16_tflops=989, memory_gb_per_second=4800, link="NVLink"),
    "B200": Chip(bf16_tflops=2250, memory_gb_per_second=8000, link="NVLink"),
    "B300": Chip(bf16_tflops=2250, memory_gb_per_second=8000, link="NVLink"),
    # The first Inferentia has 8 GiB a chip and no support for large language models in today's servers.
    "Inferentia": Chip(bf16_tflops=None, memory_gb_per_second=None, link="NeuronLink", serves_llms=False),
    "Inferentia2": Chip(bf16_tflops=190, memory_gb_per_second=820, link="NeuronLink"),
    "Trainium": Chip(bf16_tflops=190, memory_gb_per_second=820, link="NeuronLink"),
    "Trainium2": Chip(bf16_tflops=667, memory_gb_per_second=2900, link="NeuronLink"),
}
# EC2 calls both A100 by one name; that of 80 GB (p4de) has faster memory. https://glennklockwood.com/garden/processors/A100
A100_OF_80_GIB = Chip(bf16_tflops=312, memory_gb_per_second=2039, link="NVLink")


def chip_of(entry: Accelerator) -> Chip:
    """A chip without figures for one that came after this table."""
    if entry.accelerator == "A100" and entry.accelerator_memory_gib_each > 40:
        return A100_OF_80_GIB
    return CHIPS.get(entry.accelerator, Chip(bf16_tflops=None, memory_gb_per_second=None, link="not known"))


def link_of(entry: Accelerator) -> str:
    """How the accelerators of one instance are joined; empty for a single one."""
    return chip_of(entry).link if entry.accelerator_count > 1 else ""


def peak_flops(entry: Accelerator) -> float | None:
    """Dense bf16 operations a second of the whole instance; a part of a GPU (g6f) is not counted."""
    peak = chip_of(entry).bf16_tflops
    is_part = entry.instance_type.split(".")[0] in ("g6f", "gr6f")
    return None if not peak or is_part else peak * 1e12 * entry.accelerator_count
