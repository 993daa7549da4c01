"""No room is so big that a newcomer gets lost in it."""

from pathlib import Path

import kwhatif

_PACKAGE = Path(kwhatif.__file__).parent
#: How many lines a module may have.
_CEILING = 400


def test_modules_stay_below_the_ceiling() -> None:
    lengths = {
        path.relative_to(_PACKAGE).as_posix(): len(path.read_bytes().splitlines()) for path in _PACKAGE.rglob("*.py")
    }
    assert {name for name, lines in lengths.items() if lines > _CEILING} == set()
