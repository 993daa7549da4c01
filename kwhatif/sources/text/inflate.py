"""Inflating what is compressed, up to a limit: a small file must not fill the memory."""

from __future__ import annotations

import gzip
import io
import re
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import IO, Protocol

GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_XZ = b"\xfd7zXZ\0"
#: Three letters would be too little to go by: the digits of pi follow, or of its square root where nothing is in it.
_BZIP2 = re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)")
#: As many bytes as are needed to see how something is compressed.
MAGIC = 10
#: Says to zlib that there is a header of gzip before the data.
_GZIP_WINDOW = 31
_CHUNK = 1 << 20
#: A block of 4 bytes of zstd can become 128 KiB.
_ZSTD_CHUNK = 1 << 12
#: A header of xz can ask for gigabytes of memory; the most that `xz -9` makes is a tenth of this.
_XZ_MEMORY = 1 << 30

#: Dumps deflate to a 20th or 50th of their size. What inflates to far more is made to fill the memory.
MAX_RATIO = 200
#: The size that small files may have whatever the ratio: a file of zeros is not an attack.
_MAX_SMALL = 64 << 20
#: As much text as is decoded; a stream from which only some is taken may be longer.
MAX_TEXT = 4 << 30
MAX_STREAM = 64 << 30

SUSPICIOUS = "inflates to a suspicious size, and was not read"
TRUST = "if you trust it, unpack it yourself"


class Unreadable(Exception):
    """A file cannot be read; the message says why, `hint` what to do about it."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint


def limit_of(size: int, *, is_stream: bool = False) -> int:
    """The most bytes from this number of compressed ones: more in a stream, of which most is dropped at once."""
    return min(max(size * MAX_RATIO, _MAX_SMALL), MAX_STREAM if is_stream else MAX_TEXT)


def inflate(data: bytes) -> bytes:
    """The data, inflated if it is gzip, zstd, xz or bzip2.

    Raises:
        Unreadable: it is broken, or too large.
    """
    if data.startswith(GZIP):
        return _gunzip(data)
    inflated = _inflating(data)
    if inflated is None:
        return data
    limit = limit_of(len(data))
    parts: list[bytes] = []
    for part in inflated(io.BytesIO(data)):
        limit -= len(part)
        if limit < 0:
            raise Unreadable(SUSPICIOUS, TRUST)
        parts.append(part)
    return b"".join(parts)


def inflated_parts(file: IO[bytes]) -> Iterator[bytes]:
    """The content of a file piece by piece, inflated if it is gzip, zstd, xz or bzip2.

    Raises:
        Unreadable: it is broken.
    """
    inflated = _inflating(file.read(MAGIC))
    file.seek(0)
    return iter(lambda: file.read(_CHUNK), b"") if inflated is None else inflated(file)


def is_compressed(head: bytes) -> bool:
    """Whether what begins so is."""
    return _inflating(head) is not None


def _inflating(head: bytes) -> Callable[[IO[bytes]], Iterator[bytes]] | None:
    """What inflates a file that begins so; None if it is not compressed."""
    for magic, parts in ((GZIP, _gzip_parts), (_ZSTD, _zstd_parts), (_XZ, _xz_parts)):
        if head.startswith(magic):
            return parts
    return _bzip2_parts if _BZIP2.match(head) else None


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


def _xz_parts(file: IO[bytes]) -> Iterator[bytes]:
    try:
        import lzma
    except ImportError:
        raise _without("xz") from None
    return _streams(file, partial(lzma.LZMADecompressor, memlimit=_XZ_MEMORY), lzma.LZMAError, "xz")


def _bzip2_parts(file: IO[bytes]) -> Iterator[bytes]:
    try:
        import bz2
    except ImportError:
        raise _without("bzip2") from None
    return _streams(file, bz2.BZ2Decompressor, OSError, "bzip2")


def _without(name: str) -> Unreadable:
    return Unreadable(f"is compressed with {name}, which this Python was built without", "unpack it yourself")


class _Decompressor(Protocol):
    @property
    def eof(self) -> bool: ...
    @property
    def needs_input(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


def _streams(
    file: IO[bytes], start: Callable[[], _Decompressor], failure_type: type[Exception], name: str
) -> Iterator[bytes]:
    """A file may have several streams, one after the other, and zeros behind them."""
    data = file.read(_CHUNK)
    while data:
        stream = start()
        while not stream.eof:
            if stream.needs_input and not data:
                raise Unreadable(f"is not a whole {name} file: the end is missing")
            try:
                part = stream.decompress(data, _CHUNK)
            except failure_type as failure:
                raise Unreadable(f"is not a valid {name} file: {failure}") from failure
            yield part
            data = file.read(_CHUNK) if stream.needs_input else b""
        data = (stream.unused_data or file.read(_CHUNK)).lstrip(b"\0")
