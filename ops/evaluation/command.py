"""`python -m ops evaluate`: asks the API a file of questions, measures the answers, and compares two runs.

The file holds one JSON object a line: question, expected_documents (at least one of them should be found) and, if you
like, expected_answer. Tokens are those that the API reports; cost needs your model or its prices.
"""

import argparse
import gc
import hashlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from ops.aws_calls import AwsCallError, aws_client
from ops.capture.stack_files import StackFileError
from ops.evaluation.api import Api
from ops.evaluation.metrics import Prices, measure, summarise
from ops.evaluation.options import parser
from ops.evaluation.paired import compare_runs
from ops.evaluation.questions import ExpectedAnswer, QuestionFileError, read_questions
from ops.evaluation.report import comparison_lines, summary_lines
from ops.evaluation.store import AB_TESTS, BENCHMARKS, BucketStore, FolderStore, Store, StoreError, read_run
from ops.model_prices import usd_per_million_tokens
from ops.parallel import in_parallel
from ops.progress import Progress
from ops.stack_outputs import StackOutputsError, stack_outputs, stack_region


class UsageError(Exception):
    """An option does not fit; the message says why."""


def main(arguments: Sequence[str]) -> int:
    """0 when every request went through, 1 when one failed or the run cannot be kept, 2 on wrong usage or questions."""
    gc.enable()
    options = parser(__doc__).parse_args(arguments)
    try:
        return run(options)
    except (QuestionFileError, StackFileError, UsageError) as error:
        print(error, file=sys.stderr)
        return 2
    except (AwsCallError, StackOutputsError, StoreError) as error:
        print(error, file=sys.stderr)
        return 1


def run(options: argparse.Namespace) -> int:
    """Everything that can be wrong is found before the first question is asked."""
    questions = read_questions(options.questions)
    api = Api(
        options.url,
        token=_token(options.token_env),
        connections=options.parallel,
        timeout_seconds=options.timeout_seconds,
    )
    prices = _prices(options)
    region = stack_region(options.stack) if options.stack else ""
    store = _store(options, region)
    old = read_run(options.compare, region, options.profile) if options.compare else None
    pair = f"{options.name}-against-{old['name']}" if old else ""
    store.check_free(BENCHMARKS, options.name)
    if old:
        store.check_free(AB_TESTS, pair)
    done = evaluate(api, questions, prices, options)
    say = _say(options.json)
    for line in summary_lines(done):
        say(line)
    say(f"Kept as {store.write(BENCHMARKS, options.name, done)}.")
    comparison = compare_runs(old, done) if old else None
    if comparison:
        for line in comparison_lines(comparison):
            say(line)
        say(f"Kept as {store.write(AB_TESTS, pair, comparison)}.")
    if options.json:
        print(json.dumps({"summary": done["summary"], "comparison": comparison}, indent=2))
    return 1 if done["summary"]["error_rate"] else 0


def evaluate(
    api: Api, questions: Sequence[ExpectedAnswer], prices: Prices, options: argparse.Namespace
) -> dict[str, Any]:
    """The run: what was asked of whom, every result in the order of the questions, and the summary."""
    started = datetime.now(UTC)
    with Progress("Questions", len(questions)) as progress:

        def ask(expected: ExpectedAnswer) -> dict[str, Any]:
            result = measure(expected, api.ask(expected.question), options.top, prices)
            progress.advance()
            return result

        results = in_parallel(ask, questions, options.parallel)
    return {
        "name": options.name,
        "url": options.url,
        "started_at": started.isoformat(timespec="seconds"),
        "seconds": round((datetime.now(UTC) - started).total_seconds(), 1),
        "questions_file": options.questions.name,
        "questions_sha256": hashlib.sha256(options.questions.read_bytes()).hexdigest(),
        "parallel": options.parallel,
        "top": options.top,
        "usd_per_million_tokens": asdict(prices),
        "summary": summarise(results),
        "results": results,
    }


def _store(options: argparse.Namespace, region: str) -> Store:
    """The bucket of the stack or the one that is named, else a folder."""
    if not options.stack and not options.bucket:
        return FolderStore(options.output)
    instead = "name the bucket with --bucket"
    bucket = options.bucket or stack_outputs(options.stack, instead=instead).text("bucket")
    return BucketStore(aws_client("s3", region, options.profile), bucket)


def _prices(options: argparse.Namespace) -> Prices:
    """What was given as a number, else the price of the model that was named; the API does not say which it uses."""
    answer = _price_of(options.answer_model, "--usd-per-million-input and --usd-per-million-output")
    embedding = _price_of(options.embedding_model, "--usd-per-million-embedding")
    given = (options.usd_per_million_input, options.usd_per_million_output, options.usd_per_million_embedding)
    known = (answer[0], answer[1], embedding[0])
    one, two, three = (b if a is None else a for a, b in zip(given, known, strict=True))
    return Prices(input=one, output=two, embedding=three)


def _price_of(model_id: str | None, instead: str) -> tuple[float | None, float | None]:
    if model_id is None:
        return None, None
    price = usd_per_million_tokens(model_id)
    if price is None:
        raise UsageError(f"The price of {model_id} is not known. Fix: give {instead} instead.")
    return price


def _token(variable: str | None) -> str | None:
    """The bearer token. It comes by the environment, since others can read a command line."""
    if variable is None:
        return None
    token = os.environ.get(variable, "").strip()
    if not token:
        raise UsageError(
            f"The environment variable {variable} is not set. Fix: put the API's bearer token into it."
        )
    return token


def _say(as_json: bool) -> Callable[[str], None]:
    stream = sys.stderr if as_json else sys.stdout
    return lambda line: print(line, file=stream, flush=True)
