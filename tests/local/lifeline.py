"""What keeps a child process from outliving the one that started it."""

import os
import signal
import sys
import threading


def end_with_parent() -> None:
    """Sends this process SIGTERM when its standard input ends, as it does when its parent is gone, however it went."""

    def watch() -> None:
        sys.stdin.buffer.read()
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
