"""The source side of the connector API: a Source plans, its SourceTasks copy."""

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.polled import Polled
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.verification import SourceTables


@dataclass(frozen=True, slots=True)
class Plan:
    """How the work of a connector is split.

    Attributes:
        tasks: What each task is told, in order; at most max.tasks of them, at least one. Small: names, not data.
        replan_after: Seconds until the split should be made again (new tables, say); None: only when the configuration changes.
    """

    tasks: Sequence[Mapping[str, str]]
    replan_after: float | None = None


@dataclass(frozen=True, slots=True)
class Signal:
    """Something that a person can tell the running tasks of a source.

    Attributes:
        name: What people call it: "snapshot".
        doc: What the tasks do then, as a sentence.
        arguments: What goes with it; checked as options are, before a task hears of it.
    """

    name: str
    doc: str
    arguments: Sequence[Option] = ()


class Edge(Enum):
    """An end of a source partition."""

    EARLIEST = "earliest"
    """The first record that is still there."""
    LATEST = "latest"
    """Behind the last whole record that is there now."""


class Source(ABC):
    """A kind of source. Stateless: planning and opening may happen in different processes on different machines.

    Class attributes:
        name: What users write into connector.class; the name of the module.
        aliases: Other names that it answers to.
        options: Its own options; the runtime adds those that every source has.
        signals: What people can tell its running tasks.
        defaults: Of options that every source has, by key, where another value suits this one better.
        whole_messages: Its batches have `properties`: what it sends are messages as they are to be, which no transform may change.
        foreign: Its configuration is of another system, which has converters and transforms of its own: these options are in
            Config.own and nothing to the runtime, and options that it does not list are passed, in Config.raw.
        open_ended: Nobody knows all of its options: those that it does not list are passed, in Config.raw.
    """

    name: ClassVar[str]
    aliases: ClassVar[Sequence[str]] = ()
    options: ClassVar[Sequence[Option]] = ()
    signals: ClassVar[Sequence[Signal]] = ()
    defaults: ClassVar[Mapping[str, str]] = {}
    whole_messages: ClassVar[bool] = False
    foreign: ClassVar[bool] = False
    open_ended: ClassVar[bool] = False

    def check(self, config: Config) -> Iterable[Problem]:
        """What is wrong beyond single options: files that can't be read, options that exclude each other. Changes nothing.

        Called in a fresh process before a configuration is stored, with a time limit. Also where some options are wrong, so
        that everything is told at once: reading one of those from the config ends the check, since their problems are told
        already, and no check sees a value that is not valid. A check that consists of several independent ones gives them to
        run_checks(), which runs each as far as it can. A problem with is_warning=True is told and refuses nothing.
        """
        del config
        return ()

    def sample(self, config: Config) -> SourceBatch | None:
        """Some of the first records that it would give, which are held against what is in its topic.

        Changes nothing, and must not block for long. Called in a fresh process, with a configuration in which check() found nothing
        wrong. Its offsets say nothing, and bad records are left out of it. None, also without an override, and whatever it raises:
        it can't tell now what its records look like.
        """
        del config
        return None

    def origins(self, config: Config) -> Iterable[Origin] | None:
        """What it reads: a second source of the same into the same topic is refused, since each record would be there twice.

        Called where `check` is, also of a configuration in which something else is wrong; must not connect, and changes nothing.
        None, also without an override: it can't tell.
        """
        del config
        return None

    def read_again(self, config: Config, partition: str, original: bytes) -> SourceBatch | None:
        """What it would read where it had given a Rejected, of the bytes with which a person has corrected that.

        Changes nothing. Called in a fresh process, with a time limit and a valid configuration, when somebody edits the dead letter
        of such a record; what comes of it passes the transforms and the converter. Its offsets say nothing, and what cannot be read
        still is a Rejected. None, also without an override: it reads no bytes, and a person gives a message as its topic has them.

        Args:
            config: The configuration.
            partition: That of the record.
            original: In the place of the bytes of the record.

        Raises:
            PermanentError, SystemAway, RetriableError: nobody can tell now how they are to be read.
        """
        del config, partition, original
        return None

    def replayable(self, config: Config) -> bool:
        """Whether after a restart from the same position it gives the same records with the same offsets: it does, by default.

        If it cannot, it is AT_LEAST_ONCE. Called with a configuration that is valid; must not connect. A source that never can says
        `replayable = never`.
        """
        del config
        return True

    @abstractmethod
    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """Splits the work into at most max_tasks tasks. Called in a fresh process, with a time limit.

        The same source partition must never be in two tasks of one plan.

        Args:
            config: The configuration.
            max_tasks: How many tasks there may be.
            positions: What is stored of the connector while the plan is made, by partition: nothing at first. Tasks of the plan
                before may still run and move them.
        """

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """What is wrong with going on at a position: a partition that is not there, no place between two records.

        Changes nothing. Called in a fresh process, with a time limit, before somebody moves a position by hand. The key of
        each problem is the partition. Its resume is empty where the person gave none: a source that can't find its way from the
        offset alone says so here. Without an override any offset is good that is not empty and has no negative number.

        Raises:
            SystemAway, RetriableError: it can't be told now.
        """
        del config
        offset = position.offset
        if not offset or min(offset) < 0:
            yield Problem(partition, str(list(offset)), "is no offset", "Give one or more numbers that are not negative.")

    def reads_on(self, before: Config, now: Config, positions: Mapping[str, Position]) -> Iterable[Problem]:
        """What people are told before one configuration takes the place of another: what is read anew, what goes on otherwise.

        Called as check_position is, with two configurations that are valid. All it tells are warnings. By default nothing: reading
        goes on at the positions.

        Args:
            before: The configuration until now.
            now: The next one.
            positions: What is stored of the connector, without the maps.
        """
        del before, now, positions
        return ()

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """The position at which reading goes on from an end of a partition, or from a time, in seconds since 1970.

        Called as check_position is. None, also without an override: this source can't tell.

        Raises:
            PermanentError: the partition is not there.
            SystemAway, RetriableError: it can't be told now.
        """
        del config, partition, place
        return None

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes what the connector leaves behind in the other system: a replication slot, a subscription. By default nothing.

        Called in a fresh process, with a time limit, after the connector was deleted and all its tasks have ended, with its last
        configuration and its uid (TaskContext.connector_uid). Must be idempotent: it may be called more than once, also at the same
        time on several machines, and where nothing is left or never was.

        Raises:
            SystemAway, RetriableError: called again later, until the executor's limit (an hour by default).
            PermanentError: not called again; people are told why.
        """
        del config, connector_uid

    def tables(self, config: Config) -> SourceTables | None:
        """The tables that it reads, for `rocketconnect verify`. None, also without an override: it reads none.

        Must not block for long: connect where it is asked. Called in a fresh process, with a time limit.
        """
        del config
        return None

    @abstractmethod
    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "SourceTask":
        """Makes the task that copies one share; task is what plan() gave it. Must not block for long: connect in start()."""


def never(source: Source, config: Config) -> bool:
    """What a source says that cannot replay, whatever its configuration is: `replayable = never`."""
    del source, config
    return False


class SourceTask(ABC):
    """Copies. All methods are called by one thread, but stop() of the context can be seen from any.

    Life: start once, poll again and again, committed between polls, close (also after an error, also without start).
    """

    remaining_unit: str = ""
    """What remaining() counts, as people are told: bytes, rows, letters; empty: nothing is told. It may change in a run."""
    own_topics: Sequence[str] = ()
    """Topics beside `topic` that it writes to of its own, whatever topic.allowed says: no record may name them."""

    @abstractmethod
    def start(self, positions: Mapping[str, Position]) -> None:
        """Begins at the given positions: of every partition of the connector that has one. Others begin at their beginning.

        Each holds the map that came with the last batch that was done, and no map when that came without, or when a person has
        moved the position and gave none: PermanentError where the source can't go on from the offset alone.

        Raises:
            SystemAway, RetriableError: called again after a backoff.
            PermanentError: the task is FAILED.
        """

    @abstractmethod
    def poll(self) -> Polled:
        """The next records of some partition, or several batches of any; None, or no batch, when there are none now.

        Should return within 100 ms (the runtime waits idle_seconds before the next call after None), and at most about
        context.batch_bytes of values and context.batch_records records, of all its batches together.

        Batches that are given together are encoded before the first of them is sent. Those of one partition stay in their order,
        and where they are alike and follow each other there (one schema, the same columns, no map) they become one: a log in which
        the rows of many tables come in turns may give a batch for each row. Between partitions there is no order.

        A batch without records that has an `end` moves the position of its partition there, when all that was given of that
        partition before is stored: nothing is sent. It says how far was read where there is nothing to copy; give one now and
        then, not at every poll, and none that lies before what was given. Without records and without `end` a batch is a None.
        """

    @property
    def idle_seconds(self) -> float:
        """After a poll that gave None: seconds until another is worth while. The runtime wakes earlier to stop."""
        return 0.1

    @property
    def caught_up(self) -> bool:
        """After a poll that gave None: whether all that was there at start() has been given, as far as it was not behind it.

        True by default. A source that waits for what is there already, such as a log that a server sends, says False until it came:
        only then is it known that records which are in the topic beyond the positions do not come again.
        """
        return True

    @property
    def gives_soon(self) -> bool:
        """Whether a poll that gave no record waits only for what this task itself is having stored.

        The task then stays RUNNING, and is polled again at once. Asked after each poll, so it must be cheap.
        """
        return False

    @property
    def finished(self) -> bool:
        """True when there will never be more; the task then stays IDLE without being polled."""
        return False

    @property
    def held_back(self) -> str:
        """What it sees and gives no record of before something else happens, why, and what people do about it; empty: nothing.

        Told as the reason why the task is IDLE. Not counted by remaining(). Asked after each poll, so it must be cheap.
        """
        return ""

    @property
    def keep_alive_seconds(self) -> float:
        """For how long the source may go without a poll before keep_alive is called; infinite, as by default: for ever."""
        return math.inf

    def keep_alive(self) -> None:  # noqa: B027  # not every source has to
        """Does what the other system has to see of a reader that goes on holding its connection: a ping, an acknowledgement.

        Called each keep_alive_seconds, or as soon after as a call that is under way has ended, while poll is not: the task is
        paused, its buffer is full, its rate is limited, or it waits for the broker, the sink of a direct task, a converter or
        idle_seconds. Not called when the last call of poll or keep_alive has raised an error, until a poll went well, and not
        when it is finished. Must be quick, and reads nothing. By default nothing is done.

        Raises:
            SystemAway, RetriableError: as if the next poll had raised it, which is not called then.
            PermanentError: the task is FAILED.
        """

    def committed(self, positions: Mapping[str, Position]) -> None:
        """The broker has confirmed everything up to these positions, and they are stored. For sources that must acknowledge.

        Called when something was stored since the last call, within a second or so, also while nothing is read and while the task
        is paused.
        """
        del positions

    def signal(self, name: str, arguments: Mapping[str, str]) -> str:
        """Does what a person asks for: one of the signals of the Source, with arguments that are right. Between polls, within 1 s.

        Returns: what the person is told.

        Raises:
            ValueError, ConnectorError: it can't be done; the text says why. The task goes on.
        """
        del arguments
        msg = f"{type(self).__name__} does not know the signal {name!r}"
        raise ValueError(msg)

    def remaining(self) -> int | None:
        """How much is left to read, in remaining_unit; None: not known, which is shown as such and never as 0.

        For progress and lag. Asked after each poll, so it must be cheap.
        """
        return None

    @abstractmethod
    def close(self) -> None:
        """Gives back what is held. May be called more than once; does not raise for what is already gone."""
