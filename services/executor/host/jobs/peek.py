"""Shows messages of a topic as converters read them. Nothing is written, and no position moves.

Runs in a process of its own, which ends with the answer.
"""

import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from itertools import groupby

from msgspec.structs import replace

from rocketconnect_sdk.columns.rows import is_packed
from rocketconnect_sdk.configuration.connector_options import read_reader
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.configuration.runtime_options import VALUE_CONVERTER
from rocketconnect_sdk.converters import Converter
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.errors import ConnectorError, Problem, SystemAway
from rocketconnect_sdk.options import Config, parse
from rocketconnect_sdk.transforms.base import Record
from rocketconnect_sdk.transforms.chain import Chain
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.protocol.properties import KEYS, decode_properties
from services.executor.contract import answers, questions
from services.executor.host.jobs.chosen import Message, first, last
from services.executor.host.jobs.shown import LONGEST, of_sink, shown, text_of
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.rocketmq import source_marks
from services.executor.runtime.rocketmq.connect import connect, with_user_of
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from services.executor.runtime.sink.decode.decoder import Decoder
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import DecodeSettings
from services.executor.runtime.task_runtime import converters_of
from services.executor.secrets.resolving import hide, hide_problem, resolve

_SHOWN = 200
_INDEXED = 64
"""So many messages of a key a broker finds at most."""
_MOST_BYTES = 64 << 20
"""Invariant 7: of bodies that are held to choose among them."""


def peek(order: questions.PeekTopic) -> answers.Peeked:
    """Show messages, or what is wrong with the request, or why there is nothing to show."""
    if order.reader_hosts is not None and (references := list(_references(order.config))):
        return answers.Peeked(references, [], {}, "")
    config, problems = read_reader(order.config)
    if problems:
        return answers.Peeked([hide_problem(each) for each in problems], [], {}, "")
    trouble = ""
    try:
        with ExitStack() as held:
            resolved = resolve(config)
            client = held.enter_context(connect(with_user_of(resolved, order.endpoints), "rocketconnect_peek"))
            return _Peek(order, resolved, held.enter_context(closing(RocketMQTopics(client)))).run()
    except (ConnectorError, RocketMQError) as error:
        trouble = str(error)
    except Exception:
        trouble = f"a defect of the converter: {traceback.format_exc()}"
    return answers.Peeked([], [], {}, hide(trouble))


def _references(config: Mapping[str, str]) -> Iterator[Problem]:
    """What somebody who may only read cannot ask for."""
    for key, value in config.items():
        if reference := REFERENCE.search(value):
            reason = "refers to a secret, and who may only read gets none"
            yield Problem(key, reference[0][:_SHOWN], reason, "Leave it out, or show a token with the role write.")


