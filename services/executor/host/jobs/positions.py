"""What is asked about positions before somebody moves them: the brokers for sinks, the plugin for sources."""

import json
import traceback
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol, TypeVar

from rocketconnect_sdk.configuration.connector_options import parse_direct, parse_sink, parse_source
from rocketconnect_sdk.configuration.runtime_options import CLASS, SOURCE_CLASS
from rocketconnect_sdk.errors import ConnectorError, PermanentError, Problem
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.plugins import loader
from rocketconnect_sdk.record import Offset
from rocketconnect_sdk.source import Edge, Source
from rocketmq_remoting.client import Client
from rocketmq_remoting.errors import RocketMQError, TopicNotFound
from rocketmq_remoting.model import MessageQueue
from services.executor.contract.answers import PositionsChecked, PositionsResolved, PositionsUnknown
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.questions import CheckPositions, GivenPosition, ResolvePositions
from services.executor.runtime.positions.maps import position_of, text_of
from services.executor.runtime.positions.stored import Stored
from services.executor.runtime.rocketmq.connect import connect, with_user_of
from services.executor.runtime.rocketmq.queue_names import text
from services.executor.runtime.sink.positions import from_stored
from services.executor.secrets import resolving as secrets

A = TypeVar("A")

Place = tuple[Offset, str]
"""An offset, and what goes with it as it is stored."""

_GROUP = "rocketconnect_positions"


class _Side(Protocol):
    """Who knows about partitions. Everything may raise ConnectorError and RocketMQError: it can't be told now."""

    def check(self, partition: str, offset: Offset, resume: str) -> Sequence[Problem]:
        """What is wrong with a position, and with what goes with it."""

    def find(self, partition: str, to: Edge | float) -> Place | Problem:
        """The position of a place, or why there is none."""

    def partitions(self, known: Iterable[str]) -> Sequence[str]:
        """The partitions that are meant when none is named."""


class _Queues:
    """The queues of a sink's topics."""

    def __init__(self, client: Client, topics: Sequence[str]) -> None:
        self._client = client
        self._topics = topics
        self._queues: dict[str, MessageQueue] = {}
        for topic in topics:
            try:
                self._queues.update({text(queue): queue for queue in client.queues(topic)})
            except TopicNotFound:
                # A sink waits for its topics; until then they have no queue.
                continue

    def check(self, partition: str, offset: Offset, resume: str) -> Sequence[Problem]:
        """See _Side."""
        queue = self._queues.get(partition)
        given = json.dumps(list(offset))
        if queue is None:
            return [self._unknown(partition)]
        if len(offset) != 1:
            fix = "Give the offset of the next message as one number, such as [17]."
            return [Problem(partition, given, "is no offset of a queue", fix)]
        begin, end = self._client.min_offset(queue), self._client.max_offset(queue)
        if offset[0] < begin:
            fix = f"Give one from [{begin}] to [{end}]."
            return [Problem(partition, given, f"is below the beginning of the queue, which is [{begin}]", fix)]
        if offset[0] > end:
            fix = f"Give one from [{begin}] to [{end}]."
            return [Problem(partition, given, f"is beyond the end of the queue, which is [{end}]", fix)]
        return _marks_problems(partition, resume)

    def find(self, partition: str, to: Edge | float) -> Place | Problem:
        """See _Side."""
        queue = self._queues.get(partition)
        if queue is None:
            return self._unknown(partition)
        begin, end = self._client.min_offset(queue), self._client.max_offset(queue)
        if isinstance(to, Edge):
            return (begin if to is Edge.EARLIEST else end,), ""
        # What a broker answers for times outside of the queue differs from release to release.
        return (min(max(begin, self._client.offset_by_time(queue, round(to * 1000))), end),), ""

    def partitions(self, known: Iterable[str]) -> Sequence[str]:
        """See _Side."""
        del known
        return sorted(self._queues)

    def _unknown(self, partition: str) -> Problem:
        there = sorted(self._queues)
        shown = ", ".join(there[:16]) + (", ..." if len(there) > 16 else "")
        fix = f"Name one of: {shown}." if there else "Create the topic first."
        return Problem(partition, partition, f"is no queue of the topics {', '.join(self._topics)}", fix)


