"""Collections of FerretDB, which speaks MongoDB's protocol: no MongoDB comes through a package registry."""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from typing import Any

from pymongo import MongoClient, ReplaceOne

from bench.systems import moved
from bench.systems.driving import sinking, sourcing
from bench.systems.system import Compared, Move
from connectors.mongodb.sink import MongodbSink
from connectors.mongodb.source import MongodbSource
from tests.servers.mongodb.ferretdb import FerretDb

_DATABASE, _FULL, _TARGET = "shop", "full", "target"
_AT_ONCE = 1_000


@contextmanager
def compared(records: int) -> Iterator[list[Compared]]:
    """The sink, and the source of what is there, until the end of the block."""
    with FerretDb(oplog=True).running() as server, MongoClient[dict[str, Any]](server.url) as client:
        database = client.get_database(_DATABASE)
        full, target = database.get_collection(_FULL), database.get_collection(_TARGET)
        for some in _parts(map(_document, range(records))):
            full.insert_many(some)
        writing = {"url": server.url, "database": _DATABASE, "collection": _TARGET}
        reading = {
            "url": server.url,
            "server.name": "bench",
            "database.include": _DATABASE,
            "collection.include": f"{_DATABASE}.{_FULL}",
            "capture.mode": "oplog",
            "snapshot.mode": "only",
            "document.form": "relaxed",
        }
        yield [
            Compared(
                "mongodb_sink",
                "pymongo",
                lambda: sinking(MongodbSink(), writing, records),
                lambda: _put(server.url, records),
                lambda: map(_text, target.find()),
                target.drop,
            ),
            Compared(
                "mongodb_source, what is there",
                "pymongo",
                lambda: sourcing(MongodbSource(), reading, records, _after),
                lambda: _find(server.url),
            ),
        ]


@contextmanager
def _put(url: str, records: int) -> Iterator[Move]:
    documents = [_document(number) for number in range(records)]
    with MongoClient[dict[str, Any]](url) as client:
        client.admin.command("ping")

        def move() -> tuple[str, ...]:
            _replace(client.get_database(_DATABASE).get_collection(_TARGET), documents)
            return ()

        yield move


@contextmanager
def _find(url: str) -> Iterator[Move]:
    with MongoClient[dict[str, Any]](url) as client:
        client.admin.command("ping")
        full = client.get_database(_DATABASE).get_collection(_FULL)
        yield lambda: map(_text, list(full.find(batch_size=_AT_ONCE)))


def _document(number: int) -> dict[str, Any]:
    return {"_id": moved.key(number), **json.loads(moved.text(number))}


def _replace(collection: Any, documents: Iterable[dict[str, Any]]) -> None:
    for some in _parts(documents):
        collection.bulk_write([ReplaceOne({"_id": each["_id"]}, each, upsert=True) for each in some], ordered=False)


def _parts(documents: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    left = iter(documents)
    while some := list(islice(left, _AT_ONCE)):
        yield some


def _text(document: Mapping[str, Any]) -> str | bytes:
    return moved.written({name: value for name, value in document.items() if name != "_id"})


def _after(value: Any) -> str | bytes:
    """The document of a change envelope, which is a text."""
    return _text(json.loads(value["after"]))
