"""The part of JSON Schema that the OpenAPI document uses, to check values."""

import re
from datetime import datetime
from typing import Any

TYPES = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": type(None),
}


def resolve(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Resolve references."""
    while "$ref" in node:
        assert node.keys() <= {"$ref", "description"}  # OpenAPI 3.1 allows both
        assert node["$ref"].startswith("#/")
        found = document
        for part in node["$ref"].removeprefix("#/").split("/"):
            found = found[part]
        node = found
    return node


def check(
    document: dict[str, Any],
    schema: dict[str, Any],
    value: Any,
    where: str = "",
    *,
    more: bool = False,
) -> None:
    """Check a value against a schema of the document.

    `more`: objects may have fields that it does not name.
    """
    schema = resolve(document, schema)
    if "anyOf" in schema:
        is_null = [resolve(document, each).get("type") == "null" for each in schema["anyOf"]]
        schema = resolve(document, schema["anyOf"][is_null.index(value is None)])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    fits = [kind for kind in types if isinstance(value, TYPES[kind])]
    assert fits and not (isinstance(value, bool) and "boolean" not in types), (where, value)
    assert value in schema.get("enum", [value]), where
    if isinstance(value, dict) and "properties" in schema:
        named = schema["properties"]
        assert more or value.keys() <= named.keys(), where
        assert value.keys() >= set(schema.get("required", ())), where
        for name in value.keys() & named.keys():
            check(document, named[name], value[name], f"{where}.{name}", more=more)
    if isinstance(value, list):
        assert schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)), where
        for each in value:
            check(document, schema["items"], each, f"{where}[]", more=more)
    if isinstance(value, str):
        assert schema.get("minLength", 0) <= len(value) <= schema.get("maxLength", len(value)), (
            where
        )
        assert re.fullmatch(schema.get("pattern", ".*"), value, re.DOTALL), where
        if schema.get("format") == "date-time":
            assert value.endswith("Z") and datetime.fromisoformat(value), where
    if type(value) is int:
        assert schema.get("minimum", value) <= value <= schema.get("maximum", value), where