class _Plugin:
    """A source, which knows its partitions."""

    def __init__(self, source: Source, config: Config, *, direct: bool) -> None:
        self._source = source
        self._config = config
        self._direct = direct

    def check(self, partition: str, offset: Offset, resume: str) -> Sequence[Problem]:
        """See _Side."""
        try:
            position = position_of(offset, resume, direct=self._direct)
        except ValueError as error:
            return [Problem(partition, "", str(error), "Give the map as `position get -o json` shows it, or leave it out.")]
        return list(self._source.check_position(self._config, partition, position))

    def find(self, partition: str, to: Edge | float) -> Place | Problem:
        """See _Side."""
        try:
            position = self._source.find_position(self._config, partition, to)
        except PermanentError as error:
            return Problem(partition, "", str(error), "Name partitions that are there.")
        if position is None:
            what = f"the {to.value} offset" if isinstance(to, Edge) else "the offset of a time"
            fix = "Give offsets instead, or reset the positions."
            return Problem(partition, "", f"{self._source.name} can't tell {what} of a partition", fix)
        try:
            text = text_of(position.resume, direct=self._direct)
        except ValueError as error:
            return Problem(partition, "", f"{self._source.name} found a position that can't be stored: {error}", "Mend the plugin.")
        return position.offset, text

    def partitions(self, known: Iterable[str]) -> Sequence[str]:
        """See _Side."""
        return sorted(known)


def check(order: CheckPositions) -> PositionsChecked | PositionsUnknown:
    """Everything that is wrong with the positions, and the bounds of the partitions that there are."""

    def answer(side: _Side) -> PositionsChecked:
        problems: list[Problem] = []
        bounds: dict[str, tuple[list[int] | None, list[int] | None]] = {}
        for partition, given in order.positions.items():
            problems += side.check(partition, tuple(given.offset), given.resume)
            first, last = side.find(partition, Edge.EARLIEST), side.find(partition, Edge.LATEST)
            bounds[partition] = (_numbers(first), _numbers(last))
        return PositionsChecked(_found(problems), bounds)

    return _asked(order.config, order.endpoints, answer)


def resolve(order: ResolvePositions) -> PositionsResolved | PositionsUnknown:
    """The positions of a place: of the partitions that are named, or of all that there are."""
    to = Edge(order.to) if isinstance(order.to, str) else order.to

    def answer(side: _Side) -> PositionsResolved:
        names = order.partitions or side.partitions(order.known)
        found = {name: side.find(name, to) for name in names}
        wrong = [place for place in found.values() if isinstance(place, Problem)]
        places = {name: place for name, place in found.items() if not isinstance(place, Problem)}
        positions = {name: GivenPosition(list(offset), resume) for name, (offset, resume) in places.items()}
        if wrong and (order.partitions or not positions):
            return PositionsResolved({}, _found(wrong), [])
        return PositionsResolved(positions, [], _found(wrong))

    return _asked(order.config, order.endpoints, answer)


def _asked(config: Mapping[str, str], endpoints: Endpoints, answer: Callable[[_Side], A]) -> A | PositionsUnknown:
    try:
        name = config.get(CLASS.key, "")
        if name == loader.DIRECT:
            own, source_config, _ = parse_direct(config)
            plugin = loader.find(own[SOURCE_CLASS.key])
            parsed = source_config
        else:
            plugin = loader.find(name)
            parsed = parse_source(plugin, config) if isinstance(plugin, Source) else parse_sink(plugin, config)
        parsed = secrets.resolve(parsed)
        if isinstance(plugin, Source):
            return answer(_Plugin(plugin, parsed, direct=name == loader.DIRECT))
        with connect(with_user_of(parsed, endpoints), _GROUP) as client:
            return answer(_Queues(client, parsed["topics"]))
    except (ConnectorError, RocketMQError) as error:
        return PositionsUnknown(secrets.hide(str(error)))
    except Exception:
        return PositionsUnknown(secrets.hide(f"a defect of the plugin: {traceback.format_exc()}"))


def _marks_problems(partition: str, resume: str) -> list[Problem]:
    """What is wrong with what a sink has seen of a queue, as it was exported."""
    try:
        from_stored(Stored((0,), 0, json.loads(resume or "{}")))
    except (ValueError, TypeError, AttributeError):
        fix = "Take it as it was exported, or leave it out."
        return [Problem(partition, "", "has a resume that is not that of a queue", fix)]
    return []


def _numbers(place: Place | Problem) -> list[int] | None:
    return None if isinstance(place, Problem) else list(place[0])


def _found(problems: Iterable[Problem]) -> list[Problem]:
    return list(map(secrets.hide_problem, problems))
