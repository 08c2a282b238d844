"""The options of the data source, and what they stand for. Pure, but for files of certificates."""

import json
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

import pyspark_rocketmq.needs  # noqa: F401  # says what is to be installed
from rocketconnect_sdk.columns.declared import DOC, columns_problem, given_columns
from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.errors import ConfigError, Problem
from rocketconnect_sdk.options import Config, Kind, Option, read
from rocketconnect_sdk.schema import Schema
from rocketmq_remoting.client import Client
from rocketmq_remoting.model import TlsOptions

GROUP = "rocketconnect_spark"
"""The consumer group in whose name is pulled; no offsets are kept for it."""
FIRST, LAST = "first", "last"
_PLACE_DOC = (
    'first, last, a time such as 2026-01-31T12:00:00+01:00, or JSON with a queue offset for each queue: {"orders/broker-a/0": 12}.'
)
_CONVERTERS = ("key.converter", "value.converter")
_PREFIXES = tuple(f"{key}." for key in _CONVERTERS)
_OF_SPARK = ("checkpointlocation",)
"""What Spark itself reads of the options of a stream."""


@dataclass(frozen=True, slots=True)
class OffsetLimit:
    """Where the reading of a topic begins or ends.

    Attributes:
        end: "first" or "last" of each queue; empty: the others say it.
        time_ms: At the first message that was stored then or later; milliseconds since 1970.
        offsets: By queue its offset.
    """

    end: str = ""
    time_ms: int | None = None
    offsets: Mapping[str, int] | None = None


def place(text: str) -> OffsetLimit:
    """The place that a text stands for.

    Raises:
        ValueError: it stands for none; says what is wrong.
    """
    text = text.strip()
    if text in (FIRST, LAST):
        return OffsetLimit(end=text)
    if text.startswith("{"):
        offsets = json.loads(text)
        for queue, offset in offsets.items():
            if isinstance(offset, bool) or not isinstance(offset, int) or offset < 0:
                msg = f"has {offset!r} as the offset of {queue}, which is no whole number from 0 on"
                raise ValueError(msg)
        return OffsetLimit(offsets=offsets)
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        msg = "is a time without a zone"
        raise ValueError(msg)
    return OffsetLimit(time_ms=round(when.timestamp() * 1000))


def _place_problem(text: str) -> str | None:
    try:
        if text:
            place(text)
    except ValueError as error:
        return str(error) if "zone" in str(error) or "offset" in str(error) else "is no place in a topic"
    return None


def _columns_problem(text: str) -> str | None:
    return columns_problem(text) if text.strip() else None


CONNECTION = (
    Option("name.servers", "The name servers of RocketMQ, host:port, separated by semicolons.", default="127.0.0.1:9876"),
    Option("access.key", "The user of RocketMQ; empty: brokers without ACL.", default=""),
    Option("secret.key", "The secret of that user.", default=""),
    Option("tls", "Name servers and brokers speak TLS.", Kind.BOOL, "false"),
    Option("tls.ca", "PEM file of who signed their certificates; empty: those that the machine trusts.", default=""),
    Option("timeout", "How long a request, and the wait for messages that are there, may take.", Kind.DURATION, "30s", minimum=1),
)
"""What reading and writing have."""

READING = (
    *CONNECTION,
    Option("topic", "The topic that is read.", required=True),
    Option("key.converter", "How keys are read.", default="string"),
    Option(
        "value.converter",
        "How values are read; empty: packed rows (arrow) where the topic has some, plain JSON where columns are given, else text.",
        default="",
    ),
    Option(
        "columns",
        f"What rows without a schema of their own, such as JSON, are: the fields of the column value. {DOC}",
        default="",
        check=_columns_problem,
    ),
    Option(
        "start",
        f"Where reading begins: {_PLACE_DOC} Of a stream: when it has no checkpoint. Empty: {FIRST}, and of a stream {LAST}: "
        f"one that ends when it has what is there (availableNow) gives nothing then, so set {FIRST} for it.",
        default="",
        check=_place_problem,
    ),
    Option("end", f"Before which place reading ends; not of a stream. {_PLACE_DOC}", default=LAST, check=_place_problem),
    Option(
        "errors.tolerance",
        "none: a message that can't be read ends the job, with its place. all: it is a row whose value is null, and the column "
        "problem says why.",
        default="none",
        choices=("none", "all"),
    ),
    Option(
        "on.gap",
        "When messages that are to be read are gone (retention, a recreated topic): fail, or go on behind them.",
        default="fail",
        choices=("fail", "skip"),
    ),
    Option("messages.per.partition", "The most messages of a queue in one Spark partition.", Kind.INT, "200000", minimum=1),
    Option(
        "look.back",
        "How many messages before a Spark partition's first one it looks at, to leave out in it what a source of RocketConnect "
        "had to send twice.",
        Kind.INT,
        "10000",
        minimum=0,
        maximum=1_000_000,
    ),
)

