"""The report as JSON or YAML."""

from __future__ import annotations

from typing import Any, Protocol


class Data(Protocol):
    """A report, or a comparison of two."""

    def to_json(self, indent: int = 0) -> str: ...  # noqa: D102

    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


def to_json(report: Data) -> str:
    """Indented JSON, in the order of the schema."""
    return report.to_json(indent=2) + "\n"


def to_yaml(report: Data) -> str:
    """YAML with the same content."""
    import yaml

    return yaml.safe_dump(report.to_dict(), sort_keys=False, allow_unicode=True, width=120)
