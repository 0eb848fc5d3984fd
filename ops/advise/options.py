"""The options of `python -m ops advise`."""

import argparse
import math
import re
from collections.abc import Callable

from ops.advise.memory import BYTES_PER_WEIGHT
from ops.advise.models import ARCHITECTURES, BILLION, parse_size, unlike
from ops.advise.question import TASKS
from ops.command_line import add_json, region, verb_parser, whole_number

DEFAULT_REGION = "us-east-1"
EXAMPLES = """examples:
  python -m ops advise gpu --task inference --parameters 13B --requests 8 --region eu-central-1
  python -m ops advise gpu --task lora --like llama-3.1-8b --context 4096
  python -m ops advise gpu --task full --parameters 70B
  python -m ops advise gpu --task pretrain --parameters 47B/13B --days 30
  python -m ops advise compute --seconds 8 --memory-mib 1024 --requests-per-second 0.5

gpu may be left out: python -m ops advise --task inference --parameters 7B

exit code: 0 there is an answer, 1 nothing fits, 2 wrong usage
"""


def parser() -> argparse.ArgumentParser:
    """One parser for each of gpu and compute."""
    top = verb_parser(
        "advise", "What to take before anything is built; asks nobody, from dated tables.", EXAMPLES
    )
    verbs = top.add_subparsers(dest="what", required=True, metavar="gpu|compute")
    _add_gpu(verbs.add_parser("gpu", help="which accelerator instance type, and its block for the stack file",
                              epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter))  # fmt: skip
    _add_compute(verbs.add_parser("compute", help="Lambda, ECS or EKS", epilog=EXAMPLES,
                                  formatter_class=argparse.RawDescriptionHelpFormatter))  # fmt: skip
    return top


def _add_gpu(gpu: argparse.ArgumentParser) -> None:
    gpu.add_argument("--task", choices=TASKS, required=True, help="what is to be done with the model")
    gpu.add_argument("--parameters", type=parse_size, metavar="SIZE",
                     help="7B, 350M, or total/active of a mixture of experts such as 47B/13B")  # fmt: skip
    gpu.add_argument("--like", choices=sorted(ARCHITECTURES), metavar="NAME",
                     help=f"model whose shape it has, instead of one assumed from the size: {', '.join(ARCHITECTURES)}")  # fmt: skip
    gpu.add_argument("--precision", choices=sorted(BYTES_PER_WEIGHT),
                     help="of the weights, for inference and lora (default: the first of bf16, int8 and int4 that fits)")  # fmt: skip
    gpu.add_argument("--context", type=whole_number(16, 10_485_760), metavar="TOKENS",
                     help="longest request, or a training sequence (default: 4096, or 2048 in training)")  # fmt: skip
    gpu.add_argument("--requests", type=whole_number(1, 10_000), metavar="N", help="inference: requests at once (default: 4)")  # fmt: skip
    gpu.add_argument("--batch", type=whole_number(1, 10_000), metavar="N",
                     help="training: sequences on each accelerator at a time (default: 1)")  # fmt: skip
    gpu.add_argument("--tokens", type=_tokens, metavar="N",
                     help="training: tokens in all, such as 140B (default for pretrain: 20 per active parameter)")  # fmt: skip
    gpu.add_argument("--days", type=_number(0.01, 3650), metavar="N",
                     help="training: the most days it may take (default for pretrain: 14)")  # fmt: skip
    gpu.add_argument("--interruption-hours", type=_number(0.25, 8760), metavar="N",
                     help="mean hours between interruptions on spot (default: each type's, by AWS's Spot Advisor, or an assumption)")  # fmt: skip
    gpu.add_argument("--region", type=region, default=DEFAULT_REGION, help=f"default: {DEFAULT_REGION}")
    add_json(gpu)


def _add_compute(compute: argparse.ArgumentParser) -> None:
    compute.add_argument("--seconds", type=_number(0.001, 31_536_000), required=True, metavar="N",
                         help="how long a request or a run takes")  # fmt: skip
    compute.add_argument(
        "--memory-mib", type=whole_number(1, 1_048_576), required=True, metavar="MIB", help="of one process"
    )
    rate = compute.add_mutually_exclusive_group(required=True)
    rate.add_argument(
        "--requests-per-second", type=_number(0, 1_000_000), metavar="N", help="on average over a month"
    )
    rate.add_argument("--runs-per-month", type=_number(0, 1e12), metavar="N", help="instead, for jobs")
    compute.add_argument("--peak-factor", type=_number(1, 1000), default=3.0, metavar="N",
                         help="how far the busiest time is above the average (default: 3)")  # fmt: skip
    compute.add_argument("--vcpus", type=_number(0.25, 192), default=0.0, metavar="N",
                         help="of one process (default: what Lambda gives with the memory)")  # fmt: skip
    compute.add_argument("--requests-per-process", type=whole_number(1, 10_000), default=8, metavar="N",
                         help="that one process in a container works on at once (default: 8)")  # fmt: skip
    compute.add_argument("--payload-mib", type=_number(0, 1_000_000), default=0.1, metavar="MIB", help="largest request or answer (default: 0.1)")  # fmt: skip
    compute.add_argument("--gpu", action="store_true", help="it needs a GPU")
    compute.add_argument("--stateful", action="store_true", help="it keeps what it knows in its own memory or disk between requests")  # fmt: skip
    compute.add_argument(
        "--team-runs-kubernetes", action="store_true", help="the team already operates Kubernetes"
    )
    compute.add_argument("--region", type=region, default=DEFAULT_REGION, help=f"default: {DEFAULT_REGION}")
    add_json(compute)


def problem(options: argparse.Namespace) -> str:
    """What options of `gpu` mean together; empty where nothing is wrong."""
    if options.parameters is None and options.like is None:
        return "tell the size with --parameters, or a known model with --like"
    if options.like and options.parameters and (wrong := unlike(options.like, options.parameters)):
        return wrong
    if options.task == "inference":
        wrong = [name for name in ("batch", "tokens", "days") if getattr(options, name) is not None]
        return f"--{wrong[0]} is for training; inference takes --requests" if wrong else ""
    if options.days is not None and options.tokens is None and options.task != "pretrain":
        return f"--days needs --tokens: without them nothing says how long {options.task} takes"
    if options.requests is not None:
        return "--requests is for inference; training takes --batch"
    if options.precision and options.task != "lora":
        return f"--precision is for inference and lora; {options.task} trains in bf16"
    if options.precision == "fp8":
        return "--precision fp8 is for inference; lora takes bf16, int8 or int4"
    return ""


def _tokens(text: str) -> float:
    found = re.fullmatch(r"(\d{1,15}(?:\.\d{1,3})?)([MBT]?)", text.strip().upper())
    unit = {"": 1.0, "M": 1e6, "B": BILLION, "T": 1e12}
    tokens = float(found[1]) * unit[found[2]] if found else 0.0
    if not 1 <= tokens <= 1e15:
        raise argparse.ArgumentTypeError(f"{text!r} must be a number of tokens such as 500M, 140B or 2T")
    return tokens


def _number(least: float, most: float) -> Callable[[str], float]:
    def read(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if least <= value <= most:
            return value
        raise argparse.ArgumentTypeError(f"{text!r} must be a number from {least:g} to {most:g}")

    return read
