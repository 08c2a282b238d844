"""How a connector is told of a server of Redis and of who it is there."""

from collections.abc import Iterator

from connectors.redis.servers.addresses import Address, hosts_of, url_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.roots import Access

CHECK_SECONDS = 3.0
"""A check waits no longer for a server."""

IN_A_CLUSTER = (
    "is a node of a cluster, which has some of the keys alone",
    "Name the cluster by some of its nodes: redis+cluster://HOST:6379,HOST:6379.",
)
"""What is wrong with the URL of such a node, and what to do."""


def place_of(url: str) -> str:
    """The database of a URL, written in one way."""
    return Address.of(url).place


def cluster_problems(config: Config, what: str) -> Iterator[Problem]:
    """That the URL is one of a cluster, of which a plugin can do nothing."""
    if Address.of(config["url"]).is_cluster:
        yield Problem("url", config["url"], f"is a cluster, {what}", "Name a server that is none.")


SERVER = (
    Option(
        "url",
        "The server, and its database: redis://HOST:6379/0, with TLS rediss://HOST:6379/0. Behind Sentinel, some of them and the "
        "name of the master: redis+sentinel://HOST:26379,HOST:26379/NAME/0. A cluster, by some of its nodes: "
        "redis+cluster://HOST:6379,HOST:6379.",
        required=True,
        check=url_problem,
        fix="Write redis://HOST:6379/0, redis+sentinel://HOST:26379/NAME/0 or redis+cluster://HOST:6379, with TLS rediss; a user "
        "in `user`, a password in `password`.",
        reaches=hosts_of,
        example="redis://127.0.0.1:6379/0",
    ),
    Option("user", "The user. Empty: that of servers without users.", default="", references=True, aliases=("username",)),
    Option("password", "The password of the user.", secret=True, aliases=("redisPassword",)),
    Option("sentinel.user", "The user that Sentinels know. Empty: that of Sentinels without users.", default="", references=True),
    Option("sentinel.password", "The password that Sentinels want.", secret=True),
    Option(
        "ssl.ca.location",
        "A file with the certificates (PEM) that the server's own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option("request.timeout", "How long an answer of the server may take.", Kind.DURATION, "30s", minimum=0.1, maximum=3600),
)
"""The options of a server: where it is, who we are, TLS, and how long an answer may take."""
