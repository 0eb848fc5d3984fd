"""`python -m ops advise`: which accelerator to take for a model, and Lambda, ECS or EKS for a workload."""

import argparse
import json
import sys
from collections.abc import Sequence
from datetime import date

from components.accelerators import sold_in
from ops.advise.choice import choose
from ops.advise.gpu_text import lines
from ops.advise.models import model_like, model_of_size
from ops.advise.options import parser, problem
from ops.advise.question import Question
from ops.advise.report import report
from ops.price_table import PriceTableError

WHATS = ("gpu", "compute", "-h", "--help")


def main(arguments: Sequence[str], today: date | None = None) -> int:
    """0 with an answer, 1 when nothing fits or the table of prices is broken, 2 on wrong usage."""
    if arguments and arguments[0] not in WHATS:
        arguments = ["gpu", *arguments]
    options_parser = parser()
    options = options_parser.parse_args(arguments)
    if options.what == "gpu" and (wrong := problem(options)):
        options_parser.error(wrong)
    try:
        return WHAT[options.what](options, today or date.today())
    except PriceTableError as error:
        print(error, file=sys.stderr)
        return 1


def question(options: argparse.Namespace) -> Question:
    """The options of `gpu` with their defaults."""
    trains = options.task != "inference"
    size = options.parameters
    model = model_like(options.like, size) if options.like else model_of_size(*size)
    return Question(
        task=options.task,
        model=model,
        region=options.region,
        precision=options.precision,
        context=options.context or (2048 if trains else 4096),
        load=(options.batch or 1) if trains else (options.requests or 4),
        days=options.days,
        tokens=options.tokens,
        interruption_hours=options.interruption_hours,
    )


def _gpu(options: argparse.Namespace, today: date) -> int:
    if not sold_in(options.region):
        print(
            f"{options.region} sells no accelerator type that this platform knows. Choose another --region.",
            file=sys.stderr,
        )
        return 1
    document = report(choose(question(options)), today)
    if options.json:
        print(json.dumps(document, indent=2))
    else:
        print("\n".join(lines(document)))
    return 0 if document["answer"] else 1


def _compute(options: argparse.Namespace, today: date) -> int:
    from ops.advise.compute_command import run

    return run(options, today)


WHAT = {"gpu": _gpu, "compute": _compute}
