"""Turns what the SDK sends into plain values: whole numbers, paths of archives, marked secrets and unknowns. Pure."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
from pulumi.output import Unknown as SdkUnknown
from pulumi.runtime import rpc

from ops.capture.recording import Secret, Unknown


def plain(value: Any, root: Path) -> Any:
    """`value` with nothing of the SDK left in it; file paths are shown from `root`."""
    if isinstance(value, SdkUnknown) or (isinstance(value, str) and value == rpc.UNKNOWN):
        return Unknown()
    if isinstance(value, Mapping):
        return _plain_mapping(value, root)
    if isinstance(value, list | tuple):
        return [plain(item, root) for item in value]
    if isinstance(value, float) and value.is_integer():
        # Every number crosses the wire as a double.
        return int(value)
    if isinstance(value, pulumi.Asset | pulumi.Archive):
        return _plain_asset(value, root)
    return value


def _plain_mapping(value: Mapping[str, Any], root: Path) -> Any:
    if value.get(rpc._special_sig_key) == rpc._special_secret_sig:
        return Secret(plain(value["value"], root))
    return {key: plain(item, root) for key, item in value.items()}


def _plain_asset(value: Any, root: Path) -> Any:
    if isinstance(value, pulumi.AssetArchive):
        return {path: plain(item, root) for path, item in sorted(value.assets.items())}
    if isinstance(value, pulumi.StringAsset):
        return {"text": value.text}
    path = Path(getattr(value, "path", "") or "")
    return {"file": path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()}
