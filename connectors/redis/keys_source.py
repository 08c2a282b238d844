"""The keys of a database of Redis into a topic, each with what it holds: once, or again and again."""

from collections.abc import Iterable, Mapping

from connectors.redis.again import read_again
from connectors.redis.keys import PARTITION, KeysTask
from connectors.redis.options import CHECK_SECONDS, IN_A_CLUSTER, SERVER, place_of
from connectors.redis.servers.addresses import Address
from connectors.redis.values import ENCODINGS, READS
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.plugins.packages import NeedsPackages
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source, never

_NUMBERS = 2
"""An offset has the number of the reading, and how many of its records are done."""


class RedisKeysSource(NeedsPackages, Source):
    """Reads the keys of Redis or Valkey with what they hold, once or at an interval, at least once."""

    name = "redis_keys_source"
    extra = "redis"
    packages = ("redis",)
    replayable = never
    options = (
        *SERVER,
        Option("keys.pattern", "The keys that are read: a pattern as SCAN has it, such as user:*.", default="*"),
        Option(
            "types",
            "The types that are read, separated by commas. Empty: all.",
            Kind.LIST,
            "",
            check=lambda types: next((f"has {each[:100]!r}, which is no type" for each in types if each not in READS), None),
            fix=f"Name some of {', '.join(READS)}.",
        ),
        Option(
            "scan.interval",
            "So long after the beginning of one reading of all keys the next one begins. 0s: they are read once.",
            Kind.DURATION,
            "0s",
            minimum=0,
        ),
        Option(
            "encoding",
            "How bytes become text. utf-8: a key that holds what is no text is a bad record. base64: all keys, fields, members and "
            "values are in base64.",
            default="utf-8",
            choices=ENCODINGS,
        ),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        if missing := self.lacks:
            yield Problem("connector.class", self.name, missing, f"{self.packages_fix}.")
        else:
            yield from _server_problems(config)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The pattern, at a place of its own: streams are read by redis_source, too, and come otherwise. See Source."""
        yield Origin("keys.pattern", f"{place_of(config['url'])}?keys=", config["keys.pattern"])

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source."""
        del config, max_tasks, positions
        return Plan([{}])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        del config
        if partition != PARTITION:
            yield Problem(partition, "", "is no partition of this source", f"Name {PARTITION}.")
        elif len(position.offset) != _NUMBERS or min(position.offset) < 0:
            fix = "Give which reading of all keys it is and how many of its records are done: [0, 0] begins with the first one."
            yield Problem(partition, str(list(position.offset)), "is no place in it", fix)

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """See Source."""
        del config, partition
        return Position((0, 0)) if place is Edge.EARLIEST else None

    def read_again(self, config: Config, partition: str, original: bytes) -> SourceBatch | None:
        """See Source."""
        del config
        return read_again(partition, original, (0, 1))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> KeysTask:
        """See Source."""
        del task
        if missing := self.lacks:
            msg = f"{self.name} {missing}. {self.packages_fix}"
            raise PermanentError(msg)
        return KeysTask(config, context)


@preflight()
def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.redis.client import client_of, own_errors

    with own_errors(config["url"]), client_of(config, seconds=CHECK_SECONDS) as client:
        if client.info("cluster").get("cluster_enabled") and not Address.of(config["url"]).is_cluster:
            yield Problem("url", config["url"], *IN_A_CLUSTER)
        client.execute_command("SCAN", 0, "MATCH", config["keys.pattern"], "COUNT", 1)
