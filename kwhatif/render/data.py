"""The report as JSON or YAML."""

from __future__ import annotations

from typing import Any, Protocol

from kwhatif.render.safe import is_safe, safe_json, safe_yaml


class Data(Protocol):
    """A report, or a comparison of two."""

    def to_json(self, indent: int = 0) -> str: ...  # noqa: D102

    def to_dict(self) -> dict[str, Any]: ...  # noqa: D102


def to_json(report: Data) -> str:
    """Indented JSON, in the order of the schema."""
    return safe_json(report.to_json(indent=2)) + "\n"


def to_yaml(report: Data) -> str:
    """YAML with the same content."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Quotes what could act, so that it can be escaped."""

        def represent_str(self, data: str) -> yaml.ScalarNode:
            return self.represent_scalar(
                "tag:yaml.org,2002:str", data, style=None if is_safe(data.replace("\n", "")) else '"'
            )

    Dumper.add_representer(str, Dumper.represent_str)
    written = yaml.dump(report.to_dict(), Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return safe_yaml(written)
