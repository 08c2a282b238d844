"""Writes operations to MongoDB."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pymongo import MongoClient
from pymongo.collection import Collection
from pymongo.errors import BulkWriteError, DocumentTooLarge, InvalidName, PyMongoError

from connectors.mongodb.client import OPTIONS, of_server, own_errors
from connectors.mongodb.requests import Request, SinkSettings
from rocketconnect_sdk.errors import RecordError, SystemAway
from rocketconnect_sdk.writes import Connection, Operation

Numbered = list[tuple[int, Request]]


class MongoConnection(Connection):
    """Writes without positions.

    Args:
        client: Of the server.
        place: Names it, for people.
        database: Where the collections are.
        writing: How documents are written.
    """

    def __init__(self, client: MongoClient[dict[str, Any]], place: str, database: str, writing: SinkSettings) -> None:
        self._client = client
        self._place = place
        self._database = client.get_database(database, codec_options=OPTIONS)
        self._writing = writing

    def ping(self) -> None:
        """See Connection."""
        with own_errors(self._place):
            self._database.command("ping")

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        refused: dict[int, str] = {}
        collections: dict[str, Numbered] = defaultdict(list)
        for index, operation in enumerate(operations):
            try:
                collections[operation.target].append((index, self._writing.request(operation)))
            except RecordError as error:
                refused[index] = str(error)
        with own_errors(self._place):
            for name, requests in collections.items():
                # In any order they are written side by side; what is about one document keeps its order.
                ordered = len({operations[index].key for index, _ in requests}) < len(requests)
                try:
                    self._write(self._database.get_collection(name), requests, refused, ordered=ordered)
                except InvalidName as error:
                    refused |= {index: f"no collection can have the name {name!r}: {error}" for index, _ in requests}
        return refused

    def _write(self, collection: Collection[dict[str, Any]], requests: Numbered, refused: dict[int, str], *, ordered: bool) -> None:
        while requests:
            try:
                sent(collection, [request for _, request in requests], ordered=ordered)
            except BulkWriteError as error:
                told = read_bulk_error(self._place, error.details)
                refused |= {requests[number][0]: why for number, why in told.items()}
                # One that keeps the order ends at the first that is refused.
                requests = requests[max(told) + 1 :] if ordered else []
            except DocumentTooLarge as error:
                if len(requests) == 1:
                    refused[requests[0][0]] = f"the document is too large for MongoDB: {error}"
                    return
                half = len(requests) // 2
                self._write(collection, requests[:half], refused, ordered=ordered)
                requests = requests[half:]
            else:
                return

    def close(self) -> None:
        """See Connection."""
        with suppress(PyMongoError, OSError):
            self._client.close()


def sent(collection: Collection[dict[str, Any]], requests: Sequence[Request], *, ordered: bool) -> None:
    """Sends requests, and returns when they are made. Raises what the client does."""
    collection.bulk_write(requests, ordered=ordered)


def read_bulk_error(place: str, details: Mapping[str, Any]) -> dict[int, str]:
    """By number of the request why it is refused.

    Raises:
        SystemAway, PermanentError: what is wrong is no matter of one document.
    """
    for concern in details.get("writeConcernErrors") or ():
        msg = f"{place}: the server can't say that most servers have what was written: {concern.get('errmsg')}"
        raise SystemAway(msg)
    refused: dict[int, str] = {}
    for each in details.get("writeErrors") or ():
        if (wrong := of_server(place, each.get("code"), str(each.get("errmsg")))) is not None:
            raise wrong
        refused[int(each["index"])] = f"the server refuses it: {each.get('errmsg')}"
    return refused
