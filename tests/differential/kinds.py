"""What kind of disagreement it is: alike ones are reported once, and a case is shrunk without changing its kind."""

import re
from typing import Any

from tests.conformance.compare import Difference

_NAMES = re.compile(r"\"[^\"]*\"|\[[^\]]*\]|\S*[/\d]\S*")


def kind_of(found: list[Difference]) -> str:
    """The first difference without the names in it; "" for none."""
    if not found:
        return ""
    aspect, wanted, got = found[0]
    what = aspect.partition("[")[0]
    return f"{what}: {_detail(what, wanted, got)}"


def _detail(what: str, wanted: Any, got: Any) -> str:
    if what == "refused":
        return _NAMES.sub("_", str(got).partition("\n")[0].rpartition(": ")[2])
    if what == "error":
        return f"{_NAMES.sub('_', str(wanted))[:60]} / {_NAMES.sub('_', str(got))[:60]}"
    if what == "rejected":
        return f"{_verdict(wanted)} / {_verdict(got)}"
    if what == "scores":
        names = {name for scores in (wanted[1], got[1]) for name in scores}
        return " ".join(sorted(name for name in names if wanted[1].get(name) != got[1].get(name)))
    return f"{type(wanted).__name__} / {type(got).__name__}"


def _verdict(row: Any) -> str:
    """Plugin and reasons, without names and numbers."""
    return f"{row[1]} {[_NAMES.sub('_', reason)[:50] for reason in row[2]]}" if row else "fits"
