"""`Layout`: what is known about a tree of files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kwhatif.model.caveat import Caveat

#: Path of a file -> the kind that it holds; "": whatever it says; None: it is not read.
KindOf = Callable[[str], str | None]
#: Content of files that say what is missing, by path -> caveats.
Caveats = Callable[[Mapping[str, bytes]], Iterable[Caveat]]


class Layout(NamedTuple):
    """A tree that was recognized."""

    #: What the tool's dump is called, with its article.
    name: str
    kind_of: KindOf
    #: Whether a file says what is missing; it may hold objects besides.
    is_note: Callable[[str], bool] = lambda _: False
    caveats: Caveats = lambda _: ()
    #: Whether a kind of which there is no file was not dumped; else the cluster may simply have none.
    is_whole: bool = True
