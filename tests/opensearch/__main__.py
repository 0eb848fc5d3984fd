"""`python -m tests.opensearch build` fetches a real OpenSearch, `run` starts it until Enter is pressed."""

import argparse
import sys

from tests.opensearch.build import MISSING, BuildError, build, is_built
from tests.opensearch.node import running_node


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.opensearch", description=__doc__)
    command = parser.add_argument("command", choices=("build", "run")).dest
    chosen = getattr(parser.parse_args(), command)
    try:
        if chosen == "build":
            print(f"OpenSearch is built in {build()}")
            return 0
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    if not is_built():
        print(MISSING, file=sys.stderr)
        return 1
    with running_node() as url:
        input(f"OpenSearch answers at {url}; press Enter to stop it. ")
    return 0


if __name__ == "__main__":
    sys.exit(main())
