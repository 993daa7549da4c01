"""XML documents, whatever the cluster's names hold."""

from __future__ import annotations

from xml.etree import ElementTree as ET

#: Valid characters elsewhere, but not in XML.
_NONCHARACTERS = {0xFFFE: "\\ufffe", 0xFFFF: "\\uffff"}


def clean(text: str) -> str:
    """Text that is `safe`, without what XML does not allow."""
    return text.translate(_NONCHARACTERS)


def document(root: ET.Element) -> str:
    """The whole file."""
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"