WRITING = (
    *CONNECTION,
    Option("topic", "The topic that rows go to which have no column topic, or null in it. It has to be there.", default=""),
    Option("key.converter", "How keys are written.", default="string"),
    Option(
        "value.converter", "How values are written; empty: plain JSON for structs, string for others, bytes for binary.", default=""
    ),
    Option("batch.bytes", "About how many bytes are sent at once.", Kind.SIZE, "1MiB", minimum=1, maximum=4 << 20),
    Option("record.bytes", "A message is at most so large: the broker's limit.", Kind.SIZE, "4MiB", minimum=1, maximum=64 << 20),
    Option("retry.timeout", "How long a send that fails is tried again.", Kind.DURATION, "2m"),
    Option(
        "producer.name",
        "Of a batch job: with batch.number, who writes this. A batch that is written again under the same name and number is "
        "left out by all who read with RocketConnect.",
        default="",
        check=lambda name: None if name.replace("-", "").replace("_", "").replace(".", "").isalnum() or not name else "is no name",
        fix="Use letters, digits, dots, dashes and underscores.",
    ),
    Option("batch.number", "Of a batch job with producer.name: grows with each batch.", Kind.INT, "-1", minimum=-1),
)


class Settings:
    """The options of one read or write, checked.

    Args:
        options: READING or WRITING.
        given: As the user wrote them; case does not matter in their names.

    Raises:
        ConfigError: everything that is wrong with them.
    """

    def __init__(self, options: tuple[Option, ...], given: Mapping[str, str]) -> None:
        # Of load() and save() the argument is called path.
        raw = {("topic" if key.lower() == "path" else key.lower()): text for key, text in given.items()}
        config, problems = read(options, raw, known_prefixes=(*_PREFIXES, *_OF_SPARK))
        problems = [problem if problem.key in config else _unknown(problem) for problem in problems]
        problems += [
            Problem(key, "", f"is given without {other}", "Give both, or none.")
            for key, other in (("access.key", "secret.key"), ("secret.key", "access.key"), ("producer.name", "batch.number"))
            if key in raw and other not in raw
        ]
        if problems:
            # What Spark shows of it is its text.
            raise ConfigError(problems)
        self.config: Config = config

    def converter(self, part: str, otherwise: str) -> Converter:
        """The converter of keys or of values.

        Args:
            part: key or value.
            otherwise: The name of that which is taken where none is named.

        Raises:
            ConfigError: there is none of that name, or its options are wrong.
        """
        prefix = f"{part}.converter"
        given = self.config.prefixed(f"{prefix}.")
        if not self.config[prefix] and otherwise == "json":
            # As every consumer expects it; who names the converter gets what connectors get.
            given = {"schemas.enable": "false", **given}
        return converter(self.config[prefix] or otherwise, given, is_key=part == "key")

    @property
    def columns(self) -> Schema | None:
        """The schema of the option columns; None: it is not given."""
        return given_columns(self.config["columns"].strip())

    def connect(self) -> Client:
        """A client; the caller closes it.

        Raises:
            ConfigError: the file of certificates can't be used.
        """
        config = self.config
        return Client(
            config["name.servers"],
            group=GROUP,
            access_key=config["access.key"] or None,
            secret_key=config["secret.key"] or None,
            tls=TlsOptions(self._context(), None) if config["tls"] else None,
            timeout=config["timeout"],
        )

    def _context(self) -> ssl.SSLContext:
        path = self.config["tls.ca"]
        try:
            return ssl.create_default_context(cafile=path or None)
        except OSError as error:  # an SSLError is one
            problem = Problem("tls.ca", path, f"can't be used: {error}", "Give a valid PEM file.")
            raise ConfigError([problem]) from error


def _unknown(problem: Problem) -> Problem:
    """Of a key that is no option."""
    fix = problem.fix if problem.fix.startswith("Did you mean") else "Remove it, or see docs/spark.md for the options there are."
    return replace(problem, reason=problem.reason.replace("of this connector", "of the format rocketmq"), fix=fix)
