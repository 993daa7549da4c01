"""Write the fields of all kinds that one Kubernetes version serves to `kwhatif/schema/kubernetes-X.Y.json.gz`.

usage: api_fields.py vX.Y.Z... (needs Go, which fetches the module k8s.io/kubernetes of each version)

They come from the OpenAPI document that a Kubernetes release holds (`api/openapi-spec/swagger.json`). `kinds` gives the
type of every kind that can be created, by its `apiVersion`; `types` the fields of each type; a field says what it is
in few letters, which `kwhatif/sources/decoding/strict.py` explains. The same version gives the same bytes.
"""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SCHEMAS = Path(__file__).parents[1] / "kwhatif" / "schema"
_REF = "#/definitions/"
_CREATE = "x-kubernetes-action", "post"
#: Types of which the document does not say what they accept.
_SPECIAL = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": "q",
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": "x",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "*",
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": "*",
}
_SCALARS = {
    ("string", ""): "s",
    ("string", "date-time"): "s",
    ("string", "byte"): "y",
    ("boolean", ""): "b",
    ("integer", "int32"): "i",
    ("integer", "int64"): "l",
    ("number", "double"): "n",
}


class Table:
    """The types that kinds are made of, numbered as they are met."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._numbers: dict[str, int] = {}
        self.types: list[dict[str, str]] = []

    def number(self, name: str) -> int:
        """The number of a type that has fields."""
        if name not in self._numbers:
            self._numbers[name] = len(self.types)
            fields: dict[str, str] = {}
            self.types.append(fields)
            properties = self._definitions[name].get("properties", {})
            fields.update((field, self._code(schema)) for field, schema in sorted(properties.items()))
        return self._numbers[name]

    def _code(self, schema: dict[str, Any]) -> str:
        if reference := schema.get("$ref"):
            return self._named(reference.removeprefix(_REF))
        match schema.get("type"):
            case "array":
                return "[" + self._code(schema["items"])
            case "object":
                return "{" + self._code(schema["additionalProperties"]) if "additionalProperties" in schema else "o"
            case None:
                return "*"
        return _SCALARS[schema["type"], schema.get("format", "")]

    def _named(self, name: str) -> str:
        definition = self._definitions[name]
        if name in _SPECIAL:
            return _SPECIAL[name]
        if definition.get("type") == "object":
            return str(self.number(name))
        return self._code(definition)


def created(paths: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """`apiVersion` and kind of all that can be created by itself, sorted; not what belongs to another object's path."""
    found = set()
    for path, operations in paths.items():
        post = operations.get("post", {})
        if post.get(_CREATE[0]) == _CREATE[1] and "{name}" not in path:
            kind = post["x-kubernetes-group-version-kind"]
            found.add((f"{kind['group']}/{kind['version']}".lstrip("/"), kind["kind"]))
    yield from sorted(found)


def type_of(definitions: dict[str, Any], api_version: str, kind: str) -> str:
    """The definition of a kind."""
    group, _, version = api_version.rpartition("/")
    wanted = {"group": group, "kind": kind, "version": version}
    (name,) = (name for name, d in definitions.items() if wanted in d.get("x-kubernetes-group-version-kind", ()))
    return name


def table(swagger: dict[str, Any], version: str) -> dict[str, Any]:
    """What is written."""
    definitions = swagger["definitions"]
    types = Table(definitions)
    kinds: dict[str, dict[str, int]] = {}
    for api_version, kind in created(swagger["paths"]):
        kinds.setdefault(api_version, {})[kind] = types.number(type_of(definitions, api_version, kind))
    return {"version": version, "kinds": kinds, "types": types.types}


def swagger_of(version: str) -> dict[str, Any]:
    """The OpenAPI document of a release."""
    command = ["go", "mod", "download", "-json", f"k8s.io/kubernetes@{version}"]
    module = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    found: dict[str, Any] = json.loads((Path(module["Dir"]) / "api" / "openapi-spec" / "swagger.json").read_bytes())
    return found


def main() -> None:
    """Write the table of every version that is named."""
    for version in sys.argv[1:] or sys.exit(__doc__):
        minor = ".".join(version.removeprefix("v").split(".")[:2])
        text = json.dumps(table(swagger_of(version), version), separators=(",", ":"), sort_keys=True)
        path = SCHEMAS / f"kubernetes-{minor}.json.gz"
        path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        print(f"wrote {path.name}: {len(text)} bytes, {path.stat().st_size} compressed")


if __name__ == "__main__":
    main()
