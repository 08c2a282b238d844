"""What is sent for operations. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pymongo import DeleteOne, ReplaceOne, UpdateOne

from connectors.mongodb.documents import document, identity
from connectors.mongodb.extended import restored
from rocketconnect_sdk.errors import RecordError
from rocketconnect_sdk.writes import Op, Operation

Request = DeleteOne | ReplaceOne[dict[str, Any]] | UpdateOne


@dataclass(frozen=True, slots=True)
class SinkSettings:
    """How documents are written.

    Attributes:
        updates: Fields that a record does not have stay as they are; else it has the whole document.
        extended: Keys are extended JSON.
    """

    updates: bool = False
    extended: bool = False

    def request(self, operation: Operation) -> Request:
        """What is sent for one.

        Raises:
            RecordError: its key or its value can't be stored.
        """
        found = {"_id": identity(restored(operation.key_value) if self.extended else operation.key_value)}
        if operation.op is Op.DELETE:
            return DeleteOne(found)
        made = document(operation.value)
        if "_id" in made and made["_id"] != found["_id"]:
            msg = f"it has the _id {made['_id']!r}, and `id` gives {found['_id']!r}: set id=${{value._id}}, or leave the field out"
            raise RecordError(msg)
        # 7 is the same _id as 7.0: its type is that of the document.
        found["_id"] = made.pop("_id", found["_id"])
        if not self.updates and not operation.unchanged:
            return ReplaceOne(found, made, upsert=True)
        return UpdateOne(found, {"$set": _paths(made)} if made else {"$setOnInsert": found}, upsert=True)


def _paths(made: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in made:
        if "." in name or not name:
            msg = f"the field {name!r} has a name that no update can have: rename it by a transform, or take write.method=replace"
            raise RecordError(msg)
    return made
