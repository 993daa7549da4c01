"""Files that a tool makes manifests of, and what to give in their place."""

from __future__ import annotations

import re
from pathlib import PurePath

BUILD = "give what `kustomize build` makes of it"
RENDER = "give what `helm template` makes of it"

#: An action of Helm's templates.
_ACTION = re.compile(rb"\{\{[^{}]*\}\}")
_BY_NAME = {"kustomization.yaml": BUILD, "kustomization.yml": BUILD, "Chart.yaml": RENDER, "values.yaml": RENDER}


def hint_for_file(file: str) -> str:
    """By the name of the file; "" for any other."""
    return _BY_NAME.get(PurePath(file).name, "")


def hint_for_text(text: bytes) -> str:
    """By what stands in a text that is neither YAML nor JSON; "" for any other."""
    return f"it looks like a template: {RENDER}" if _ACTION.search(text) else ""
