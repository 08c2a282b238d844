"""How a connector is told of an endpoint of gRPC and of who it is there."""

from collections.abc import Iterable

from connectors.rocketmq.options import login_options, of_servers, servers_problem
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT
from rocketconnect_sdk.options import Config, Kind, Option

GROUP, DELIVER = "message.group", "delivery.time"
"""The options of the sink that say of what type messages are."""
AWAY = ("endpoints", "Start the proxy, or correct endpoints and tls.")
REFUSED = ("access.key", "Correct access.key and secret.key, or give the user what is missing.")
"""The options to which it belongs that nobody answers, and that one refuses us, and what to do."""
CHECK_SECONDS = 5.0
"""A check waits no longer for an answer."""

SERVER = (
    Option(
        "endpoints",
        "The endpoints of gRPC, HOST:PORT, separated by commas: proxies of RocketMQ 5, or what a cloud calls the endpoint of an "
        "instance.",
        Kind.LIST,
        required=True,
        check=servers_problem,
        fix="Write HOST:8081,HOST:8081.",
        reaches=of_servers,
        example="127.0.0.1:8081",
    ),
    Option(
        "endpoints.announced",
        "Each broker is asked at the endpoint that the cluster announces for it, as RocketMQ's own clients do. false: all are "
        "asked at `endpoints`, where what is announced can't be reached from here.",
        Kind.BOOL,
        "true",
    ),
    *login_options(),
    Option("namespace", "The namespace of topics and groups, where a cloud has one. Empty: none.", default=""),
    REQUEST_TIMEOUT,
)
"""The options of an endpoint, and of who we are there."""


def place_of(config: Config) -> str:
    """What the cluster is called in messages."""
    return ",".join(config["endpoints"])


def certificate_problems(config: Config) -> Iterable[Problem]:
    """A certificate of our own that is no whole one: gRPC wants both parts."""
    if config["ssl.certificate.location"] and not config["ssl.key.location"]:
        why = "is missing, and gRPC does not look for it in the file of ssl.certificate.location"
        yield Problem("ssl.key.location", "", why, "Name the file with the key: it may be the same.")
