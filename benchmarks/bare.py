"""References: `python -m benchmarks.bare json|yaml FILE` does the least that reading the file can mean."""

from __future__ import annotations

import gc
import sys
from pathlib import Path


def decode_json(path: Path) -> None:
    """msgspec decoding the bytes into the types that hold only what scheduling needs, and nothing else."""
    import msgspec

    from kwhatif.sources.decoding.kinds import AnyObject

    gc.disable()
    items = msgspec.defstruct("Items", [("items", tuple[AnyObject, ...])])
    msgspec.json.decode(path.read_bytes(), type=items)


def load_yaml(path: Path) -> None:
    """PyYAML's C loader."""
    import yaml

    with path.open("rb") as file:
        yaml.load(file, yaml.CSafeLoader)


if __name__ == "__main__":
    {"json": decode_json, "yaml": load_yaml}[sys.argv[1]](Path(sys.argv[2]))
