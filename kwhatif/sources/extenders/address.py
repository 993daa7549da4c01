"""Addresses of extenders."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from kwhatif.scheduler.framework.extender import ExtenderError
from kwhatif.sources.address import redacted


def split(url: str) -> SplitResult:
    """The URL's parts.

    Raises:
        ExtenderError: it is not a URL, or of another scheme than http and https.
    """
    shown = redacted(url)
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError as failure:
        raise ExtenderError(f'parse "{shown}": {failure}') from failure
    if parts.scheme not in ("http", "https"):
        raise ExtenderError(f'Post "{shown}": unsupported protocol scheme "{parts.scheme}"')
    return parts
