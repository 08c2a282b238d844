"""A change of a row, whose fields are within fields."""

from rocketconnect_sdk.schema import STRING, Schema, Type, struct
from rocketconnect_sdk.transforms import Record

NUMBER = Schema(Type.INT64, optional=True)
SECRET = Schema(Type.STRING, optional=True)


def change(row: list[tuple[str, Schema]], before: dict[str, object] | None, after: dict[str, object]) -> Record:
    """With rows of these fields."""
    of_row = struct(row, name="row", optional=True)
    return Record({"op": "u", "before": before, "after": after}, struct([("op", STRING), ("before", of_row), ("after", of_row)]))
