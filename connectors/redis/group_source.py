"""Streams of Redis into topics, by a group of consumers."""

from collections.abc import Iterable

from connectors.redis.options import CHECK_SECONDS, IN_A_CLUSTER, SERVER, cluster_problems, place_of
from connectors.redis.servers.addresses import Address
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.queues import QueueSource, Share, Subscription


class RedisGroupSource(QueueSource):
    """Reads streams of Redis or Valkey in a group of consumers, which shares entries out, at least once."""

    name = "redis_group_source"
    extra = "redis"
    packages = ("redis",)
    leaves = True
    options = (
        *SERVER,
        Option(
            "streams",
            "The keys of the streams that are read, separated by commas. One that is not there is made, empty.",
            Kind.LIST,
            required=True,
            check=lambda names: None if names else "names no stream",
            fix="Name streams, such as orders,payments.",
            example="orders",
        ),
        Option(
            "group", "The group; others may read in it, too. One that is not there is made.", required=True, example="rocketconnect"
        ),
        Option(
            "group.start",
            "Where a group begins that is made here: at the first entry that is there (earliest), or behind the last one (latest).",
            default="earliest",
            choices=("earliest", "latest"),
        ),
        Option(
            "claim.idle",
            "Entries that another consumer of the group was given, and has not acknowledged for so long, are taken over. 0s: "
            "never.",
            Kind.DURATION,
            "5m",
            minimum=0,
        ),
        Option(
            "value.field",
            "The field that is the value, as it is; an entry without it has no value. Empty: all fields are.",
            default="",
        ),
        Option(
            "fields",
            "What all fields of an entry become, as redis_source has it.",
            default="object",
            choices=("object", "pairs"),
        ),
        Option(
            "key.field", "The field that is the key; an entry without it has no key. Empty: the key of the stream is.", default=""
        ),
        *QueueSource.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See QueueSource."""
        return run_checks(config, _no_cluster, _server_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The streams. See Source."""
        for name in config["streams"]:
            yield Origin("streams", place_of(config["url"]), name)

    def subscribe(self, config: Config, share: Share, context: TaskContext) -> Subscription:
        """See QueueSource."""
        from connectors.redis.groups import GroupSubscription

        return GroupSubscription(config, share, context)

    def retire(self, config: Config, share: Share) -> None:
        """Removes the consumer, unless it has entries that nobody has acknowledged. See QueueSource."""
        from connectors.redis.groups import retire

        retire(config, share.identity)


def _no_cluster(config: Config) -> Iterable[Problem]:
    return cluster_problems(config, "which this source can't read")


@preflight()
def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.redis.client import client_of, own_errors

    with own_errors(config["url"]), client_of(config, seconds=CHECK_SECONDS) as client:
        if client.info("cluster").get("cluster_enabled"):
            if not Address.of(config["url"]).is_cluster:
                fix = "Name a server that is none, or read the streams by redis_source."
                yield Problem("url", config["url"], IN_A_CLUSTER[0], fix)
            return
        for name in config["streams"]:
            if (kind := client.type(name).decode()) not in ("stream", "none"):
                yield Problem("streams", name, f"holds a {kind}, and no stream", "Leave it out.")
