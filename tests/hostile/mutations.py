"""What is done to an input: to the structure of its objects, or to the bytes of its files."""

import gzip
import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.differential.dice import Dice

#: Where a value stands: its container, and the key or index in it.
Spot = tuple[Any, Any]

ODD: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 0.5, -0.0, 1e308, 2**31 - 1, 2**31, -(2**31), 2**53, 2**63 - 1, 2**63, 2**64, 10**40,
    "", " ", "0", "-1", "null", "~", "true", "1e3", "1E9", "1e1000", "0x10", "1m1", "1Ei", "16Ti", "9999999999999Ei",
    "-5", "100m", "0.1m", "1n", ".5", "5.", "+1", "Infinity", "NaN", "50%", "101%", "-3%", "[red]x[/red]", "\x1b[31m",
    "a\u202eb", "\u0000", "ünï", "a/b/c", "/", "..", "-x", "*", "{}", "2026-02-30T00:00:00Z", "2026-01-01", "x" * 300,
    [], {}, [None], [[]], [{}], {"": None}, {"a": {"b": {"c": []}}}, ["a", 1], {"matchLabels": None},
)  # fmt: skip


def structure(dice: Dice, objects: list[Any]) -> str:
    """Change something in one of the objects, and say what."""
    spots = list(_spots(objects))
    if not spots:
        objects.append(dice.one(ODD))
        return "append"
    container, key = dice.one(spots)
    name, change = dice.one(_STRUCTURE)
    change(dice, container, key, spots)
    return f"{name} {key}"


def _spots(value: Any) -> Iterator[Spot]:
    if isinstance(value, dict | list):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _spots(value[key])


