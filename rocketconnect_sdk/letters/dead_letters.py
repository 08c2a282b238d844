"""Dead letters as messages: what is noted on them, how they are called, which of them are meant. Pure.

The notes have the names that RocketMQ Connect gives them, and some more; all begin with PREFIX. The other properties are those of
the message that the dead letter keeps. An edition is a message behind the dead letter in its queue, with a tag of its own, so that
a broker can find editions; it notes which dead letter it is of and has all that is noted there. What was replayed is noted there,
too: see replay_notes.
"""

import hashlib
import json
import re
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rocketconnect_sdk.stages import SOURCE, Stage
from rocketconnect_sdk.topics import Message

PREFIX = "__connect.errors."
"""Begins the properties of a dead letter that say why it is one: the prefix that RocketMQ Connect uses."""

STAGES: Mapping[Stage, str] = {
    Stage.POLL: "TASK_POLL",
    Stage.TRANSFORM: "TRANSFORMATION",
    Stage.CONVERT: "CONVERTER",
    Stage.SEND: "ROCKETMQ_PRODUCE",
    Stage.WRITE: "TASK_PUT",
}
"""What RocketMQ Connect calls the stages, and so do dead letters."""

EDITION_TAG = "rocketconnect-edition"
REPLAY_TOPIC = "RCREPLAY_"
"""Begins the names of replay topics; the uid of a connector follows."""
REPLAYS = "connect-replay-count"
"""On a replayed message: how often it was replayed."""
REPLAY_ORIGIN = "connect-replay-origin"
"""On a replayed message: where it was before it failed for the first time, as "topic/broker/queue:offset"."""

REPLAY_OF = "connect-replay-of"
"""On a replayed message: the replay that sent it and the dead letter that it is of, as "replay/broker:queue:offset"."""

REPLAY_NOTE = "replayed"
"""A note that only messages have that tell what was replayed."""

KEY_PROPERTIES = ("KEYS", "connect-key-base64")
"""What a message has its key in: as text, or as base64."""

_EDITION_OF = f"{PREFIX}edition.of"
_EDITION_TAGS = f"{PREFIX}edition.tags"
_QUEUE_PLACE = ("topic", "broker", "queue", "offset")
_SOURCE_PLACE = ("source.partition", "source.offset")
_SHA256_DIGITS = 64
_NAMES = {name: stage for stage, name in STAGES.items()}
_BEFORE_SEND = (*SOURCE[: SOURCE.index(Stage.SEND)], None)
_ID = re.compile(r"(?:([^:]{1,200}):)?(\d{1,9}):(\d{1,18})(?:-(\d{1,18}))?")

_OF_ROCKETMQ = frozenset(
    """1ST_POP_TIME ARRIVE_TIME BUYER_ID CHECK_IMMUNITY_TIME_IN_SECONDS CLUSTER CONSUME_START_TIME CORRECTION_FLAG CORRELATION_ID
    CRC32 DELAY DLQ_ORIGIN_MESSAGE_ID DLQ_ORIGIN_TOPIC DUP_INFO EXTEND_UNIQ_INFO INDEX_TYPE INNER_BASE INNER_NUM INSTANCE_ID
    MAX_OFFSET MAX_RECONSUME_TIMES MIN_OFFSET MQ2_FLAG MSG_REGION MSG_TYPE ORIGIN_MESSAGE_ID PGROUP POP_CK POP_CK_OFFSET
    PUSH_REPLY_TIME REAL_QID REAL_TOPIC RECONSUME_TIME REPLY_TO_CLIENT RETRY_TOPIC TIMER_DEL_FLAG TIMER_DELAY_LEVEL
    TIMER_DELAY_MS TIMER_DELAY_SEC TIMER_DELETE_UNIQKEY TIMER_DELIVER_MS TIMER_ENQUEUE_MS TIMER_OUT_MS TIMER_ROLL_TIMES
    TRACE_ON TRAN_MSG TRAN_PREPARED_QUEUE_OFFSET TRANSACTION_CHECK_TIMES TRANSFER_FLAG TTL UNIQ_KEY WAIT
    __STARTDELIVERTIME __transactionId__""".split()  # noqa: SIM905 - a list of them would take a line for each
)
"""What clients and brokers note for themselves: MessageConst of RocketMQ 5.3. A message that is sent again gets its own."""


