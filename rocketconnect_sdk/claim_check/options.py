"""The options of the claim check."""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from importlib import import_module

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.sink import RecordSink, Sink
from rocketconnect_sdk.source import Source

PREFIX = "claim.check."
_STORES = "connectors.objects"
"""What knows stores of objects is a connector's."""
_MOST = 1 << 30
_OF_HDFS = ("user.name", "delegation.token")
"""HDFS is no place for bodies."""

URL = Option(
    f"{PREFIX}url",
    "Where bodies are stored that are too large for the topic, whose messages only refer to them: s3://BUCKET/PREFIX, "
    "gs://BUCKET/PREFIX, az://CONTAINER/PREFIX or file:///FOLDER. A sink reads them there: give both the same. Empty: nowhere. "
    "See docs/claim-check.md.",
    default="",
)
MOST = Option(
    f"{PREFIX}max.bytes",
    "A body is at most so large; a larger one is a bad record, and is not read.",
    Kind.SIZE,
    "64MiB",
    minimum=1,
    maximum=_MOST,
)
THRESHOLD = Option(
    f"{PREFIX}threshold",
    "Bodies above this size are stored there. Others stay in their messages.",
    Kind.SIZE,
    "1MiB",
    minimum=1_024,
    maximum=(4 << 20) - (64 << 10),
)
RETENTION = Option(
    f"{PREFIX}retention",
    "The source removes bodies that it has stored so long ago, about once an hour while it sends; 0s: never. Longer than the "
    "topic keeps its messages.",
    Kind.DURATION,
    "0s",
    minimum=0,
)


@cache
def _of_server() -> tuple[Option, ...]:
    """The options of the server of a store."""
    found: tuple[Option, ...] = import_module(f"{_STORES}.options").SERVERS
    # Without examples: who tries a plugin has no large bodies yet.
    return tuple(replace(option, key=PREFIX + option.key, aliases=(), example="") for option in found if option.key not in _OF_HDFS)


def source_options() -> tuple[Option, ...]:
    """Those of sources."""
    return (URL, THRESHOLD, MOST, RETENTION, *_of_server())


def sink_options() -> tuple[Option, ...]:
    """Those of sinks."""
    return (URL, MOST, *_of_server())


def problems(plugin: Source | Sink, config: Config) -> Iterable[Problem]:
    """What is wrong with those of a connector of a plugin, as far as it can be seen before it runs."""
    of_source = isinstance(plugin, Source)
    url = config[URL.key]
    if not url:
        given = [key for key in config.raw if key.startswith(PREFIX) and key != URL.key and config.raw[key].strip()]
        yield from (
            Problem(key, "", f"means nothing without {URL.key}", f"Set {URL.key}, or leave it out.") for key in sorted(given)
        )
        return
    if isinstance(plugin, Source | RecordSink) and plugin.whole_messages:
        reason = "cannot be used where whole messages go on as they are, those that refer to bodies among them"
        yield Problem(URL.key, url, reason, "Leave it out; whoever reads the records in the end needs it.")
        return
    if of_source and config["value.converter"] == "arrow":
        fix = "Use another value.converter, such as json or avro, or leave this out."
        yield Problem(URL.key, url, "cannot be used with value.converter=arrow, whose messages hold many rows", fix)
    if of_source and config[THRESHOLD.key] > config[MOST.key]:
        fix = f"Make it at most {MOST.key}."
        yield Problem(THRESHOLD.key, str(config[THRESHOLD.key]), f"is above {MOST.key}", fix)
    for problem in import_module(f"{_STORES}.bodies").problems(config.within(PREFIX), writes=of_source):
        yield replace(problem, key=PREFIX + problem.key)
