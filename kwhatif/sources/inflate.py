"""Inflating what is compressed, up to a limit: a small file must not fill the memory."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from typing import IO

GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
_GZIP_WINDOW = 31
_CHUNK = 1 << 20
#: A block of 4 bytes of zstd can become 128 KiB.
_ZSTD_CHUNK = 1 << 12

#: Dumps deflate to a 20th or 50th of their size. What inflates to far more is made to fill the memory.
MAX_RATIO = 200
_MAX_SMALL = 64 << 20
#: As much text as is decoded; a stream from which only some is taken may be longer.
MAX_TEXT = 4 << 30
_MAX_STREAM = 64 << 30

SUSPICIOUS = "inflates to a suspicious size, and was not read"
TRUST = "if you trust it, unpack it yourself"


class Unreadable(Exception):
    """A file cannot be read; the message says why, `hint` what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def limit_of(size: int) -> int:
    """How many bytes so many compressed ones may become."""
    return min(max(size * MAX_RATIO, _MAX_SMALL), MAX_TEXT)


def limit_of_stream(size: int) -> int:
    """The same where most of them are thrown away at once."""
    return min(max(size * MAX_RATIO, _MAX_SMALL), _MAX_STREAM)


def inflate(data: bytes) -> bytes:
    """The data, inflated if it is gzip or zstd.

    Raises:
        Unreadable: it is broken, or too large.
    """
    if data.startswith(GZIP):
        return _gunzip(data)
    if not data.startswith(ZSTD):
        return data
    limit = limit_of(len(data))
    parts: list[bytes] = []
    for part in _zstd_parts(io.BytesIO(data)):
        limit -= len(part)
        if limit < 0:
            raise Unreadable(SUSPICIOUS, TRUST)
        parts.append(part)
    return b"".join(parts)


def inflated_parts(file: IO[bytes]) -> Iterator[bytes]:
    """The content of a file piece by piece, inflated if it is gzip or zstd.

    Raises:
        Unreadable: it is broken.
    """
    magic = file.read(4)
    file.seek(0)
    if magic.startswith(GZIP):
        return _gzip_parts(file)
    return _zstd_parts(file) if magic == ZSTD else iter(lambda: file.read(_CHUNK), b"")


def _gunzip(data: bytes) -> bytes:
    limit = limit_of(len(data))
    parts: list[bytes] = []
    rest = data
    try:
        while rest.startswith(GZIP):  # a gzip file may have several members
            member = zlib.decompressobj(_GZIP_WINDOW)
            parts.append(member.decompress(rest, limit + 1))
            limit -= len(parts[-1])
            if limit < 0:
                raise Unreadable(SUSPICIOUS, TRUST)
            if not member.eof:
                raise Unreadable("is not a whole gzip file: the end is missing")
            rest = member.unused_data
    except zlib.error as failure:
        raise Unreadable(f"is not a valid gzip file: {failure}") from failure
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _gzip_parts(file: IO[bytes]) -> Iterator[bytes]:
    try:
        with gzip.GzipFile(fileobj=file) as inflated:
            yield from iter(lambda: inflated.read(_CHUNK), b"")
    except EOFError as failure:
        raise Unreadable("is not a whole gzip file: the end is missing") from failure
    except (gzip.BadGzipFile, zlib.error) as failure:
        raise Unreadable(f"is not a valid gzip file: {failure}") from failure


def _zstd_parts(file: IO[bytes]) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise Unreadable("is compressed with zstd: pip install 'kwhatif[zst]'") from None
    try:
        data = file.read(_ZSTD_CHUNK)
        while data:  # frame by frame: only the decompressor of one frame knows whether that is whole
            frame = zstandard.ZstdDecompressor().decompressobj()
            while not frame.eof:
                if not data:
                    raise Unreadable("is not a whole zstd file: the end is missing")
                yield frame.decompress(data)
                data = frame.unused_data or file.read(_ZSTD_CHUNK)
    except zstandard.ZstdError as failure:
        raise Unreadable(f"is not a valid zstd file: {failure}") from failure
