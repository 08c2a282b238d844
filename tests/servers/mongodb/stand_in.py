"""What speaks so much of MongoDB's protocol that a change stream can be read: no MongoDB comes through a package registry.

It keeps documents, gives an event for each change, ends streams, loses their history when it is told to, and answers with errors.
https://www.mongodb.com/docs/manual/reference/mongodb-wire-protocol/
"""

import socket
import socketserver
import struct
import threading
import time
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

import bson
from bson.codec_options import CodecOptions
from bson.int64 import Int64
from bson.timestamp import Timestamp

_QUERY, _MESSAGE, _REPLY = 2004, 2013, 1
_OPTIONS: CodecOptions[dict[str, Any]] = CodecOptions(tz_aware=True)
_BEGAN = 1_700_000_000
ERRORS = {
    13: "Unauthorized",
    43: "CursorNotFound",
    91: "ShutdownInProgress",
    189: "PrimarySteppedDown",
    216: "ElectionInProgress",
    10107: "NotWritablePrimary",
    40573: "Location40573",
    286: "ChangeStreamHistoryLost",
}


def token(moment: Timestamp, number: int) -> dict[str, str]:
    """A token of an event."""
    return {"_data": f"82{moment.time:08X}{moment.inc:08X}{number:04X}"}


class StandIn:
    """A replica set of one member.

    Attributes:
        documents: By namespace and _id.
        events: All that happened.
        oplog: The entries of its oplog, which tests write.
        oldest: The number of the first event of which it still knows.
        failures: By command what becomes of the next calls of it: the code of an error, or what `_misbehave` does.
        asked: The commands that it was given, in their order.
        labels: Of these errors.
        alone: It is no member of a replica set.
    """

    def __init__(self) -> None:
        self.documents: dict[str, dict[Any, dict[str, Any]]] = defaultdict(dict)
        self.events: list[dict[str, Any]] = []
        self.oplog: list[dict[str, Any]] = []
        self.oldest = 0
        self.failures: dict[str, deque[int | str]] = defaultdict(deque)
        self.asked: list[dict[str, Any]] = []
        self.labels: list[str] = []
        self.alone = False
        self.port = 0
        self._cursors: dict[int, int] = {}
        self._streams: dict[int, Mapping[str, Any]] = {}
        self._changed = threading.Condition()
        self._clock = 1

    @contextmanager
    def running(self) -> Iterator[Self]:
        """It answers within the block."""
        with _Server(("127.0.0.1", 0), self) as server:
            self.port = server.server_address[1]
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            try:
                yield self
            finally:
                server.shutdown()

    @property
    def url(self) -> str:
        """Of it."""
        return f"mongodb://127.0.0.1:{self.port}/"

    @property
    def now(self) -> Timestamp:
        """The time of the cluster."""
        return Timestamp(_BEGAN, self._clock)

    def insert(self, namespace: str, *documents: dict[str, Any], together: bool = False) -> None:
        """Inserts documents; together: in one transaction."""
        for number, document in enumerate(documents):
            self.documents[namespace][document["_id"]] = dict(document)
            more = {"txnNumber": Int64(5), "lsid": {"id": bson.Binary(b"s" * 16, 4)}} if together else {}
            self.tell("insert", namespace, document["_id"], together=together and number > 0, fullDocument=document, **more)

    def update(self, namespace: str, identity: Any, **fields: Any) -> None:
        """Updates a document."""
        document = self.documents[namespace].setdefault(identity, {"_id": identity})
        document.update(fields)
        self.tell("update", namespace, identity, updateDescription={"updatedFields": fields, "removedFields": []})

    def delete(self, namespace: str, identity: Any) -> None:
        """Deletes a document."""
        self.documents[namespace].pop(identity, None)
        self.tell("delete", namespace, identity)

    def tell(self, kind: str, namespace: str = "", identity: Any = None, *, together: bool = False, **more: Any) -> None:
        """An event."""
        with self._changed:
            self._clock += not together
            place = {"db": namespace.partition(".")[0], "coll": namespace.partition(".")[2]}
            event = {"_id": token(self.now, len(self.events)), "operationType": kind, "clusterTime": self.now}
            event |= {"ns": place} if namespace else {}
            event |= {} if identity is None else {"documentKey": {"_id": identity}}
            self.events.append(event | more)
            self._changed.notify_all()

    def forget(self) -> None:
        """Its history up to now is gone."""
        self.oldest = len(self.events)

    def answer(self, command: dict[str, Any]) -> dict[str, Any]:
        """The answer to a command."""
        name = next(iter(command))
        self.asked.append(command)
        if self.failures[name] and isinstance(self.failures[name][0], int):
            code = self.failures[name].popleft()
            labels = {"errorLabels": self.labels} if self.labels else {}
            told = {"errmsg": f"told to fail with {code}", "code": code, "codeName": ERRORS.get(int(code), "Error")}
            return {"ok": 0.0, **told, **labels}
        do = getattr(self, f"_{name.lower()}", None)
        if do is None:
            return {"ok": 0.0, "errmsg": f"no such command: {name}", "code": 59, "codeName": "CommandNotFound"}
        return {"ok": 1.0, "operationTime": self.now, **do(command)}

    def _hello(self, _: Mapping[str, Any]) -> dict[str, Any]:
        set_name = {} if self.alone else {"setName": "rs0", "hosts": [f"127.0.0.1:{self.port}"]}
        limits = {"maxBsonObjectSize": 16 << 20, "maxMessageSizeBytes": 48_000_000, "maxWriteBatchSize": 100_000}
        return {"isWritablePrimary": True, "ismaster": True, "minWireVersion": 0, "maxWireVersion": 21, **limits, **set_name}

    _ismaster = _hello

    def _ping(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    _endsessions = _killcursors = _ping

    def _listdatabases(self, _: Mapping[str, Any]) -> dict[str, Any]:
        return {"databases": [{"name": name} for name in sorted({each.partition(".")[0] for each in self.documents})]}

    def _listcollections(self, command: Mapping[str, Any]) -> dict[str, Any]:
        found = [each.partition(".") for each in self.documents]
        names = [{"name": name, "type": "collection"} for database, _, name in found if database == command["$db"]]
        return _first(names, f"{command['$db']}.$cmd")

    def _count(self, command: Mapping[str, Any]) -> dict[str, Any]:
        return {"n": len(self.documents[f"{command['$db']}.{command['count']}"])}

    def _find(self, command: Mapping[str, Any]) -> dict[str, Any]:
        namespace, wanted = f"{command['$db']}.{command['find']}", (command.get("filter") or {}).get("_id", {})
        if namespace == "local.oplog.rs":
            return _first(self._entries(command), namespace)
        there = self.documents[namespace]
        if "$in" in wanted:
            return _first([there[each] for each in wanted["$in"] if each in there], namespace)
        if "$not" in wanted:
            return _first([], namespace)
        names = sorted(name for name in there if "$gt" not in wanted or name > wanted["$gt"])
        return _first([there[name] for name in names][: command.get("limit") or None], namespace)

    def _entries(self, command: Mapping[str, Any]) -> list[dict[str, Any]]:
        at = (command.get("filter") or {}).get("ts", {})
        found = [each for each in self.oplog if _is_at(each["ts"], at)]
        ordered = found[:: (command.get("sort") or {}).get("$natural", 1)]
        return ordered[: command.get("limit") or None]

    def _aggregate(self, command: Mapping[str, Any]) -> dict[str, Any]:
        if self.alone:
            code = 40573
            message = "The $changeStream stage is only supported on replica sets"
            return {"ok": 0.0, "errmsg": message, "code": code, "codeName": ERRORS[code]}
        stage = command["pipeline"][0]["$changeStream"]
        held = stage.get("startAfter") or stage.get("resumeAfter")
        if held is not None:
            number = int(held["_data"][18:] or "-1", 16) + 1 if len(held["_data"]) > 18 else self._since(held["_data"])
        elif "startAtOperationTime" in stage:
            at = stage["startAtOperationTime"]
            number = next((place for place, each in enumerate(self.events) if each["clusterTime"] >= at), len(self.events))
        else:
            number = len(self.events)
        if number < self.oldest:
            return {"ok": 0.0, "errmsg": "the resume point may no longer be in the oplog", "code": 286, "codeName": ERRORS[286]}
        cursor = len(self._cursors) + 1
        self._cursors[cursor], self._streams[cursor] = number, {**stage, "$db": command["$db"]}
        return {"cursor": self._batch(cursor, "firstBatch")}

    def _since(self, data: str) -> int:
        at = Timestamp(int(data[2:10], 16), int(data[10:18], 16))
        return next((place for place, each in enumerate(self.events) if each["clusterTime"] >= at), len(self.events))

    def _getmore(self, command: Mapping[str, Any]) -> dict[str, Any]:
        cursor = int(command["getMore"])
        if cursor not in self._cursors:
            return {"ok": 0.0, "errmsg": "cursor not found", "code": 43, "codeName": ERRORS[43]}
        with self._changed:
            self._changed.wait_for(lambda: self._cursors[cursor] < len(self.events), command.get("maxTimeMS", 0) / 1000)
        return {"cursor": self._batch(cursor, "nextBatch")}

    def _batch(self, cursor: int, name: str) -> dict[str, Any]:
        begin, stage = self._cursors[cursor], self._streams[cursor]
        made = []
        for event in self.events[begin : begin + 5]:
            self._cursors[cursor] += 1
            if stage["$db"] not in ("admin", event.get("ns", {}).get("db", stage["$db"])):
                continue
            made.append(self._full(event, stage))
            if event["operationType"] == "invalidate":
                del self._cursors[cursor]
                return {"id": Int64(0), "ns": "admin.$cmd", name: made, "postBatchResumeToken": event["_id"]}
        last = made[-1]["_id"] if made else {"_data": token(Timestamp(self.now.time, self.now.inc + 1), 0)["_data"][:18]}
        return {"id": Int64(cursor), "ns": "admin.$cmd", name: made, "postBatchResumeToken": last}

    def _full(self, event: dict[str, Any], stage: Mapping[str, Any]) -> dict[str, Any]:
        if event["operationType"] != "update" or stage.get("fullDocument") != "updateLookup":
            return event
        place = event["ns"]
        return event | {"fullDocument": self.documents[f"{place['db']}.{place['coll']}"].get(event["documentKey"]["_id"])}


def _is_at(moment: Timestamp, wanted: Any) -> bool:
    if isinstance(wanted, Timestamp):
        return moment == wanted
    return all({"$gt": moment > each, "$gte": moment >= each}[name] for name, each in wanted.items())


def _first(documents: list[dict[str, Any]], namespace: str) -> dict[str, Any]:
    return {"cursor": {"id": Int64(0), "ns": namespace, "firstBatch": documents}}


class _Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, address: tuple[str, int], stand_in: StandIn) -> None:
        self.stand_in = stand_in
        super().__init__(address, _Handler)


