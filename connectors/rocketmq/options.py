"""How a connector is told of another cluster of RocketMQ and of who it is there."""

import re
from collections.abc import Iterable, Iterator, Sequence

from connectors.rocketmq.selection import topic_tags_problem
from rocketconnect_sdk.configuration.patterns import pattern_option
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import tls_problems
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.roots import Access
from rocketconnect_sdk.routes.names import TOPIC_LENGTH, topic_problem

AWAY = ("name.servers", "Start the cluster, or correct name.servers and tls.")
REFUSED = ("access.key", "Correct access.key and secret.key, or give the user what is missing.")
"""The options to which it belongs that no cluster answers, and that one refuses us, and what to do."""
TARGET = "target."
"""What the options of a second cluster begin with."""
CHECK_SECONDS = 5.0
"""A check waits no longer for an answer."""
_HIGHEST_PORT = 65535
_NAMED = ("topics", "topics.pattern", "src.topictags")
_ID = re.compile(r"[A-Za-z0-9_.-]{1,64}")


def address_of(server: str) -> tuple[str, int] | None:
    """The host and the port of HOST:PORT; None: it is none."""
    host, colon, port = server.rpartition(":")
    host = host.strip().removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) <= _HIGHEST_PORT
    return (host, int(port)) if colon and host and is_port and not set(host) & set("/@ ") else None


def servers_problem(servers: Sequence[str]) -> str | None:
    """What is wrong with servers HOST:PORT; None: nothing."""
    if not servers:
        return "names no server"
    wrong = next((server for server in servers if address_of(server) is None), None)
    return None if wrong is None else f"has {wrong[:100]!r}, which is no HOST:PORT"


def _topics_problem(topics: Iterable[str]) -> str | None:
    told = ((topic, topic_problem(topic)) for topic in topics)
    return next((f"{topic[:TOPIC_LENGTH]!r} {problem}" for topic, problem in told if problem), None)


def of_servers(servers: Iterable[str]) -> Iterator[tuple[str, int]]:
    """The hosts and the ports of servers. See Option.reaches."""
    return filter(None, map(address_of, servers))


def cluster_options(side: str, prefix: str = "", which: str = "the other") -> tuple[Option, ...]:
    """The options of a cluster, and of who we are there.

    Args:
        side: What RocketMQ's own replicator calls it: "src", "dest".
        prefix: What their names begin with: "target."; of a second cluster.
        which: What the cluster is called.
    """
    return (
        Option(
            f"{prefix}name.servers",
            f"The name servers of {which} cluster, separated by commas; they name its brokers, which have to be reached, too.",
            Kind.LIST,
            required=True,
            aliases=(f"{side}.endpoint",),
            check=servers_problem,
            fix="Write HOST:9876,HOST:9876.",
            reaches=of_servers,
            example="127.0.0.1:9876",
        ),
        *login_options(side, prefix),
    )


def login_options(side: str = "", prefix: str = "") -> tuple[Option, ...]:
    """The options of who we are in a cluster, and of TLS; see cluster_options. Without a side they have no other names."""
    return (
        Option(
            f"{prefix}access.key",
            "The user there, where brokers ask for one (ACL 1.0 and 2.0). Empty: none.",
            default="",
            references=True,
            aliases=(f"{side}.access.key",) if side else (),
        ),
        Option(f"{prefix}secret.key", "The secret of that user.", secret=True, aliases=(f"{side}.secret.key",) if side else ()),
        Option(f"{prefix}tls", "The servers speak TLS (tls.server.mode).", Kind.BOOL, "false"),
        Option(
            f"{prefix}ssl.ca.location",
            "With tls: a file with the certificates (PEM) that the servers' own must come from. Empty: those that the system "
            "trusts.",
            default="",
            access=Access.READ,
        ),
        Option(
            f"{prefix}ssl.certificate.location",
            "With tls: a file with our own certificate (PEM).",
            default="",
            access=Access.READ,
        ),
        Option(
            f"{prefix}ssl.key.location",
            "A file with its key (PEM). Empty: it is in the same file.",
            default="",
            access=Access.READ,
        ),
        Option(
            f"{prefix}ssl.server.name",
            "With tls: the name that the servers' certificates are made out to, since brokers announce addresses. Empty: the host "
            "of each address.",
            default="",
        ),
    )