def replay_topic(uid: str) -> str:
    """The topic through which dead letters come back to a sink connector; nobody else reads it."""
    return f"{REPLAY_TOPIC}{uid}"


def own_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """What of the properties of a message is its own: key, tags, and what people gave it; not what brokers and tasks need."""
    kept = {
        name: value
        for name, value in properties.items()
        if name not in _OF_ROCKETMQ and name != "RCPOS" and not name.startswith(PREFIX)
    }
    if _EDITION_OF in properties:
        kept.pop("TAGS", None)
        if _EDITION_TAGS in properties:
            kept["TAGS"] = properties[_EDITION_TAGS]
    return kept


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What a message in a dead-letter topic says.

    Attributes:
        message: It.
        notes: Why it is there, without the prefix.
        properties: Of the message that it keeps.
    """

    message: Message
    notes: Mapping[str, str]
    properties: Mapping[str, str]

    @classmethod
    def of(cls, message: Message) -> "DeadLetter":
        """Of any message: one that RocketMQ put there says little."""
        notes = {name.removeprefix(PREFIX): value for name, value in message.properties.items() if name.startswith(PREFIX)}
        return cls(message, notes, own_properties(message.properties))

    @property
    def id(self) -> str:
        """Names it within its topic."""
        return letter_id(self.message.queue, self.message.offset)

    @property
    def connector(self) -> str:
        """Who failed at it; empty: it does not say."""
        return self.notes.get("connector.name", "")

    @property
    def task(self) -> int | None:
        """The number of the task that failed at it."""
        return _number(self.notes.get("task.id", ""))

    @property
    def stage(self) -> Stage | None:
        """Where it failed; None: not known."""
        return _NAMES.get(self.notes.get("stage", ""))

    @property
    def error(self) -> str:
        """The class of the error."""
        return self.notes.get("exception.class.name", "")

    @property
    def text(self) -> str:
        """What was wrong."""
        said = self.notes.get("exception.message", "")
        group = self.message.queue.partition("%DLQ%")[2].rsplit("/", 2)[0]
        return said or (f"RocketMQ put it here: group {group} gave up consuming it" if group and not self.notes else "")

    @property
    def is_cut(self) -> bool:
        """It holds only the first part of the original."""
        return "cut" in self.notes

    def is_unmade(self, topic: str, *, is_own: bool) -> bool:
        """Whether its body, as it came here, was never that of a message of the topic that it is to be sent to.

        What a source failed at before it was to be sent has passed no converter: whoever reads the topic would fail at it. Of a
        letter that does not say where it failed nobody knows better.

        Args:
            topic: Where it is to be sent to.
            is_own: That is where its source would have sent it, whatever topic that is.
        """
        is_meant = is_own or ("source.partition" in self.notes and self.notes.get("topic") == topic)
        return is_meant and self.stage in _BEFORE_SEND

    @property
    def replays(self) -> int:
        """How often it was replayed before it came here."""
        return _number(self.properties.get(REPLAYS, "")) or 0

    @property
    def replay_of(self) -> tuple[str, str] | None:
        """The replay that it comes back from, and the letter that it was then; None: it was not replayed, or does not say."""
        by, _, letter = self.properties.get(REPLAY_OF, "").partition("/")
        return (by, letter) if letter else None

    @property
    def queue_origin(self) -> tuple[str, int] | None:
        """The queue that it failed in first, as "topic/broker/number", and its offset there; None: it does not say."""
        queue, _, offset = self.properties.get(REPLAY_ORIGIN, "").rpartition(":")
        if not queue:
            parts = [self.notes.get(name, "") for name in ("topic", "broker", "queue")]
            queue, offset = "/".join(parts) if all(parts) else "", self.notes.get("offset", "")
        number = _number(offset)
        return (queue, number) if queue and number is not None else None

    @property
    def origin(self) -> str:
        """For people: where it was before; empty: it does not say."""
        if (place := self.queue_origin) is not None:
            return f"{place[0]}:{place[1]}"
        if "source.partition" in self.notes:
            return f"{self.notes['source.partition']}:{self.notes.get('source.offset', '')}"
        return self.message.properties.get("DLQ_ORIGIN_TOPIC") or self.message.properties.get("RETRY_TOPIC", "")

    @property
    def identity(self) -> bytes | None:
        """Equal for the letters of one failure: what a task writes a second time when it was killed before its position was stored.

        It is made of the connector, the place that it read the record from, how often that was replayed, and the hash of the
        record. None: the letter does not say all of that.
        """
        sha256 = self.notes.get("sha256", "")
        names = _SOURCE_PLACE if "source.partition" in self.notes else _QUEUE_PLACE
        place = [self.notes.get(name, "") for name in names]
        if len(sha256) != _SHA256_DIGITS or not all(place):
            return None
        # Without the epoch: what a source sends again on purpose has another incarnation, and what its next owner sends has not.
        mark = self.message.properties.get("RCPOS", "").split("|")
        told = [
            self.connector,
            *place,
            self.notes.get("topic", ""),
            self.notes.get("row", ""),
            self.replays,
            sha256,
            mark[:1],
            mark[2:],
        ]
        return hashlib.blake2b(json.dumps(told).encode(), digest_size=16).digest()

    @property
    def key(self) -> tuple[str, str] | None:
        """What its key is by: the property and its value; None: it has none."""
        found = ((name, self.properties[name]) for name in KEY_PROPERTIES if name in self.properties)
        return next(found, None)

    @property
    def edition_of(self) -> int | None:
        """The offset of the dead letter that it is an edition of."""
        return _number(self.message.properties.get(_EDITION_OF, ""))

    @property
    def is_other(self) -> bool:
        """It is no dead letter, but an edition, or tells what was replayed."""
        return self.edition_of is not None or REPLAY_NOTE in self.notes

    def edited(self, body: bytes, properties: Mapping[str, str] | None = None, topic: str = "") -> dict[str, str]:
        """The properties of the message that is its edition.

        Args:
            body: That of the edition.
            properties: What the message has that it is sent as; None: those of the letter.
            topic: Where its source sends it; empty: where it is said that the record was meant to go.
        """
        own = self.properties if properties is None else properties
        noted = {
            f"{PREFIX}{name}": value for name, value in self.notes.items() if not name.startswith("edition.") and name != "cut"
        }
        if topic:
            noted[f"{PREFIX}topic"] = topic
        tags = own.get("TAGS")
        return {
            **own,
            **noted,
            **({_EDITION_TAGS: tags} if tags else {}),
            _EDITION_OF: str(self.message.offset),
            f"{PREFIX}length": str(len(body)),
            f"{PREFIX}sha256": hashlib.sha256(body).hexdigest(),
            "TAGS": EDITION_TAG,
        }

    def replayed(self, by: str = "", letter: str = "") -> dict[str, str]:
        """The properties of the message that is its replay.

        Args:
            by: The replay; empty: it is not to be said.
            letter: The id of the dead letter, also where this is an edition of it.
        """
        place = self.queue_origin
        origin = {REPLAY_ORIGIN: f"{place[0]}:{place[1]}"} if place is not None else {}
        of = {REPLAY_OF: f"{by}/{letter}"} if by else {}
        return {**self.properties, **origin, **of, REPLAYS: str(self.replays + 1)}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which dead letters are meant.

    Attributes:
        connector: Those of this one, and those that name none.
        task: Of this task; None: of all.
        stage: Of this stage; empty: of all.
        error: Of this class of error; empty: of all.
    """

    connector: str
    task: int | None = None
    stage: str = ""
    error: str = ""

    def takes(self, letter: DeadLetter) -> bool:
        """Whether it is meant. No edition is: it stands behind the dead letter that it is of."""
        return (
            not letter.is_other
            and letter.connector in ("", self.connector)
            and (self.task is None or letter.task == self.task)
            and (not self.stage or letter.stage == self.stage)
            and (not self.error or letter.error in (self.error, self.error.rpartition(".")[2]))
        )


