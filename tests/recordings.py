"""Recordings of the program that many tests read."""

import functools
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ops.capture.program import PROJECT_ROOT, record, record_program, run_main
from ops.capture.recording import Recording
from ops.capture.stack_files import load_stack_config

STACKS = ("dev", "staging", "prod")


@functools.cache
def recorded(stack: str) -> Recording:
    """The recording of a stack with its own file, made once for all tests."""
    return record(stack)


@functools.cache
def previewed(stack: str) -> Recording:
    """The same in a first preview, in which nothing that AWS computes is known."""
    return record(stack, preview=True)


def record_as(stack: str, *, project: str, changes: Mapping[str, Any] | None = None) -> Recording:
    """The program with the dev stack's file, under other names."""
    config = replace(load_stack_config(PROJECT_ROOT, "dev", changes), project=project)
    return record_program(run_main, config, stack)