class _Handler(socketserver.StreamRequestHandler):
    server: _Server

    def handle(self) -> None:
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while header := self.rfile.read(16):
            size, request, _, kind = struct.unpack("<iiii", header)
            body = self.rfile.read(size - 16)
            command = _command(kind, body)
            if (way := self._misbehaves(next(iter(command)))) is not None:
                if way == "rubbish":
                    self.wfile.write(b"HTTP/1.1 400 Bad Request\r\nServer: none\r\n\r\n")
                elif way == "hangs":
                    time.sleep(2)
                return
            answer = bson.encode(self.server.stand_in.answer(command))
            if kind == _QUERY:
                data, reply = struct.pack("<iqii", 8, 0, 0, 1) + answer, _REPLY
            else:
                data, reply = struct.pack("<iB", 0, 0) + answer, _MESSAGE
            self.wfile.write(struct.pack("<iiii", 16 + len(data), 1, request, reply) + data)

    def _misbehaves(self, name: str) -> str | None:
        waiting = self.server.stand_in.failures[name]
        return str(waiting.popleft()) if waiting and isinstance(waiting[0], str) else None


def _command(kind: int, body: bytes) -> dict[str, Any]:
    if kind == _QUERY:
        end = body.index(b"\0", 4)
        return bson.decode(body[end + 9 :], _OPTIONS)
    (size,) = struct.unpack_from("<i", body, 5)
    return bson.decode(body[5 : 5 + size], _OPTIONS)
