"""Streams of Redis into topics."""

from collections.abc import Iterable
from contextlib import closing
from typing import TYPE_CHECKING

from connectors.redis.options import CHECK_SECONDS, IN_A_CLUSTER, SERVER, place_of
from connectors.redis.servers.addresses import Address
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.errors import Problem, RecordError
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.partitions import READING, Log, PartitionSource
from rocketconnect_sdk.partitions.decoding import rejected
from rocketconnect_sdk.partitions.topics import topics_of
from rocketconnect_sdk.record import SourceBatch

if TYPE_CHECKING:
    from connectors.redis.servers.streams import ClusterStreamLog
    from connectors.redis.streams import StreamLog

_SIGNS = frozenset("*?[\\")


class RedisSource(PartitionSource):
    """Reads streams of Redis or Valkey by the ids of their entries, exactly once, without a group of consumers."""

    name = "redis_source"
    extra = "redis"
    packages = ("redis",)
    options = (
        *SERVER,
        Option("streams", "The keys of the streams that are read, separated by commas.", Kind.LIST, "", example="orders"),
        Option(
            "streams.pattern",
            "Streams that are read beside them: a pattern of keys as SCAN has it, such as orders:*. New ones are found while it "
            "runs.",
            default="",
        ),
        Option(
            "topic.template",
            "The topic of each stream, such as redis-${stream}; what RocketMQ takes in no name becomes _. Empty: all entries go to "
            "the topic of the configuration.",
            default="",
        ),
        Option(
            "value.field",
            "The field that is the value, read as value.format says; an entry without it has no value. Empty: all fields are, as "
            "`fields` says.",
            default="",
        ),
        Option(
            "fields",
            "What all fields of an entry become. object: texts under their names; an entry with a field that is no text in UTF-8, "
            "or that stands there twice, is a bad record. pairs: a list of pairs of a name and a value, both in base64, exactly.",
            default="object",
            choices=("object", "pairs"),
        ),
        Option(
            "key.field",
            "The field that is the key, read as key.format says; an entry without it has no key. Empty: the key of the stream is.",
            default="",
        ),
        *READING,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See PartitionSource."""
        return run_checks(config, _option_problems, _server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The streams. See Source."""
        place, into = place_of(config["url"]), config["topic.template"]
        for name in config["streams"]:
            yield Origin("streams", place, name, into=into)
        if pattern := config["streams.pattern"]:
            yield Origin("streams.pattern", place, pattern, is_pattern=bool(_SIGNS & set(pattern)), into=into)

    def connect(self, config: Config, context: TaskContext) -> Log:
        """See PartitionSource."""
        return _log(config, context)

    def read_again(self, config: Config, partition: str, original: bytes) -> SourceBatch | None:
        """Of all fields JSON is what a person corrects. See PartitionSource."""
        if config["value.field"]:
            return super().read_again(config, partition, original)
        value: object
        try:
            value, _ = converter("json", {"schemas.enable": "false"}, is_key=False).decode(original)
        except RecordError as error:
            value = rejected(type(error).__name__, str(error), original)
        return SourceBatch(partition, [value], [(0, 0)], size=len(original))


def _log(config: Config, context: TaskContext, seconds: float = 0.0) -> "StreamLog | ClusterStreamLog":
    from connectors.redis.client import client_of
    from connectors.redis.servers.streams import ClusterStreamLog
    from connectors.redis.streams import StreamLog

    if Address.of(config["url"]).is_cluster:
        return ClusterStreamLog(config, context, seconds)
    return StreamLog(client_of(config, seconds=seconds), config, context)


def _option_problems(config: Config) -> Iterable[Problem]:
    if not config["streams"] and not config["streams.pattern"]:
        yield Problem("streams", "", "is missing, and so is streams.pattern", "Name streams, or give a pattern.")
    if config["value.field"] and "fields" in config.raw:
        yield Problem("fields", config["fields"], "means nothing with value.field", "Leave one of them out.")
    if not config["value.field"] and config["value.format"] != "bytes":
        reason = "means nothing without value.field: all fields together are an object"
        yield Problem("value.format", config["value.format"], reason, "Leave it out, or name the field that it is of.")


@preflight()
def _server_problems(config: Config) -> Iterable[Problem]:
    with closing(_log(config, TaskContext(), CHECK_SECONDS)) as log:
        if log.is_cluster() and not Address.of(config["url"]).is_cluster:
            yield Problem("url", config["url"], *IN_A_CLUSTER)
            return
        types = log.types()
        for name, kind in types.items():
            if kind == "none":
                fix = "Correct it, or wait: it is read when it comes."
                yield Problem("streams", name, "is not there", fix, is_warning=True)
            elif kind != "stream":
                yield Problem("streams", name, f"holds a {kind}, and no stream", "Leave it out.")
        if all(kind in ("stream", "none") for kind in types.values()):
            found = log.streams()
            topics_of(config["topic.template"], "stream", found)
            for name in found[:1]:
                log.try_reading(name)
