"""The platform on this machine, without an AWS account: a folder of documents, and services that answer about them.

The services are the real ones. S3, SQS, the vector store and the models are stand-ins: answers quote the documents.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

from tests.local.check import Check, CheckError
from tests.local.dead_letters import DeadLetters
from tests.local.environment import PROJECT_ROOT
from tests.local.platform import Options, Running, StartError, running

SAMPLES = Path(__file__).parent / "documents"
FOLDER = PROJECT_ROOT / "local-documents"
API_PORT = 8000
FUNCTION_PORT = 8001


class FolderError(Exception):
    """The folder of documents is none and cannot be made; the sentence says why."""


def main(arguments: list[str] | None = None) -> int:
    """Runs until Ctrl-C, or with `--check` until the round trip of a document is done.

    Returns 0 then, 1 when something failed, 2 on wrong usage.
    """
    asked = _parser().parse_args(arguments)
    logs = Path(tempfile.mkdtemp(prefix="local-platform-"))
    for number in (signal.SIGTERM, signal.SIGINT):  # both end it as Ctrl-C does, and leave nothing behind
        signal.signal(number, signal.default_int_handler)
    try:
        return _check(asked, logs) if asked.check else _serve(asked, logs)
    except KeyboardInterrupt:
        return 0
    except FolderError as error:
        print(error, file=sys.stderr)
        return 2
    except StartError as error:
        print(error, file=sys.stderr)
        _show(logs)
        return 1
    finally:
        shutil.rmtree(logs, ignore_errors=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.local",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help="documents to watch (default: local-documents)"
    )
    parser.add_argument("--check", action="store_true", help="do the round trip of a document, then end")
    parser.add_argument(
        "--opensearch", default="", metavar="URL", help="a real OpenSearch as the vector store"
    )
    parser.add_argument("--generation", choices=("NEXTGEN", "CLASSIC"), default="NEXTGEN")
    parser.add_argument(
        "--openai-base-url", default="", metavar="URL", help="a service that answers for the API"
    )
    parser.add_argument(
        "--openai-model", default="", metavar="NAME", help="its model; the key is OPENAI_API_KEY"
    )
    return parser


def _options(asked: argparse.Namespace, folder: Path, logs: Path, **ports: int) -> Options:
    openai = {"OPENAI_BASE_URL": asked.openai_base_url, "OPENAI_MODEL": asked.openai_model}
    return Options(
        folder=folder, logs=logs, generation=asked.generation, opensearch_url=asked.opensearch,
        openai=openai if asked.openai_base_url else {}, **ports,
    )  # fmt: skip


def _serve(asked: argparse.Namespace, logs: Path) -> int:
    _prepare(asked.folder)
    print("Starting ...", flush=True)
    options = _options(asked, asked.folder, logs, api_port=API_PORT, function_port=FUNCTION_PORT)
    with running(options) as platform:
        print(_summary(platform, asked.folder, logs), flush=True)
        dead_letters = DeadLetters(platform.dead_letter_queue_url)
        while not platform.stopped():
            for line in dead_letters.new():
                print(line, flush=True)
            time.sleep(1)
    raise StartError(f"A service ended by itself: {', '.join(platform.stopped())}")


def _prepare(folder: Path) -> None:
    """Make the folder, with samples in it, unless it is there."""
    try:
        if not folder.exists():
            shutil.copytree(SAMPLES, folder)
        os.scandir(folder).close()
    except OSError as error:
        reason = error.strerror or "not all samples could be copied"
        raise FolderError(
            f"--folder {folder} cannot be used: {reason}. Name a folder that you may read, or one to be made."
        ) from None


def _check(asked: argparse.Namespace, logs: Path) -> int:
    with tempfile.TemporaryDirectory(prefix="local-documents-") as name:
        folder = shutil.copytree(SAMPLES, Path(name) / "documents")
        with running(_options(asked, folder, logs)) as platform:
            print(f"The platform answers at {platform.api_url} and {platform.function_url}", flush=True)
            check = Check(platform, folder)
            try:
                check.run()
            except CheckError as error:
                print(f"  failed: {error}", flush=True)
                _show(logs)
                return 1
            finally:
                check.close()
    print("The round trip is complete.")
    return 0


def _show(logs: Path) -> None:
    for log in sorted(logs.glob("*.log")):
        lines = log.read_text(errors="replace").splitlines()[-30:]
        print(f"--- {log.stem}", *lines, sep="\n", file=sys.stderr)


def _summary(platform: Running, folder: Path, logs: Path) -> str:
    question = '{"query": "How long does the warranty last?"}'
    return f"""
The platform runs. Put documents into {folder}, change or remove them: answers follow within seconds.

  API       {platform.api_url}/v1/query
  function  {platform.function_url}
  S3, SQS   {platform.aws_url}   (bucket {platform.bucket})
  vectors   {platform.collection_url}
  logs      {logs}

Ask:
  curl -s {platform.api_url}/v1/query -H 'content-type: application/json' -d '{question}'
  curl -sN {platform.api_url}/v1/query/stream -H 'content-type: application/json' -d '{question}'
  curl -s {platform.function_url} -H 'content-type: application/json' -d '{question}'
  python -c 'from openai import OpenAI
client = OpenAI(base_url="{platform.api_url}/v1", api_key="none")
model = client.models.list().data[0].id
turns = [{{"role": "user", "content": "How long does the warranty last?"}}]
print(client.chat.completions.create(model=model, messages=turns).choices[0].message.content)'

Press Ctrl-C to stop.
"""
