"""What is public stays as it is: a change of a signature is seen here, and decided about.

fixtures/library/signatures.txt has every public name. `pytest tests/unit/api --update-golden` writes it again. A line
that is new is a minor version; one that is gone or different is a major version (docs/api.md, "Versions").
"""

import inspect
import re
from collections.abc import Iterator
from difflib import unified_diff
from enum import Enum
from types import UnionType
from typing import Any, get_origin, is_typeddict

import msgspec
import pytest

import kwhatif
from tests import FIXTURES

GOLDEN = FIXTURES / "library" / "signatures.txt"
#: Of these, what is public beside their fields.
METHODS = {
    "Report": ("rows", "frame", "to_dict", "to_json", "_repr_html_"),
    "Comparison": ("to_dict", "to_json", "_repr_html_"),
    "Inventory": ("to_dict", "to_json"),
}


def described(name: str, value: Any) -> Iterator[str]:
    """A public name, one line for each thing that callers can rely on."""
    if inspect.isfunction(value):
        yield from function(name, value)
    elif isinstance(value, type) and issubclass(value, BaseException):
        yield f"{name}({', '.join(base.__name__ for base in value.__mro__[1:-1])})"
    elif isinstance(value, type) and issubclass(value, Enum):
        yield from (f"{name}.{member.name} = {member.value!r}" for member in value)
    elif is_typeddict(value):
        yield from (f"{name}[{field!r}]: {annotation(kind)}" for field, kind in value.__annotations__.items())
    elif value is kwhatif.Session:
        yield f"class {name}"  # callers pass it on: its fields are the house's own
    elif isinstance(value, type) and issubclass(value, msgspec.Struct):
        yield from (f"{name}.{field}: {kind}" for field, kind in fields_of(value).items())
        for method in METHODS.get(name, ()):
            yield from function(f"{name}.{method}", getattr(value, method))
    elif isinstance(value, type):
        yield f"class {name}"
    elif get_origin(value) is not None or isinstance(value, UnionType | str):
        yield f"{name} = {value if not isinstance(value, str) else 'str'}"
    else:
        raise AssertionError(f"{name}: nobody has said how {value!r} is described")


def function(name: str, value: Any) -> Iterator[str]:
    """Parameters one by one: a new one with a default breaks no caller."""
    signature = inspect.signature(value)
    yield f"{name}() -> {annotation(signature.return_annotation)}"
    for parameter in signature.parameters.values():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            (options,) = parameter.annotation.removeprefix("Unpack[").removesuffix("]").split(",")
            known = inspect.getmodule(value).__dict__.get(options) or options_of(options)
            for option, kind in sorted(known.__annotations__.items()):
                yield f"{name}({option}=...): {annotation(kind)}"
        else:
            star = {"VAR_POSITIONAL": "*", "KEYWORD_ONLY": "*, "}.get(parameter.kind.name, "")
            default = "" if parameter.default is inspect.Parameter.empty else f" = {parameter.default!r}"
            yield f"{name}({star}{parameter.name}: {annotation(parameter.annotation)}{default})"


def options_of(name: str) -> Any:
    """Options that a module imports for type checkers only."""
    from kwhatif.sources.live.kubeconfig import LiveArguments

    return {"LiveArguments": LiveArguments}[name]


def fields_of(value: type[msgspec.Struct]) -> dict[str, str]:
    found: dict[str, str] = {}
    for kind in reversed(value.__mro__):
        if issubclass(kind, msgspec.Struct):
            found |= {
                field: annotation(said) for field, said in inspect.get_annotations(kind).items() if field[0] != "_"
            }
    return {field: kind for field, kind in found.items() if field in value.__struct_fields__}


def annotation(said: Any) -> str:
    text = said if isinstance(said, str) else getattr(said, "__forward_arg__", None) or str(said)
    return re.split(r", Option\(|, _[A-Z]+\]$", text)[0].removeprefix("Annotated[")


def signatures() -> str:
    lines = [line for name in sorted(dir(kwhatif)) for line in described(name, getattr(kwhatif, name))]
    return "\n".join(lines) + "\n"


def test_no_public_signature_has_changed(request: pytest.FixtureRequest) -> None:
    made = signatures()
    if request.config.getoption("--update-golden"):
        GOLDEN.write_text(made)
    recorded = GOLDEN.read_text()
    difference = "\n".join(unified_diff(recorded.splitlines(), made.splitlines(), "recorded", "now", lineterm="", n=0))
    assert made == recorded, (
        f"{difference}\nA line that is gone or different is a major version, a new one a minor one."
    )


def test_every_function_says_what_it_takes_and_gives() -> None:
    functions = {name: value for name in dir(kwhatif) if inspect.isfunction(value := getattr(kwhatif, name))}
    for name, value in functions.items():
        signature = inspect.signature(value)
        kinds = [*(each.annotation for each in signature.parameters.values()), signature.return_annotation]
        assert inspect.Parameter.empty not in kinds, name
        assert value.__doc__, name
