"""Documents as JSON or YAML."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kwhatif.render.safe import is_safe, safe_json, safe_yaml
from kwhatif.report.row import Document

if TYPE_CHECKING:
    import yaml


def to_json(report: Document) -> str:
    """Indented JSON, in the order of the schema."""
    return safe_json(report.to_json(indent=2)) + "\n"


def to_yaml(report: Document) -> str:
    """YAML with the same content."""
    import yaml

    content = report.to_dict()
    try:
        written = _dumped(
            content, getattr(yaml, "CSafeDumper", yaml.SafeDumper)
        )  # libyaml takes a third of the time, but fails for command lines that are not UTF-8
    except UnicodeEncodeError:  # libyaml does not take what was not UTF-8 on the command line
        written = _dumped(content, yaml.SafeDumper)
    return safe_yaml(written)


def _dumped(content: object, dumper: type[yaml.SafeDumper]) -> str:
    import yaml

    class Dumper(dumper):  # type: ignore[misc, valid-type]
        """Quotes what could act, so that it can be escaped."""

        def represent_str(self, data: str) -> yaml.ScalarNode:
            style = None if is_safe(data.replace("\n", "")) else '"'
            node: yaml.ScalarNode = self.represent_scalar("tag:yaml.org,2002:str", data, style=style)
            return node

    Dumper.add_representer(str, Dumper.represent_str)
    text: str = yaml.dump(content, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120)
    return text
