"""The objects of files: one way in for dumps and manifests."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from kwhatif.sources.decoding.decode import DecodedBatch, ObjectDecoder
from kwhatif.sources.text.documents import documents
from kwhatif.sources.text.listing import Listing, NotPiecesError, split_json, split_yaml
from kwhatif.sources.text.origin import Origin, Place
from kwhatif.sources.text.problems import Problems

#: Below this the plain way is fast enough, and it knows lines.
_LARGE = 1 << 20


def read_text(
    name: str, text: bytes, decoder: ObjectDecoder, problems: Problems, known: tuple[str, str] | None = None
) -> Iterator[DecodedBatch]:
    """Everything that is in one file, as it is decoded. The same objects may come twice.

    `known` is the version and the kind of objects that do not say theirs.
    """
    try:
        listing = _split(text) if len(text) >= _LARGE else None
        if listing is not None:
            yield from decoder.listing(listing, Place(Origin(name)))
            return
    except NotPiecesError:
        pass
    for document in documents(name, text, problems):
        yield from decoder.document(document, known)


def _split(text: bytes) -> Listing | None:
    return split_json(BytesIO(text)) or split_yaml(text)


@contextmanager
def open_list(path: Path) -> Iterator[Listing | None]:
    """The list that a large JSON file is: to be decoded as it is read, so that the text is never in memory as a whole.

    None for whatever else is there, and for what can be read only once.

    Raises:
        OSError: it cannot be read.
    """
    facts = path.stat()
    if not stat.S_ISREG(facts.st_mode) or facts.st_size < _LARGE:
        yield None
        return
    with path.open("rb") as file:
        yield split_json(file)