class _Peek:
    def __init__(self, order: questions.PeekTopic, config: Config, topics: RocketMQTopics) -> None:
        self._order = order
        self._topics = topics
        self._until = time.monotonic() + order.seconds
        self._bytes = 0
        key, value = converters_of(config)
        self._decoder = _decoder(key, value)
        # Who names no converter sees the rows of packed messages, whose bytes are nothing for people.
        self._packed = None if VALUE_CONVERTER.key in order.config else _decoder(key, ArrowConverter(parse((), {}), is_key=False))

    def run(self) -> answers.Peeked:
        every = self._topics.queues(self._order.topic)
        if not every:
            return answers.Peeked([], [], {}, "", is_missing=True)
        given = self._order.queue
        queues = [queue for queue in every if not given or queue == given or queue.endswith(f"/{given}")]
        if not queues:
            problem = Problem("queue", given, "is no queue of the topic that can be read", f"Name one of {', '.join(every)}.")
            return answers.Peeked([problem], [], {}, "")
        if self._order.key:
            found = last([list(self._keyed(queues))], self._order.messages)
            return answers.Peeked([], list(self._shown(found)), {}, "")
        ranges = {queue: self._range(queue) for queue in queues}
        read = [list(self._read(queue, *ranges[queue])) for queue in queues]
        of_end = self._order.start is None
        found = (last if of_end else first)(read, self._order.messages)
        # Nothing is shown of what stands before the last messages, and nothing is left out of what stands behind the first ones.
        behind = {queue: end if of_end else start for queue, (start, end) in ranges.items()}
        behind |= {message.queue: message.offset + 1 for message in found}
        return answers.Peeked([], list(self._shown(found)), behind, "")

    def _range(self, queue: str) -> tuple[int, int]:
        """Where to read in a queue: not beyond its end, and not before its first message."""
        begin, end = self._topics.ends(queue)
        match self._order.start:
            case questions.AtOffset(offset):
                start = offset
            case questions.AtTime(time_ms):
                start = self._topics.since(queue, time_ms)
            case questions.AtPlaces(offsets):
                start = offsets.get(queue, begin)
            case None:
                start = end - self._order.messages
        return max(begin, start), end

    def _keyed(self, queues: Sequence[str]) -> Iterator[Message]:
        """The messages of some queues that have the key, the oldest first."""
        key, start = self._order.key, self._order.start
        since_ms = start.time_ms if isinstance(start, questions.AtTime) else 0
        found: list[Message] = []
        # The index has each word of the keys of a message, and hashes of them.
        for queue, offset in self._topics.keyed(self._order.topic, key.split()[0], since_ms, _INDEXED):
            if queue not in queues:
                continue
            batch, _ = self._pulled(queue, offset, offset + 1)
            # The times of the index are seconds.
            if batch is not None and batch.offsets and batch.store_timestamps_ms[0] >= since_ms:
                keys = decode_properties(batch.raw_properties[0]).get(KEYS, "")
                if key == keys or key in keys.split():
                    found.append(Message(queue, offset, batch.store_timestamps_ms[0], batch, 0))
        yield from sorted(found, key=lambda message: message.stored_ms)

    def _read(self, queue: str, start: int, end: int) -> Iterator[Message]:
        """The messages of a queue, as many as are asked for.

        Raises:
            SystemAway: they take longer, or more memory, than is given for it.
        """
        position, count = start, 0
        while position < end and count < self._order.messages:
            batch, position = self._pulled(queue, position, end)
            if batch is None:
                continue
            for index, offset in enumerate(batch.offsets[: self._order.messages - count]):
                yield Message(queue, offset, batch.store_timestamps_ms[index], batch, index)
            count += len(batch.offsets)

    def _pulled(self, queue: str, start: int, end: int) -> tuple[DecodedBatch | None, int]:
        """Some messages from an offset on, and where they end. Raises as `_read`."""
        if time.monotonic() > self._until:
            msg = f"there was no time to read all queues of {self._order.topic}: name one queue, or ask again"
            raise SystemAway(msg)
        batch, position = self._topics.pull(queue, start, end)
        if batch is not None:
            self._bytes += sum(map(len, batch.bodies))
        if self._bytes > _MOST_BYTES:
            msg = f"the messages are larger than {_MOST_BYTES >> 20} MiB together: ask for fewer, or name one queue"
            raise SystemAway(msg)
        return batch, position

    def _shown(self, messages: Sequence[Message]) -> Iterator[answers.PeekedRecord]:
        made: dict[int, Mapping[int, list[answers.PeekedRecord]]] = {}
        for message in messages:
            if id(message.batch) not in made:
                mine = [each.offset for each in messages if each.batch is message.batch]
                made[id(message.batch)] = self._decoded(message.queue, message.batch.between(mine[0], mine[-1] + 1))
            yield from made[id(message.batch)][message.offset]

    def _decoded(self, queue: str, batch: DecodedBatch) -> Mapping[int, list[answers.PeekedRecord]]:
        """By offset what is in each message: its record, its rows, or why it can't be converted."""
        found: dict[int, list[answers.PeekedRecord]] = {}
        kinds = groupby(range(len(batch.offsets)), lambda index: self._packed is not None and is_packed(bytes(batch.bodies[index])))
        for packed, indexes in kinds:
            run = list(indexes)
            some = batch.between(batch.offsets[run[0]], batch.offsets[run[-1]] + 1)
            found |= self._of_kind(queue, some, self._packed if packed and self._packed else self._decoder)
        return found

    def _of_kind(self, queue: str, batch: DecodedBatch, decoding: Decoder) -> Mapping[int, list[answers.PeekedRecord]]:
        parts = decoding.decode(batch, None, batch.offsets[0], {}, time.monotonic(), {})
        records: dict[int, list[tuple[int, Record]]] = {}
        for (offset, row), record in (pair for part in parts for pair in of_sink(part.records)):
            records.setdefault(offset, []).append((row, record))
        bad: dict[int, list[tuple[int, str]]] = {}
        for each in (each for part in parts for each in part.bad):
            bad.setdefault(each.offset, []).append((each.row or 0, each.failure.message))
        has_rows = any(part.records.rows is not None for part in parts)
        most = self._order.messages
        found = {}
        for index, offset in enumerate(batch.offsets):
            rows = len(records.get(offset, ())) if has_rows else 0
            whole, body = _whole(queue, batch, index, rows), hide(text_of(batch.bodies[index])[:LONGEST])
            good = [replace(whole, row=row, record=shown(record)) for row, record in records.get(offset, ())[:most]]
            wrong = [replace(whole, row=row, problem=hide(why), body=body) for row, why in bad.get(offset, ())[:most]]
            found[offset] = sorted([*good, *wrong], key=lambda record: record.row)[:most]
        return found


def _decoder(key: Converter, value: Converter) -> Decoder:
    return decoder(key, value, ErrorPolicy.of_nobody(), DecodeSettings(headers=True), Chain(()))


def _whole(queue: str, batch: DecodedBatch, index: int, rows: int) -> answers.PeekedRecord:
    """All that is to be said of a message beside its records."""
    raw = batch.raw_properties[index]
    place = source_marks.parse(raw)
    uid, _, partition = ("", "", "") if place is None else place.key.partition("/")
    return answers.PeekedRecord(
        queue=queue,
        offset=batch.offsets[index],
        row=0,
        rows=rows,
        stored_ms=batch.store_timestamps_ms[index],
        bytes=len(batch.bodies[index]),
        properties={name: hide(value) for name, value in decode_properties(raw).items()},
        record=None,
        source=None if place is None else (uid, place.epoch, partition, place.incarnation, list(place.offset)),
    )