CLUSTER_IDS = tuple(
    Option(
        f"{name}.cluster",
        f"A name for the cluster that messages {does}. Each cluster has one name in all connectors that copy between clusters: "
        "messages carry the names of those that they were in, and are not copied into one of these again.",
        required=True,
        aliases=(alias,),
        check=lambda text: None if _ID.fullmatch(text) else "is no name of a cluster here",
        fix="Use 1 to 64 letters, digits, _ . and -.",
        example=example,
    )
    for name, does, alias, example in (
        ("source", "come from", "src.cluster", "east"),
        ("target", "go to", "dest.cluster", "west"),
    )
)
"""The names of both clusters, by which loops are cut."""


TOPICS = (
    Option(
        "topics",
        "The topics that are read, separated by commas.",
        Kind.LIST,
        "",
        check=_topics_problem,
        fix="Write names of topics: orders,payments.",
        example="orders",
    ),
    pattern_option(
        "topics.pattern",
        "Topics that are read beside them: a regular expression that matches the whole name. New ones are found while it runs; "
        "those that RocketMQ keeps for itself and for groups (%RETRY%, %DLQ%, RMQ_SYS_) are left out.",
    ),
    pattern_option("topics.exclude", "Topics that are left out of these: a regular expression that matches the whole name."),
    Option(
        "src.topictags",
        "Topics with tags of their own, as RocketMQ's replicator has them: orders,new || paid;payments,*.",
        default="",
        check=topic_tags_problem,
        fix="Write TOPIC,TAG;TOPIC,TAG.",
    ),
    Option(
        "topic.template",
        "The topic of each topic of the other cluster, such as A-${topic}; what RocketMQ takes in no name becomes _. Empty: "
        "all messages go to the topic of the configuration.",
        default="${topic}",
        aliases=("dest.topic",),
    ),
)
"""Which topics of the other cluster are meant, and what each is called here."""

GROUPS = (
    Option("groups", "The consumer groups, separated by commas.", Kind.LIST, "", aliases=("sync.gids",), example="billing"),
    pattern_option(
        "groups.pattern",
        "Groups beside them, but for those of RocketMQ itself: a regular expression that matches the whole name.",
    ),
    pattern_option("groups.exclude", "Groups that are left out: a regular expression that matches the whole name."),
)
"""Which consumer groups of the other cluster are meant."""


def both_problems(config: Config) -> Iterable[Problem]:
    """What of the options of both clusters does not go together. Connects to nothing."""
    yield from cluster_problems(config)
    yield from cluster_problems(config, TARGET)


def cluster_problems(config: Config, prefix: str = "") -> Iterable[Problem]:
    """What of these options does not go together. Connects to nothing."""
    user, secret = f"{prefix}access.key", f"{prefix}secret.key"
    if bool(config[user]) != bool(config[secret]):
        missing, given = (user, secret) if config[secret] else (secret, user)
        yield Problem(missing, "", f"is missing, and {given} is given", f"Set it, or remove {given}.")
    for part in ("ca.location", "certificate.location", "key.location", "server.name"):
        key = f"{prefix}ssl.{part}"
        if config[key] and not config[f"{prefix}tls"]:
            yield Problem(key, config[key], "means nothing without TLS", f"Set {prefix}tls=true, or remove it.")
    yield from tls_problems(config, prefix)


def topic_problems(config: Config) -> Iterable[Problem]:
    """Topics are named."""
    if not any(config[key] for key in _NAMED):
        yield Problem("topics", "", "is missing, and so is topics.pattern", "Name topics, or give a pattern.")


def names_problems(config: Config) -> Iterable[Problem]:
    """Both clusters have one name."""
    if config["source.cluster"] == config["target.cluster"]:
        why = "is the name of source.cluster, too, so every message would be taken for one that was there already"
        yield Problem("target.cluster", config["target.cluster"], why, "Give each cluster a name of its own.")
