"""`python -m tests.local`: the platform on this machine; see `command.py`."""

import sys
from pathlib import Path

# The functions' code is imported as it lies in their bundles.
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lambda_src"))

if __name__ == "__main__":
    from tests.local.command import main

    sys.exit(main())
