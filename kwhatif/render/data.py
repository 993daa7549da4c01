"""The report as JSON or YAML."""

from __future__ import annotations

import json

import msgspec

from kwhatif.report import Report


def to_json(report: Report) -> str:
    """Indented JSON, in the order of the schema."""
    try:
        return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"
    except UnicodeEncodeError:  # a file's name that is no UTF-8
        return json.dumps(msgspec.to_builtins(report), indent=2) + "\n"


def to_yaml(report: Report) -> str:
    """YAML with the same content."""
    import yaml

    return yaml.safe_dump(msgspec.to_builtins(report), sort_keys=False, allow_unicode=True, width=120)
