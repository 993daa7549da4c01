"""What a team has agreed on, in files: the policy of the gate, and the baseline of an audit."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO

from kwhatif.errors import InputError
from kwhatif.policy.baseline import KIND, Baseline, build_baseline
from kwhatif.policy.build import Rulebook, build_rulebook
from kwhatif.sources.decoding.config_file import read_config
from kwhatif.sources.text.files import exists

NAMES = ("kwhatif.yaml", ".kwhatif.yaml")


def find_policy(folder: Path) -> Path | None:
    """The policy file in the folder, or in the root of the repository that it belongs to."""
    root = next((above for above in (folder, *folder.parents) if exists(str(above / ".git"))), folder)
    places = [place / name for place in dict.fromkeys((folder, root)) for name in NAMES]
    return next((place for place in places if exists(str(place)) and os.path.isfile(place)), None)  # noqa: PTH113 - never raises


def read_policy(path: str, *, stdin: BinaryIO) -> Rulebook:
    """The policy in a file.

    Raises:
        InputError: with everything that is wrong with it, and the lines.
    """
    file = read_config(path, stdin=stdin, kind="Policy")
    try:
        return build_rulebook(file.data, file.name, file.line_of)
    except InputError as failure:
        raise file.located(failure) from None


def read_baseline(path: str, *, stdin: BinaryIO) -> tuple[Baseline, str]:
    """The baseline in a file, and the name of the file.

    Raises:
        InputError: with everything that is wrong with it, and the lines.
    """
    file = read_config(path, stdin=stdin, kind=KIND)
    try:
        return build_baseline(file.data, file.name), file.name
    except InputError as failure:
        raise file.located(failure) from None