Spans = Mapping[str, Sequence[tuple[int, int]]]
"""By queue, ranges [from, until) of offsets that follow each other without touching."""


def letter_id(queue: str, offset: int) -> str:
    """What a message of a dead-letter topic is called within it."""
    _, broker, number = queue.rsplit("/", 2)
    return f"{broker}:{number}:{offset}"


def parse_ids(ids: Iterable[str], queues: Sequence[str]) -> tuple[Spans, list[tuple[str, str]]]:
    """The ranges that ids name, and those that name nothing: (the id, what is wrong with it).

    Args:
        ids: "broker:queue:offset" or "broker:queue:first-last"; the broker may be missing where there is only one.
        queues: Of the dead-letter topic.
    """
    known = {tuple(queue.rsplit("/", 2)[1:]): queue for queue in queues}
    brokers = {broker for broker, _ in known}
    found: dict[str, list[tuple[int, int]]] = {}
    wrong = []
    for given in ids:
        match = _ID.fullmatch(given)
        if match is None:
            wrong.append((given[:200], "is not broker:queue:offset"))
            continue
        broker, number, first, last = match.groups()
        if broker is None and len(brokers) == 1:
            (broker,) = brokers
        queue = known.get((broker or "", str(int(number))))
        if queue is None:
            there = ", ".join(sorted(f"{a}:{b}" for a, b in known)[:20]) or "none"
            wrong.append((given[:200], f"names no queue of the topic; there are {there}"))
        elif int(last or first) < int(first):
            wrong.append((given[:200], "ends before it begins"))
        else:
            found.setdefault(queue, []).append((int(first), int(last or first) + 1))
    return {queue: join_spans(spans) for queue, spans in sorted(found.items())}, wrong


