"""Which CPU and memory sizes Fargate accepts together. Pure.

https://docs.aws.amazon.com/AmazonECS/latest/developerguide/task-cpu-memory-error.html, read 2026-12-01; the largest
CPU size is from the data of cfn-lint 1.58.0, to which a test holds all of them.
"""

_SIZES_MIB: dict[int, tuple[int, ...]] = {
    256: (512, 1024, 2048),
    512: tuple(range(1024, 4096 + 1, 1024)),
    1024: tuple(range(2048, 8192 + 1, 1024)),
    2048: tuple(range(4096, 16384 + 1, 1024)),
    4096: tuple(range(8192, 30720 + 1, 1024)),
    8192: tuple(range(16384, 61440 + 1, 4096)),
    16384: tuple(range(32768, 122880 + 1, 8192)),
    32768: (61440, 122880, 249856),
}


def memory_sizes_mib(cpu_units: int) -> tuple[int, ...]:
    """The memory sizes that go with `cpu_units`, ascending; empty for a CPU size that Fargate does not have."""
    return _SIZES_MIB.get(cpu_units, ())


def described_sizes(cpu_units: int) -> str:
    """The memory sizes that go with `cpu_units`, in words."""
    sizes = memory_sizes_mib(cpu_units)
    if len(sizes) <= 4:
        return f"{', '.join(map(str, sizes))} MiB"
    return f"{sizes[0]} to {sizes[-1]} MiB in steps of {sizes[1] - sizes[0]}"
