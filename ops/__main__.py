"""`python -m ops VERB`: what an operator runs before and after `pulumi up`."""

import argparse
import gc
import importlib
import os
import sys
from collections.abc import Sequence

# Verb, the module whose `main` runs it, and what it does. A module is imported only when its verb is used.
VERBS = {
    "advise": ("ops.advise.command", "which accelerator to take for a model, and Lambda, ECS or EKS"),
    "diagram": ("ops.diagram.command", "pictures of a stack for mermaid, made from what it registers"),
    "diff": ("ops.diff.command", "what a change of the program does to the stacks, for its reviewer"),
    "download": ("ops.transfer.download", "fetch a folder or an object of the lake"),
    "bootstrap": (
        "ops.bootstrap",
        "what the workflows need in AWS before the first deployment: state bucket, key, roles",
    ),
    "cost": ("ops.cost.command", "what the stacks cost in a month, idle and busy, without an AWS account"),
    "drill": ("ops.drill.command", "interrupt a node of a training run, and see whether the run goes on"),
    "evaluate": ("ops.evaluation.command", "ask the API a file of questions and measure the answers"),
    "github": ("ops.github.command", "what the workflows tell people: a comment, an issue, a job's summary"),
    "images": ("ops.images.command", "pin the machine images of a stack, or check the pins (asks AWS)"),
    "lint": ("ops.lint", "judge what the stacks register by the policy rules, without an AWS account"),
    "judge": ("ops.judges.command", "ask linters of others about the stacks, their files and the workflows"),
    "preflight": (
        "ops.preflight.command",
        "what an account lacks for a stack, before `pulumi up` (asks AWS)",
    ),
    "preview": ("ops.preview", "show what `pulumi up` would build, without an AWS account"),
    "prices": (
        "ops.prices.command",
        "read the prices of instances and services anew into their tables (asks AWS)",
    ),
    "redrive": ("ops.redrive", "send the dead letters of ingestion back into their queue"),
    "reindex": ("ops.reindex.command", "build a new vector index beside the old one and switch over to it"),
    "spot": (
        "ops.spot.command",
        "prices, scores and history of the spot market, and how often to save (asks AWS)",
    ),
    "status": (
        "ops.status.command",
        "one screen of a deployed stack: health, fleets, queues, index, cost (asks AWS)",
    ),
    "train": ("ops.train.command", "start training runs, and show, follow and stop them"),
    "upload": ("ops.transfer.upload", "send a folder, a file or standard input into the lake"),
}
EXAMPLES = """examples:
  python -m ops preview --stack dev
  python -m ops preflight --stack dev
  python -m ops status --stack dev

exit code: 0 done, 1 a finding or failure, 2 wrong usage, 130 interrupted"""
INTERRUPTED = 130
# What a shell tells of a program that wrote into a pipe without a reader: 128 and the number of SIGPIPE.
READER_LEFT = 141


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one verb and returns the exit code: 0 done, 1 a finding or failure, 2 wrong usage, 130 interrupted.

    141 where the reader of its output left before the end: what was done until then is not known to be all.
    """
    parser = argparse.ArgumentParser(
        prog="python -m ops",
        description="What an operator runs before and after `pulumi up`.",
        epilog="verbs:\n"
        + "\n".join(f"  {verb:<10}{text}" for verb, (_, text) in sorted(VERBS.items()))
        + f"\n\n{EXAMPLES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "verb", choices=sorted(VERBS), metavar="VERB", help="what to do; VERB --help shows its options"
    )
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    arguments = sys.argv[1:] if arguments is None else arguments
    if not arguments:
        parser.print_help(sys.stderr)
        parser.exit(2)
    options = parser.parse_args(arguments)
    try:
        code = importlib.import_module(VERBS[options.verb][0]).main(options.arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as `head`, has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return READER_LEFT
    except KeyboardInterrupt:
        print("Interrupted.", file=sys.stderr)
        return INTERRUPTED
    return code


if __name__ == "__main__":
    # A run is short: looking for garbage would take a quarter of it.
    gc.disable()
    exit_code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Taking the SDK's many objects apart one by one would take a second.
    os._exit(exit_code)