def join_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same ranges of one queue, in their order and without touching."""
    joined: list[tuple[int, int]] = []
    for first, until in sorted(spans):
        if joined and first <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(until, joined[-1][1]))
        else:
            joined.append((first, until))
    return joined


def without_spans(spans: Sequence[tuple[int, int]], others: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What of these ranges is in none of the others; both of one queue, and in their order."""
    left: list[tuple[int, int]] = []
    taken = deque(others)
    for first, until in spans:
        while taken and taken[0][1] <= first:
            taken.popleft()
        while taken and taken[0][0] < until:
            if first < taken[0][0]:
                left.append((first, taken[0][0]))
            first = taken[0][1]  # noqa: PLW2901 - goes on behind what is taken
            if first >= until:
                break
            taken.popleft()
        if first < until:
            left.append((first, until))
    return left


def format_spans(spans: Spans) -> list[str]:
    """As options have them: "broker:queue:from-until", sorted."""
    named = ((queue.rsplit("/", 2)[1:], span) for queue, each in sorted(spans.items()) for span in each)
    return [f"{broker}:{number}:{first}-{until}" for (broker, number), (first, until) in named]


def read_spans(topic: str, formatted: Iterable[str]) -> Spans:
    """What format_spans() wrote.

    Raises:
        ValueError: it did not write this.
    """
    spans: dict[str, list[tuple[int, int]]] = {}
    for each in formatted:
        match = _ID.fullmatch(each)
        if match is None or None in match.groups():
            msg = f"{each[:200]!r} is not broker:queue:from-until"
            raise ValueError(msg)
        broker, number, first, until = match.groups()
        spans.setdefault(f"{topic}/{broker}/{number}", []).append((int(first), int(until)))
    return spans


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) < 19 else None
