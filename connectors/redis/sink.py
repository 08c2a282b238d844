"""Topics into keys of Redis."""

from collections.abc import Iterable

from connectors.redis.commands import TYPES, StoredAs
from connectors.redis.options import CHECK_SECONDS, IN_A_CLUSTER, SERVER
from connectors.redis.servers.addresses import Address
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import (
    DELETE_ENABLED,
    FORM,
    Addressing,
    Connection,
    Form,
    Template,
    WriteSink,
    template_option,
)

_EXACT = "exactly_once"
_OF_TYPES = {"member": ("set", "sorted_set"), "score": ("sorted_set",), "field": ("hash",), "stream.maxlen": ("stream",)}
"""Options that mean something for some types alone."""


class RedisSink(WriteSink):
    """Writes strings, hashes, lists, sets, sorted sets and streams of Redis or Valkey, exactly once."""

    name = "redis_sink"
    guarantee = Guarantee.EXACTLY_ONCE
    extra = "redis"
    packages = ("redis",)
    options = (
        *SERVER,
        Option(
            "type",
            "What a record becomes. string: the value of a key. hash: its fields are those of a key. list: one more element at the "
            "end. set and sorted_set: a member. stream: an entry with its fields.",
            default="string",
            choices=tuple(TYPES),
        ),
        template_option(
            "key",
            f"The key. {FORM} stand for what a record has. Empty: ${{topic}}:${{key}} of strings and hashes, ${{topic}} of all "
            "others.",
            "",
        ),
        template_option("field", "Of a hash: the one field that is the value. Empty: all fields are.", ""),
        template_option("member", "Of sets: the member.", "${value}"),
        template_option("score", "Of a sorted set: the score, a number, such as ${value.points}.", ""),
        Option("ttl", "Keys expire so long after they were written last. 0s: they do not.", Kind.DURATION, "0s", minimum=0),
        Option("stream.maxlen", "About so many entries of a stream are kept; 0: all.", Kind.INT, "0", minimum=0),
        DELETE_ENABLED,
        Option(
            "delivery",
            "exactly_once: positions are kept in keys rocketconnect:CONNECTOR:*, and are written with the data by MULTI. "
            "at_least_once: no such keys; elements of lists and entries of streams may be there twice after a failure. A cluster "
            "takes at_least_once alone.",
            default=_EXACT,
            choices=(_EXACT, "at_least_once"),
        ),
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(config, _type_problems, _delivery_problems, _server_problems)

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        kind = config["type"]
        name = config["key"] or ("${topic}:${key}" if kind in ("string", "hash") else "${topic}")
        key = Template.of(name)
        member = Template.of(config["field"] if kind == "hash" else config["member"])
        match kind:
            case "string":
                return Addressing(key=key, deletes=config["delete.enabled"])
            case "hash" if not config["field"]:
                return Addressing(key=key, form=Form.OBJECT, deletes=config["delete.enabled"], partial=True)
            case "list":
                return Addressing(target=key)
            case "stream":
                return Addressing(target=key, form=Form.OBJECT)
            case _:
                more = {"score": Template.of(config["score"])} if kind == "sorted_set" else {}
                return Addressing(target=key, key=member, deletes=config["delete.enabled"], more=more)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        from connectors.redis.client import client_of
        from connectors.redis.connection import ExactConnection, RedisConnection
        from connectors.redis.servers.writes import ClusterConnection

        stored = StoredAs(config["type"], bool(config["field"]), config["ttl"], config["stream.maxlen"])
        if Address.of(config["url"]).is_cluster:
            return ClusterConnection(config, stored)
        if config["delivery"] == _EXACT:
            return ExactConnection(client_of(config), config["url"], stored, context.connector_uid)
        return RedisConnection(client_of(config), config["url"], stored)

    def deleted(self, config: Config, connector_uid: str) -> None:
        """Removes the positions. See Sink."""
        from connectors.redis.client import client_of, own_errors
        from connectors.redis.connection import forget

        if Address.of(config["url"]).is_cluster:
            return
        with own_errors(config["url"]), client_of(config) as client:
            forget(client, connector_uid)


def _type_problems(config: Config) -> Iterable[Problem]:
    kind = config["type"]
    for key, kinds in _OF_TYPES.items():
        if key in config.raw and kind not in kinds:
            yield Problem(key, config.raw[key], f"means nothing with type={kind}", f"Remove it, or set type={' or '.join(kinds)}.")
    if kind == "sorted_set" and not config["score"]:
        yield Problem("score", "", "is missing: each member of a sorted set has a score", "Set it, such as to ${value.points}.")


def _delivery_problems(config: Config) -> Iterable[Problem]:
    if Address.of(config["url"]).is_cluster and config["delivery"] == _EXACT:
        reason = "can't be kept in a cluster: a transaction has keys of one slot alone, and positions would be in another one"
        yield Problem(
            "delivery", _EXACT, reason, "Set delivery=at_least_once: keys, fields and members then have their last value."
        )


@preflight(refused=("user", "Correct user and password."))
def _server_problems(config: Config) -> Iterable[Problem]:
    from connectors.redis.client import client_of, own_errors

    with own_errors(config["url"]), client_of(config, seconds=CHECK_SECONDS) as client:
        client.ping()
        if client.info("cluster").get("cluster_enabled") and not Address.of(config["url"]).is_cluster:
            yield Problem("url", config["url"], *IN_A_CLUSTER)
