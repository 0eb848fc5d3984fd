#!/bin/bash
# User data carries the platform's own files compressed: this unpacks them and runs the boot script among them.
set -euo pipefail

PLATFORM=/opt/ai-platform
UNPACK='
import base64, bz2, json, pathlib, sys
texts = json.loads(bz2.decompress(base64.b85decode("".join(sys.stdin.read().split()))))
for name, text in texts.items():
    path = pathlib.Path(sys.argv[1], name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
'
if ! platform_files | python3 -c "$UNPACK" "$PLATFORM"; then
  echo "boot: ERROR: the platform's own files cannot be unpacked"
  # A node that nothing sets up must not be paid for. Its launch template lets a shutdown end it.
  shutdown -h now
  exit 1
fi
# shellcheck source=/dev/null
source "$PLATFORM/boot.sh"
