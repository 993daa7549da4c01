"""Documents held against the schemas that kwhatif ships."""

import functools
import json
from importlib.resources import files

import jsonschema
from referencing import Registry, Resource


@functools.cache
def validator(name: str) -> jsonschema.Draft202012Validator:
    """What holds a document against `schema/<name>.json`; the schema may refer to that of the report."""
    schema, report = (
        json.loads((files("kwhatif") / "schema" / f"{kind}.json").read_text()) for kind in (name, "report")
    )
    registry = Registry().with_resource(report["$id"], Resource.from_contents(report))
    return jsonschema.Draft202012Validator(schema, registry=registry)
