"""Runs a configuration on a few live records and shows each step. Nothing is written, and no position moves.

Runs in a process of its own, which ends with the answer.
"""

import base64
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from itertools import islice

from rocketconnect_sdk.columns.rows import is_packed
from rocketconnect_sdk.configuration.connector_options import check_connector, parse_direct, parse_sink, parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS, SOURCE_CLASS
from rocketconnect_sdk.converters.arrow import ArrowConverter
from rocketconnect_sdk.converters.registered import RegisteredConverter
from rocketconnect_sdk.errors import ConnectorError, RetriableError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins.loader import DIRECT, find
from rocketconnect_sdk.queries.options import QuerySettings
from rocketconnect_sdk.record import NO_HEADERS, Rejected, SourceBatch
from rocketconnect_sdk.source import Source
from rocketconnect_sdk.transforms.base import Record, in_order
from rocketconnect_sdk.transforms.chain import Chain, make
from rocketconnect_sdk.wording.counts import counted
from rocketmq_remoting.batch import DecodedBatch
from rocketmq_remoting.errors import RocketMQError
from rocketmq_remoting.protocol.properties import decode_properties
from services.executor.contract import answers, questions
from services.executor.host.jobs.previewed import Seen, trace
from services.executor.host.jobs.queried import Queried
from services.executor.host.jobs.shown import of_sink, shown, text_of
from services.executor.host.jobs.sources.sending import polled, sent
from services.executor.runtime.errors.failure import written
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.rocketmq.connect import connect, with_user_of
from services.executor.runtime.rocketmq.filters import filter_of, refuse_unfilterable
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.rocketmq.topic_reader import RocketMQTopics
from services.executor.runtime.sink.decode.decoder import Decoder
from services.executor.runtime.sink.decode.decoders import decoder
from services.executor.runtime.sink.decode.part import DecodeSettings
from services.executor.runtime.task_runtime import converters_of
from services.executor.secrets.resolving import hide, hide_problem, resolve, resolve_known

_FILTERED = 100
"""Where brokers leave messages out, so many times as many are looked through."""


def preview(order: questions.PreviewConnector) -> answers.Previewed:
    """Show what becomes of a few records, or what is wrong with the configuration, or why there is nothing to show."""
    checked = check_connector(order.config, resolve_known)
    if problems := [hide_problem(each) for each in checked.problems if not each.is_warning]:
        return answers.Previewed(checked.plugin, problems, [], "")
    found: list[answers.PreviewedRecord] = []
    trouble = ""
    try:
        with ExitStack() as held:
            found += _Preview(order, held).run()
    except (ConnectorError, RocketMQError) as error:
        trouble = str(error)
    except Exception:
        trouble = f"a defect of the plugin: {traceback.format_exc()}"
    return answers.Previewed(checked.plugin, [], found, hide(trouble))