def _drop(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    del container[key]


def _odd(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    container[key] = copied(dice.one(ODD))


def _number(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    """An odd number where a number stands: those are accepted most often."""
    numbers = [(c, k) for c, k in spots if isinstance(c[k], int) and not isinstance(c[k], bool)]
    container, key = dice.one(numbers or [(container, key)])
    container[key] = dice.pick(0, 1, -1, 2**31 - 1, 2**31, 2**63 - 1, 10**9, 10**6, 100_001, "3", 2.5)


def _swap(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    other, place = dice.one(spots)
    first, second = copied(container[key]), copied(other[place])
    container[key] = second
    if place in other if isinstance(other, dict) else place < len(other):
        other[place] = first


def _graft(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    source, place = dice.one(spots)
    container[key] = copied(source[place])


def _like(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    """Another value of the same kind: these are accepted most often."""
    kind = type(container[key])
    container[key] = copied(dice.one([c[k] for c, k in spots if type(c[k]) is kind]))


def _small(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    """Another small number where a number or an amount stands."""
    numbers = [(c, k) for c, k in spots if isinstance(c[k], int | str) and str(c[k])[:1].isdigit()]
    container, key = dice.one(numbers or [(container, key)])
    container[key] = (
        dice.pick(0, 1, 2, 7, 100, 1000)
        if isinstance(container[key], int)
        else dice.pick("0", "1", "1m", "7", "64Gi", "1k")
    )


def _rename(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    if isinstance(container, dict):
        name = str(key)
        new = dice.pick(name + "s", name[:-1], name.upper(), name.capitalize(), f" {name}", "", "x" * 64, f"{name}/y")
        container[new] = container.pop(key)
    else:
        container.insert(key, copied(container[key]))


def _nest(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    value = container[key]
    for _ in range(dice.pick(1, 2, 60)):
        value = [value] if dice.chance(0.5) else {"spec": value}
    container[key] = value


def _long(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    """A very long text where one stands: what looks at each part of it again and again takes forever."""
    texts = [(c, k) for c, k in spots if isinstance(c[k], str)]
    container, key = dice.one(texts or [(container, key)])
    part = dice.pick("x", "[", "*", "*a", "(", ",", "a=b,", "a in (", "=", "/", ":", "-", ".", " ", "9", "0", "'", '"', "{", "a.", "1s", "%", "$(", "\n", "{{")  # fmt: skip
    container[key] = f"{container[key]}{part * (dice.pick(300, 5000, 100_000) // len(part))}"


def _repeat(dice: Dice, container: Any, key: Any, spots: list[Spot]) -> None:
    lists = [(c, k) for c, k in spots if isinstance(c[k], list) and c[k]]
    if lists:
        container, key = dice.one(lists)
        container[key].extend(copied(dice.one(container[key])) for _ in range(dice.pick(1, 1, 2, 40)))


_STRUCTURE: tuple[tuple[str, Callable[[Dice, Any, Any, list[Spot]], None]], ...] = (
    ("drop", _drop), ("odd", _odd), ("odd", _odd), ("odd", _odd), ("number", _number), ("number", _number),
    ("like", _like), ("like", _like), ("like", _like), ("small", _small), ("small", _small), ("drop", _drop),
    ("swap", _swap), ("graft", _graft), ("rename", _rename), ("nest", _nest), ("repeat", _repeat), ("long", _long),
)  # fmt: skip


def copied(value: Any) -> Any:
    """A copy that shares nothing."""
    return json.loads(json.dumps(value))


def damage(dice: Dice, data: bytes) -> tuple[str, bytes]:
    """Change bytes of a file, and say how."""
    name, change = dice.one(_BYTES)
    return name, change(dice, data)


def _at(dice: Dice, data: bytes) -> int:
    return dice.randrange(len(data) + 1)


def _insert(dice: Dice, data: bytes) -> bytes:
    bad = dice.pick(b"\xff", b"\xc3", b"\xed\xa0\x80", b"\x00", b"\x1b[2J", b"\t", b"\r", b"\x85", b"\xe2\x80\xa8", b"%", b"&a *a", b"*x",
                    b"!!python/object:os.system x", b"!!binary x", b"\n---\n", b"\n...\n", b"'", b'"', b"{", b"]", b"# ", b": ", b"- ")  # fmt: skip
    place = _at(dice, data)
    return data[:place] + bad + data[place:]


def _flip(dice: Dice, data: bytes) -> bytes:
    changed = bytearray(data or b"x")
    for _ in range(dice.pick(1, 1, 3, 20)):
        changed[dice.randrange(len(changed))] = dice.randrange(256)
    return bytes(changed)


def _cut(dice: Dice, data: bytes) -> bytes:
    first, last = sorted((_at(dice, data), _at(dice, data)))
    return dice.pick(data[:first], data[first:], data[:first] + data[last:])


def _lines(dice: Dice, data: bytes) -> bytes:
    lines = data.split(b"\n")
    at, other = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines.insert(at, dice.pick(lines[other], b"  " + lines[other], lines[other].lstrip()))
    return b"\n".join(lines)


def _encode(dice: Dice, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return text.encode(dice.pick("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "cp1252", "utf-7"), "replace")


def _packed(dice: Dice, data: bytes) -> bytes:
    """Compressed, and perhaps damaged: what a file holds is found out by its first bytes."""
    packed = gzip.compress(data, mtime=0)
    return dice.pick(packed, packed[: len(packed) // 2], packed + b"x", _flip(dice, packed), b"\x1f\x8b" + data[:40],
                     b"\xfd7zXZ\x00" + data[:40], b"BZh9" + data[:40], b"PK\x03\x04" + data[:40], b"\x28\xb5\x2f\xfd" + data[:40])  # fmt: skip


def _deep(dice: Dice, data: bytes) -> bytes:
    place = _at(dice, data)
    return data[:place] + dice.pick(b"[", b"{a: ", b"- ", b'{"a":[') * dice.pick(100, 2000, 200_000) + data[place:]


_BYTES: tuple[tuple[str, Callable[[Dice, bytes], bytes]], ...] = (
    ("insert", _insert), ("insert", _insert), ("flip", _flip), ("cut", _cut), ("lines", _lines),
    ("encode", _encode), ("packed", _packed), ("deep", _deep),
)  # fmt: skip
