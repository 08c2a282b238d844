"""Columns as users write them in an option: "id:int64, name, price:double"."""

from rocketconnect_sdk.schema import Schema, Type, struct

TYPES = {
    "string": Type.STRING,
    "boolean": Type.BOOLEAN,
    "int8": Type.INT8,
    "int16": Type.INT16,
    "int32": Type.INT32,
    "int64": Type.INT64,
    "float": Type.FLOAT32,
    "double": Type.FLOAT64,
}
"""The names of types, as schemas in JSON have them."""

DOC = f"name:type, separated by commas; a name alone is a string. Types: {', '.join(TYPES)}."


def parse_columns(text: str) -> Schema:
    """A struct of optional fields, in the order of the text.

    Raises:
        ValueError: says what is wrong.
    """
    fields: list[tuple[str, Schema]] = []
    for part in filter(None, map(str.strip, text.split(","))):
        name, colon, kind = (piece.strip() for piece in part.rpartition(":"))
        name, kind = (name, kind) if colon else (kind, "string")
        if not name or kind not in TYPES:
            msg = f"{part!r} is not name:type with one of the types {', '.join(TYPES)}"
            raise ValueError(msg)
        if any(name == other for other, _ in fields):
            msg = f"the column {name!r} is there twice"
            raise ValueError(msg)
        fields.append((name, Schema(TYPES[kind], optional=True)))
    return struct(fields)


def columns_problem(text: str) -> str | None:
    """What is wrong with columns, for Option.check."""
    try:
        parse_columns(text)
    except ValueError as error:
        return str(error)
    return None
