"""Inflating what is compressed, up to a limit: a small file must not fill the memory."""

from __future__ import annotations

import io
import zlib

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP_WINDOW = 31

#: Dumps deflate to a 20th or 50th of their size. What inflates to far more is made to fill the memory.
MAX_RATIO = 200
_MAX_SMALL = 64 << 20
_MAX_INFLATED = 4 << 30

SUSPICIOUS = "inflates to a suspicious size, and was not read"


class Unreadable(Exception):
    """A file cannot be read; the message says why."""


def limit_of(size: int) -> int:
    """How many bytes so many compressed ones may become."""
    return min(max(size * MAX_RATIO, _MAX_SMALL), _MAX_INFLATED)


def inflate(data: bytes) -> bytes:
    """The data, inflated if it is gzip or zstd.

    Raises:
        Unreadable: it is broken, or too large.
    """
    if data.startswith(_GZIP):
        return _gunzip(data)
    return _unzstd(data) if data.startswith(_ZSTD) else data


def _gunzip(data: bytes) -> bytes:
    limit = limit_of(len(data))
    parts: list[bytes] = []
    rest = data
    try:
        while rest.startswith(_GZIP):  # a gzip file may have several members
            member = zlib.decompressobj(_GZIP_WINDOW)
            parts.append(member.decompress(rest, limit + 1))
            limit -= len(parts[-1])
            if limit < 0:
                raise Unreadable(SUSPICIOUS)
            if not member.eof:
                raise Unreadable("is not a whole gzip file: the end is missing")
            rest = member.unused_data
    except zlib.error as failure:
        raise Unreadable(f"is not a valid gzip file: {failure}") from failure
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _unzstd(data: bytes) -> bytes:
    try:
        import zstandard
    except ImportError:
        raise Unreadable("is compressed with zstd: pip install 'kwhatif[zst]'") from None
    limit = limit_of(len(data))
    reader = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(data), read_across_frames=True)
    try:
        inflated: bytes = reader.read(limit + 1)
    except zstandard.ZstdError as failure:
        raise Unreadable(f"is not a valid zstd file: {failure}") from failure
    if len(inflated) > limit:
        raise Unreadable(SUSPICIOUS)
    return inflated
