"""Addresses of servers, which may hold a password."""

from __future__ import annotations

from urllib.parse import urlsplit


def redacted(url: str) -> str:
    """The URL without the password that may be in it; of one that cannot be read, without what looks like one."""
    try:
        parts = urlsplit(url)
        password, is_address = parts.password, bool(parts.netloc)
    except ValueError:
        password, is_address = None, False
    if is_address:
        return url.replace(f":{password}@", ":xxxxx@", 1) if password else url
    head, at, tail = url.rpartition("@")
    scheme, slashes, credentials = head.rpartition("//")
    user, colon, _ = credentials.partition(":")
    return f"{scheme}{slashes}{user}:xxxxx@{tail}" if at and colon else url