class _Preview:
    def __init__(self, order: questions.PreviewConnector, held: ExitStack) -> None:
        self._order = order
        self._held = held
        self._until = time.monotonic() + order.seconds

    def run(self) -> list[answers.PreviewedRecord]:
        """All of the records, those that came in time."""
        name = self._order.config[CLASS.key].strip()
        if name == DIRECT:
            config, source_config, _ = map(resolve, parse_direct(self._order.config))
            source = find(config[SOURCE_CLASS.key])
            return self._of_source(source, source_config, config, "") if isinstance(source, Source) else []
        plugin = find(name)
        if isinstance(plugin, Source):
            config = resolve(parse_source(plugin, self._order.config))
            return self._of_source(plugin, config, config, config["topic"])
        return self._of_topics(resolve(parse_sink(plugin, self._order.config)), plugin.name)

    def _chain(self, config: Config) -> Chain:
        chain = make(config.raw)
        self._held.callback(chain.close)
        return chain

    # --- sources

    def _of_source(self, source: Source, own: Config, config: Config, topic: str) -> list[answers.PreviewedRecord]:
        chain = self._chain(config)
        found: list[answers.PreviewedRecord] = []
        written_by = None if not topic else _Writer(config)
        for batch in polled(source, own, self._order.connector, self._order.records, self._until, self._held):
            count = min(len(batch), self._order.records - len(found))
            found += self._of_batch(source.name, batch, count, chain, topic, written_by)
            if len(found) >= self._order.records:
                break
        return found

    def _of_batch(
        self, plugin: str, batch: SourceBatch, count: int, chain: Chain, topic: str, writer: "_Writer | None"
    ) -> Iterator[answers.PreviewedRecord]:
        records = [_of_source(batch, index, topic) for index in range(count)]
        bad = {index: record.value for index, record in enumerate(records) if isinstance(record.value, Rejected)}
        seen = _traced(chain, [(index, record) for index, record in enumerate(records) if index not in bad])
        for index, record in enumerate(records):
            position = f"{batch.partition}: {written(batch.offsets[index])}"
            rejected = bad.get(index)
            if rejected is not None:
                yield answers.PreviewedRecord(position, [_step(Seen("read", plugin, None, f"{rejected.error}: {rejected.reason}"))])
                continue
            steps = [Seen("read", plugin, record), *seen[index]]
            last = steps[-1].record
            if writer is not None and last is not None:
                steps.append(writer.write(last))
            yield answers.PreviewedRecord(position, [_step(each) for each in steps])

    # --- sinks

    def _of_topics(self, config: Config, plugin: str) -> list[answers.PreviewedRecord]:
        chain = self._chain(config)
        client = self._held.enter_context(connect(with_user_of(config, self._order.endpoints), "rocketconnect_preview"))
        only = filter_of(config)
        topics = self._held.enter_context(closing(RocketMQTopics(client, only)))
        reader = _Reader(config, plugin)
        if (settings := QuerySettings.of(config)) is not None:
            reader.queried = Queried(settings, plugin, _decoder(config, self._chain(config)))
        if only is not None:
            for topic in filter(client.topic_exists, config["topics"]):
                refuse_unfilterable(client, topic, only)
        there = self._read(reader, chain, self._newest(topics, config["topics"], 1 if only is None else _FILTERED))
        if there or not self._order.source:
            return there
        first = sent(self._order.source, config["topics"], self._order.connector, self._order.records, self._until, self._held)
        found = self._read(reader, chain, first)
        return [answers.PreviewedRecord(f"not in the topic yet: {each.position}", each.steps) for each in found]

    def _read(self, reader: "_Reader", chain: Chain, batches: Iterable[DecodedBatch]) -> list[answers.PreviewedRecord]:
        found: list[answers.PreviewedRecord] = []
        for batch in batches:
            found += islice(reader.read(batch, chain, self._order.records), self._order.records - len(found))
            if reader.queried is not None:
                reader.queried.take(batch, reader.last)
            if len(found) == self._order.records:
                break
        if reader.queried is not None:
            found += [answers.PreviewedRecord(where, [_step(row)]) for where, row in reader.queried.rows()]
        return found

    def _newest(self, topics: RocketMQTopics, names: Iterable[str], farther: int) -> Iterator[DecodedBatch]:
        """The last messages of each queue in turn, in the order in which they stand there; `farther`: of so many times as many."""
        for queue in (queue for name in names for queue in topics.queues(name)):
            begin, end = topics.ends(queue)
            position = max(begin, end - self._order.records * farther)
            while position < end and time.monotonic() < self._until:
                batch, position = topics.pull(queue, position, end)
                if batch:
                    yield batch


def _of_source(batch: SourceBatch, index: int, topic: str) -> Record:
    return Record(
        batch.values[index],
        batch.schema,
        None if batch.keys is None else batch.keys[index],
        batch.key_schema,
        (batch.topics[index] if batch.topics is not None else "") or topic,
        None if batch.timestamps_ms is None else batch.timestamps_ms[index],
        NO_HEADERS if batch.headers is None else batch.headers[index],
    )


