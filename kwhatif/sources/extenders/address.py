"""Addresses of extenders, which may hold a password."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from kwhatif.framework.extender import ExtenderError


def redacted(url: str) -> str:
    """The URL without the password that may be in it."""
    try:
        password = urlsplit(url).password
    except ValueError:
        return url
    return url.replace(f":{password}@", ":xxxxx@", 1) if password else url


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
