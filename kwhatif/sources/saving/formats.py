"""Objects as text: JSON, an object per line within one `v1` List, or YAML, a document per object; then compressed.

A file is there whole or not at all.
"""

from __future__ import annotations

import gzip
import os
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

_SAFE = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*")
#: What JSON writes as it is, and YAML takes for a break of the line, or refuses.
_NOT_PLAIN = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
#: Words that some YAML parser does not take for strings.
_RESERVED = frozenset(["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"])

Encode = Callable[[Iterable[Any]], Iterator[bytes]]
#: Gives a file to write: what it takes goes, compressed or not, to the file that it is given.
Compress = Callable[[IO[bytes]], AbstractContextManager[IO[bytes]]]


class Format(NamedTuple):
    """How a file is written."""

    encode: Encode
    compress: Compress


def format_of(path: str) -> Format:
    """The format that the file's name says.

    Raises:
        ValueError: it asks for none that there is.
    """
    stem = path
    compress: Compress = nullcontext
    for suffix, wrap in _COMPRESSIONS.items():
        if path.endswith(suffix):
            stem, compress = path.removesuffix(suffix), wrap
    for suffix, encode in _ENCODINGS.items():
        if stem.endswith(suffix):
            return Format(encode, compress)
    raise ValueError("must end in .json or .yaml, and perhaps .gz or .zst")


def _json(objects: Iterable[Any]) -> Iterator[bytes]:
    encode = msgspec.json.Encoder().encode
    lead = b'{"apiVersion":"v1","kind":"List","metadata":{},"items":[\n'
    for obj in objects:
        yield lead + encode(obj)
        lead = b",\n"
    yield b"\n]}\n"


def _yaml(objects: Iterable[Any]) -> Iterator[bytes]:
    for obj in objects:
        lines = ["---", *_block(msgspec.to_builtins(obj), "")]
        yield ("\n".join(lines) + "\n").encode()


def _block(value: Any, indent: str) -> list[str]:
    """The lines of a map or a list that is not empty, in block style."""
    lines: list[str] = []
    if isinstance(value, dict):
        for key, item in value.items():
            if _is_block(item):
                # Lists stand right below their key, as those that kubectl prints.
                deeper = f"{indent}  " if isinstance(item, dict) else indent
                lines += [f"{indent}{_scalar(key)}:", *_block(item, deeper)]
            else:
                lines.append(f"{indent}{_scalar(key)}: {_scalar(item)}")
        return lines
    for item in value:
        if _is_block(item):
            first, *rest = _block(item, f"{indent}  ")
            lines += [f"{indent}- {first.lstrip(' ')}", *rest]
        else:
            lines.append(f"{indent}- {_scalar(item)}")
    return lines


def _is_block(value: Any) -> bool:
    return isinstance(value, dict | list | tuple) and bool(value)


def _scalar(value: Any) -> str:
    """A value on one line; strings are quoted wherever a parser could take them for something else."""
    if isinstance(value, str) and _SAFE.fullmatch(value) and value.casefold() not in _RESERVED:
        return value
    return _NOT_PLAIN.sub(lambda char: f"\\u{ord(char[0]):04x}", msgspec.json.encode(value).decode())


def _gzip(file: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    # Neither name nor time: the same snapshot is the same file.
    return gzip.GzipFile(filename="", mode="wb", compresslevel=6, fileobj=file, mtime=0)  # type: ignore[return-value]


def _zstd(file: IO[bytes]) -> AbstractContextManager[IO[bytes]]:
    try:
        import zstandard
    except ImportError:
        raise ValueError("needs the package zstandard: pip install 'kwhatif[zst]'") from None
    return zstandard.ZstdCompressor(level=10).stream_writer(file, closefd=False)


_ENCODINGS: dict[str, Encode] = {".json": _json, ".yaml": _yaml, ".yml": _yaml}
_COMPRESSIONS: dict[str, Compress] = {".gz": _gzip, ".zst": _zstd}


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which takes the place of `path` when all is written; on any failure `path` stays as it was.

    Raises:
        OSError: it cannot be written there.
    """
    target = Path(os.path.realpath(path))  # a link stays a link
    if target.exists() and not target.is_file():
        raise OSError(0, "is not a regular file")
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(_mode(target))
        Path(name).replace(target)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise
    _sync_folder(target.parent)


def _mode(target: Path) -> int:
    """The permissions of the file that is replaced, or those of a new one."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def _sync_folder(folder: Path) -> None:
    """Let the new name survive a crash, where folders can be synced."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
