"""The report as JSON or YAML."""

from __future__ import annotations

from kwhatif.report import Report


def to_json(report: Report) -> str:
    """Indented JSON, in the order of the schema."""
    return report.to_json(indent=2) + "\n"


def to_yaml(report: Report) -> str:
    """YAML with the same content."""
    import yaml

    return yaml.safe_dump(report.to_dict(), sort_keys=False, allow_unicode=True, width=120)
