"""Keeps the bucket's `raw/` as a folder is: what is added, changed or removed there is so in the bucket."""

import threading
import traceback
from pathlib import Path
from typing import Any

PREFIX = "raw/"
PAUSE_SECONDS = 0.5
Seen = dict[str, tuple[int, int]]


class Mirror:
    """Looks at `folder` again and again in a thread; files whose names begin with a dot are left out."""

    def __init__(self, folder: Path, s3: Any, bucket: str) -> None:
        self._folder = folder
        self._s3 = s3
        self._bucket = bucket
        self._seen: Seen = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Mirror":
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Brings the bucket up to date once."""
        now = self._files()
        for name in sorted(
            now.keys() - self._seen.keys() | {name for name in now if self._changed(name, now)}
        ):
            content = (self._folder / name).read_bytes()
            self._s3.put_object(Bucket=self._bucket, Key=PREFIX + name, Body=content)
            self._seen[name] = now[name]
        for name in sorted(self._seen.keys() - now.keys()):
            self._s3.delete_object(Bucket=self._bucket, Key=PREFIX + name)
            del self._seen[name]

    def _changed(self, name: str, now: Seen) -> bool:
        return self._seen.get(name) != now[name]

    def _files(self) -> Seen:
        found: Seen = {}
        for path in self._folder.rglob("*"):
            name = path.relative_to(self._folder).as_posix()
            if path.is_file() and not any(part.startswith(".") for part in name.split("/")):
                about = path.stat()
                found[name] = (about.st_mtime_ns, about.st_size)
        return found

    def _run(self) -> None:
        while not self._ended.is_set():
            try:
                self.look()
            except OSError:
                pass  # a file that went away while it was looked at; the next look sees how it is
            except Exception:
                traceback.print_exc()
            self._ended.wait(PAUSE_SECONDS)
