"""Streams of a server as a log.

A server counts what was ever added to a stream. A position has that count beside the id of the last entry that was read, and what
is there is asked together with the entries behind it: so what was removed before it was read is known, whatever removed it.

https://redis.io/docs/latest/develop/data-types/streams/
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import redis
from redis.exceptions import RedisError, ResponseError

from connectors.redis.client import own_errors
from connectors.redis.entries import EntryForm, Info, last_id, name_of, next_id, own_key
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.partitions import GONE, Bounds, Entries, Log, LogPartition, OutOfRange, text_of
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.wording.counts import counted

_WAIT_MS = 100
_SCAN = 1000
"""So many keys are looked at with each SCAN, about."""
_AT_ONCE = 16
"""So many streams are read together."""
_FIRST_ENTRIES = 16
_GROWTH = 4
_LONGEST_NAME = 1024
_RAW = ("XRANGE", "XREAD", "XINFO STREAM")
_ADDED = "added"


class StreamLog(Log):
    """Reads streams without a group of consumers.

    Args:
        client: Of the server; it is this log's alone.
        config: That of a source.
        context: What the runtime gives.
        names: The streams that are read of those that it names; None: all.
        apart: No two streams are asked for together, and `read` waits for none: the server is a node of a cluster.

    Attributes:
        topics: Of streams that have one of their own.
    """

    def __init__(
        self,
        client: redis.Redis,
        config: Config,
        context: TaskContext,
        names: Sequence[str] | None = None,
        *,
        apart: bool = False,
    ) -> None:
        for command in _RAW:
            # Entries may have a field twice, and a dict keeps one of them.
            client.response_callbacks.pop(command, None)
        # Any: half of the client's methods say no types.
        self._client: Any = client
        self._place: str = config["url"]
        self._names: Sequence[str] = config["streams"] if names is None else names
        self._pattern: str = config["streams.pattern"]
        self._template: str = config["topic.template"]
        self._form = EntryForm(config["value.field"], config["key.field"], config["fields"])
        self._context = context
        self.topics: dict[str, str] = {}
        self._places: dict[str, Offset] = {}
        self._counts: dict[str, int] = {}
        self._infos: dict[str, Info] = {}
        self._most: dict[str, int] = {}
        self._ready: deque[str] = deque()
        self._out: list[str] = []
        self._apart = apart

    def is_cluster(self) -> bool:
        """Whether the server has some of the keys alone."""
        with own_errors(self._place):
            return bool(self._client.info("cluster").get("cluster_enabled"))

    def try_reading(self, name: str) -> None:
        """Reads a stream from its end on: raises what keeps the user from it."""
        self.seek({name: self.bounds([name])[name].end})
        with suppress(OutOfRange):
            self.read(1, 1)
            self.read(1, 1)

    def types(self) -> Mapping[str, str]:
        """What is at the keys that are named: stream, none, or another type."""
        with own_errors(self._place), self._client.pipeline(transaction=False) as pipe:
            for name in self._names:
                pipe.execute_command("TYPE", name)
            answers = pipe.execute()
        return {name: answer.decode() for name, answer in zip(self._names, answers, strict=True)}

    def streams(self) -> Sequence[str]:
        """The streams that are there. One that is named and not there is not made yet."""
        types = self.types()
        if other := next((name for name, kind in types.items() if kind not in ("stream", "none")), None):
            msg = f"{self._place}: the key {other} holds a {types[other]}, and no stream. Correct `streams`"
            raise PermanentError(msg)
        found = {name_of(name.encode()) for name, kind in types.items() if kind == "stream"}
        if self._pattern:
            with own_errors(self._place):
                keys = self._client.scan_iter(match=self._pattern, count=_SCAN, _type="stream")
                found.update(map(name_of, keys))
        if long := next((name for name in found if len(name.encode()) > _LONGEST_NAME), None):
            fix = f"Leave it out: a position takes {_LONGEST_NAME} bytes"
            msg = f"{self._place}: the key {long[:100]}... is too long. {fix}"
            raise PermanentError(msg)
        return sorted(found)

    def partitions(self) -> Sequence[LogPartition]:
        """See Log."""
        names = self.streams()
        self.topics = topics_of(self._template, "stream", names)
        return [LogPartition(name) for name in names]

    def bounds(self, names: Iterable[str]) -> Mapping[str, Bounds]:
        """See Log."""
        wanted = list(names)
        with own_errors(self._place), self._client.pipeline(transaction=False) as pipe:
            for name in wanted:
                pipe.execute_command("XINFO STREAM", own_key(name))
            answers = pipe.execute(raise_on_error=False)
            for name, answer in zip(wanted, answers, strict=True):
                self._infos[name] = self._info(name, answer)
        return {name: Bounds(self._infos[name].first, self._infos[name].end) for name in wanted}

    def find(self, names: Iterable[str], seconds: float) -> Mapping[str, Offset]:
        """See Log. Ids begin with the time, unless who adds entries gives others."""
        place = (max(0, round(seconds * 1000)), 0)
        return {name: max(each.first, min(each.end, place)) for name, each in self.bounds(names).items()}

    def lost(self, name: str, place: Offset, bounds: Bounds) -> str:
        """See Log."""
        del bounds
        info = self._infos[name]
        count = self._counts.get(name)
        if count is None:
            return "entries were removed, by XTRIM or MAXLEN perhaps," if place < info.first else ""
        # Where none is left that was read, all that are there were not; otherwise none behind them was trimmed.
        gone = info.added - count - info.length if place <= info.first else 0
        if info.added < count or gone < 0:
            was = f"counts {info.added} that were ever added, where {count} were counted when it was read"
            return f"the stream was deleted and made anew, or put back from a backup: it {was}. Entries may have been removed"
        return f"{counted(gone, 'entry')} from {text_of(place)} on {'was' if gone == 1 else 'were'} removed" if gone else ""

    def note(self, name: str) -> Mapping[str, JSON] | None:
        """See Log."""
        return {_ADDED: self._counts[name]} if name in self._counts else None

    def recall(self, name: str, note: Mapping[str, JSON]) -> None:
        """See Log. Of a stream that was gone another one is there now."""
        added = 0 if GONE in note else note.get(_ADDED)
        if isinstance(added, int):
            self._counts[name] = added

    def seek(self, places: Mapping[str, Offset]) -> None:
        """See Log."""
        for name, place in places.items():
            info = self._infos[name]
            if name in self._counts and not self.lost(name, place, Bounds(info.first, info.end)):
                continue
            self._counts.pop(name, None)
            if place <= info.first:
                self._counts[name] = info.added - info.length
            elif place >= info.end:
                self._counts[name] = info.added
        self._places = dict(places)
        self._ready = deque(places)
        self._out.clear()

    def read(self, records: int, size: int) -> Sequence[Entries]:
        """See Log."""
        if self._out:
            raise OutOfRange(self._out.pop())
        self._ready = self._ready or self._waited()
        if not self._ready:
            return []
        names = [self._ready.popleft() for _ in range(min(1 if self._apart else _AT_ONCE, records, len(self._ready)))]
        most = {name: min(max(1, records // len(names)), self._most.get(name, _FIRST_ENTRIES)) for name in names}
        with own_errors(self._place), self._client.pipeline(transaction=True) as pipe:
            for name in names:
                # Together: what is there, and what of it was not read.
                pipe.execute_command("XINFO STREAM", own_key(name))
                pipe.execute_command("XRANGE", own_key(name), next_id(self._places[name]), "+", "COUNT", most[name])
            answers = iter(pipe.execute(raise_on_error=False))
            found = [
                entries
                for name in names
                if (entries := self._read(name, self._info(name, next(answers)), next(answers), most[name])) is not None
            ]
            for entries in found:
                if taken := entries.size + sum(len(value) for value in entries.values if isinstance(value, bytes)):
                    fit = size // len(names) * len(entries.values) // taken
                    self._most[entries.name] = max(1, min(records, fit, _GROWTH * most[entries.name]))
        if self._out and not found:
            raise OutOfRange(self._out.pop())
        return found

    def left(self, name: str, place: Offset) -> int | None:
        """See Log. Entries that were deleted one by one are counted, too."""
        del place
        return max(0, self._infos[name].added - self._counts[name]) if name in self._counts else None

    def close(self) -> None:
        """See Log."""
        with suppress(RedisError, OSError):
            self._client.close()

    def _waited(self) -> deque[str]:
        """The streams that get entries within a moment."""
        if not self._places:
            return deque()
        with own_errors(self._place):
            keys = {own_key(name): name for name in self._places}
            ids = [last_id(self._places[name]) for name in keys.values()]
            if self._apart:
                with self._client.pipeline(transaction=False) as pipe:
                    for key, last in zip(keys, ids, strict=True):
                        pipe.execute_command("XREAD", "COUNT", 1, "STREAMS", key, last)
                    return deque(keys[key] for answer in pipe.execute() for key in answer or ())
            found = self._client.execute_command("XREAD", "COUNT", 1, "BLOCK", _WAIT_MS, "STREAMS", *keys, *ids)
        return deque(keys[key] for key in found or ())

    def _info(self, name: str, answer: Any) -> Info:
        """Raises what is in the place of an answer."""
        if isinstance(answer, ResponseError):
            said = str(answer)
            if "no such key" in said:
                msg = f"{self._place}: the stream {name} is not there any more"
                raise SystemAway(msg)
            if said.startswith("WRONGTYPE"):
                msg = f"{self._place}: the key {name} holds no stream any more. Correct what is read, or delete the key"
                raise PermanentError(msg)
        if isinstance(answer, Exception):
            raise answer
        return Info.of(answer, f"{self._place}: the stream {name}")

    def _read(self, name: str, info: Info, answer: Any, asked: int) -> Entries | None:
        """What was read of a stream; None: nothing, or it can't be read on."""
        if isinstance(answer, Exception):
            raise answer
        self._infos[name] = info
        place = self._places[name]
        if place > info.end or self.lost(name, place, Bounds(info.first, info.end)):
            self._out.append(name)
            return None
        entries = self._form.entries(name, self.topics.get(name, ""), answer)
        if name in self._counts:
            self._counts[name] += len(entries.offsets)
            if self._counts[name] > info.added:
                # Some that are not newer than what was read before: of another stream.
                self._out.append(name)
                return None
        if entries.offsets:
            self._places[name] = entries.offsets[-1]
        if len(entries.offsets) == asked:
            self._ready.append(name)
            return entries
        self._tell_deleted(name, info)
        self._counts[name] = info.added
        if info.end > self._places[name]:
            self._places[name] = entries.end = info.end
        return entries if entries.values or entries.end else None

    def _tell_deleted(self, name: str, info: Info) -> None:
        """At its end everything that was ever added was read, or deleted between what is there."""
        if gone := info.added - self._counts.get(name, info.added):
            self._context.log.warning("%s: %s deleted (XDEL) before they were read", name, counted(gone, "entry", "was", "were"))
