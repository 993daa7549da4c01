"""XML documents, whatever the cluster's names hold."""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as ET

from kwhatif.render.safe import safe

#: Valid characters elsewhere, but not in XML.
_NONCHARACTERS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


def clean(text: str) -> str:
    """Text that is `safe`, without what XML does not allow."""
    return text.translate(_NONCHARACTERS)


def suite(name: str, edits: Iterable[str]) -> ET.Element:
    """A suite of JUnit's, with the edits that its tests rest on."""
    made = ET.Element("testsuite", name=clean(name))
    lines = list(edits)
    properties = ET.SubElement(made, "properties") if lines else made
    for line in lines:
        ET.SubElement(properties, "property", name="edit", value=clean(safe(line)))
    return made


def count(element: ET.Element, tests: int, failures: int, errors: int = 0) -> None:
    """How many tests of a suite, or of all, there are, and how many of them do not pass."""
    for name, number in {"tests": tests, "failures": failures, "errors": errors}.items():
        element.set(name, str(number))


def document(root: ET.Element) -> str:
    """The whole file."""
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