def _traced(chain: Chain, records: Sequence[tuple[int, Record]]) -> Mapping[int, Sequence[Seen]]:
    seen: dict[int, Sequence[Seen]] = {}
    for run in in_order((index, replace(record)) for index, record in records):
        seen.update(trace(chain, run))
    return seen


class _Writer:
    """Shows the message that a record of a source would become."""

    def __init__(self, config: Config) -> None:
        _, self._value = converters_of(config)
        self._away = ""

    def write(self, record: Record) -> Seen:
        """The step."""
        name = self._value.name
        if self._away:
            # Who does not answer is not asked for each record.
            return Seen("message", name, None, self._away)
        self._value.for_topic(record.topic)
        try:
            body = None if record.value is None else self._value.encode_dry(record.value, record.schema)
        except ConnectorError as error:
            self._away = str(error) if isinstance(error, SystemAway | RetriableError) else ""
            return Seen("message", name, None, str(error))
        if body is not None and isinstance(self._value, ArrowConverter):
            # A message has many of them. What people see is what a sink unpacks.
            value, schema = self._value.decode(body)
            return Seen("message", name, replace(record, value=value, schema=schema))
        return Seen("message", name, replace(record, value=None if body is None else self._shown(body), schema=None))

    def _shown(self, body: bytes) -> str:
        if isinstance(self._value, RegisteredConverter):
            # With an id before it, which is no text.
            return f"{counted(body, 'byte')}, base64:{base64.b64encode(body).decode()}"
        return text_of(body)


class _Reader:
    """Shows what a sink gets of messages."""

    def __init__(self, config: Config, plugin: str) -> None:
        _, self._value = converters_of(config)
        self._decoder = _decoder(config, Chain(()))
        self._plugin = plugin
        self.queried: Queried | None = None
        """What the query of the sink is given; None: it has none."""
        self.last = -1
        """The offset of the message that was shown last."""

    def read(self, batch: DecodedBatch, chain: Chain, most: int) -> Iterator[answers.PreviewedRecord]:
        """Its first records: one of each message, or the rows of a packed one."""
        parts = self._decoder.decode(batch, None, batch.offsets[0], {}, time.monotonic(), {})
        records = list(islice((pair for part in parts for pair in of_sink(part.records)), most))
        bad = {(each.offset, each.row or 0): each.failure.message for part in parts for each in part.bad}
        seen = _traced(chain, [(index, record) for index, (_, record) in enumerate(records)])
        steps = {place: [Seen("read", self._value.name, record), *seen[index]] for index, (place, record) in enumerate(records)}
        steps |= {place: [Seen("read", self._value.name, None, problem)] for place, problem in bad.items()}
        rows = Counter(offset for offset, _ in steps)
        for offset, row in sorted(steps):
            message = Seen("message", "", _whole(batch, batch.offsets.index(offset)))
            last = steps[offset, row][-1].record
            self.last = offset
            # With a query what is written is its result.
            written = [] if last is None or self.queried is not None else [Seen("write", self._plugin, last)]
            position = f"{text(batch.queue)}: {offset}" + (f", row {row}" if rows[offset] > 1 else "")
            yield answers.PreviewedRecord(position, [_step(each) for each in (message, *steps[offset, row], *written)])


def _decoder(config: Config, chain: Chain) -> Decoder:
    key, value = converters_of(config)
    return decoder(key, value, ErrorPolicy.of_nobody(), DecodeSettings(headers=True), chain)


def _whole(batch: DecodedBatch, index: int) -> Record:
    """A message as it is."""
    properties = decode_properties(batch.raw_properties[index])
    raw = bytes(batch.bodies[index])
    body = f"{counted(raw, 'byte')} of packed rows" if is_packed(raw) else text_of(raw)
    return Record(body, None, properties.get("KEYS"), None, batch.queue.topic, batch.store_timestamps_ms[index], properties)


def _step(seen: Seen) -> answers.PreviewedStep:
    return answers.PreviewedStep(seen.step, seen.plugin, None if seen.record is None else shown(seen.record), hide(seen.problem))
