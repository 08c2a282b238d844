"""What a Redis holds, and then its commands, into a topic: as its replicas get them."""

import re
from collections.abc import Iterable, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

from connectors.redis.again import read_again
from connectors.redis.options import CHECK_SECONDS, SERVER, cluster_problems, place_of
from connectors.redis.servers.addresses import Address
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.database_logs.source import heartbeat
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.record import Position, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source

if TYPE_CHECKING:
    from connectors.redis.replication.task import ReplicationTask

PARTITION = "replication"
_NUMBERS = 4
_PHASES = (1, 2)


class RedisReplicationSource(Source):
    """Copies what a server of Redis or Valkey holds, and then each command that changes it, by the protocol of its replicas."""

    name = "redis_replication_source"
    aliases = ("org.apache.rocketmq.connect.redis.connector.RedisSourceConnector",)
    options = (
        *SERVER,
        Option(
            "snapshot.mode",
            "initial: all keys with what they hold, then the commands. only: all keys. never: the commands from now on.",
            default="initial",
            choices=("initial", "only", "never"),
        ),
        Option(
            "databases",
            "The numbers of the databases that are read, separated by commas. Empty: all.",
            Kind.LIST,
            "",
            check=lambda numbers: next(
                (f"has {each[:100]!r}, which is no number" for each in numbers if not each.isdecimal()), None
            ),
            fix="Write numbers, such as 0, 1.",
        ),
        Option(
            "commands",
            "The commands that are read, separated by commas, such as SET, DEL. Empty: all. It chooses no keys of a snapshot.",
            Kind.LIST,
            "",
        ),
        Option(
            "encoding",
            "How bytes become text. utf-8: a key or a command that has what is no text is a bad record. base64: all keys, fields, "
            "members, values and arguments are in base64.",
            default="utf-8",
            choices=("utf-8", "base64"),
        ),
        Option(
            "spool.bytes",
            "So many bytes of commands are taken from the server before they can be sent on, in a temporary file of the executor. "
            "A snapshot comes beside them. What is more stays with the server, which ends the link when that is too much for it.",
            Kind.SIZE,
            "1GiB",
            minimum=1 << 20,
        ),
        heartbeat("How often the place in the stream is stored, also when none of its commands are read."),
    )

    def check(self, config: Config) -> Iterable[Problem]:
        """See Source."""
        return run_checks(config, _option_problems, _server_problems)

    def replayable(self, config: Config) -> bool:
        """Commands are. A snapshot that was not read to its end comes again as another one. See Source."""
        return bool(config["snapshot.mode"] == "never")

    def origins(self, config: Config) -> Iterable[Origin]:
        """The stream of the server. See Source."""
        yield Origin("url", f"{place_of(config['url'])}?replication=", PARTITION)

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        """See Source."""
        del config, max_tasks, positions
        return Plan([{}])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        """See Source."""
        del config
        offset, shown = position.offset, str(list(position.offset))
        if partition != PARTITION:
            yield Problem(partition, "", "is no partition of this source", f"Name {PARTITION}.")
        elif len(offset) != _NUMBERS or min(offset) < 0 or offset[2] not in _PHASES:
            fix = "Give one that it had, with its map (--resume), or [0, 0, 1, 0] to read all that the server holds anew."
            yield Problem(partition, shown, "is no place in it", fix)
        elif offset[2] == _PHASES[1] and not re.fullmatch("[0-9a-f]{40}", str(position.resume.get("id"))):
            fix = "Give its map, too (--resume), or [0, 0, 1, 0] to read all that the server holds anew."
            yield Problem(partition, shown, "is a place in a history, and which one its map does not say", fix)

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        """See Source."""
        del config
        return Position((0, 0, 1, 0)) if partition == PARTITION and place is Edge.EARLIEST else None

    def read_again(self, config: Config, partition: str, original: bytes) -> SourceBatch | None:
        """See Source."""
        del config
        return read_again(partition, original, (0, 0, 1, 1))

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "ReplicationTask":
        """See Source."""
        from connectors.redis.replication.task import ReplicationTask

        del task
        return ReplicationTask(config, context)


def _option_problems(config: Config) -> Iterable[Problem]:
    yield from cluster_problems(config, "and each of its masters has a history of its own: make a connector for each")
    if Address.of(config["url"]).database:
        fix = "Leave it out, and name the database in `databases`."
        yield Problem("url", config["url"], "names a database, and a server is replicated with all of them", fix)


@preflight()
def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.redis.replication.link import Link

    if Address.of(config["url"]).is_cluster:
        return
    with closing(Link(config, CHECK_SECONDS)) as link:
        if link.open().is_cluster:
            told = "is a node of a cluster, of whose keys it has some alone"
            fix = "Make a connector for each master, and correct the URLs when one fails over."
            yield Problem("url", config["url"], told, fix, is_warning=True)
