"""How a connector is told of a server and of who it is there."""

from connectors.clickhouse.place import Login, Place
from rocketconnect_sdk.configuration.urls import server_problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.permissions.roots import Access

SERVER = (
    Option(
        "url",
        "The HTTP interface of the server: http://host:8123 or https://host:8443. Of a cluster name one replica, and no balancer.",
        required=True,
        check=server_problem,
        fix="Write http://HOST:8123 or https://HOST:8443, without a path; a user in `user`, a password in `password`.",
        reaches=of_urls,
    ),
    Option("database", "The database of tables that name none.", default="default"),
    Option("user", "The user.", default="default", references=True, aliases=("username",)),
    Option("password", "The password of the user.", secret=True),
    Option(
        "ssl.ca.location",
        "A file with the certificates (PEM) that the server's own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option("request.timeout", "How long an answer of the server may take.", Kind.DURATION, "60s", minimum=0.1, maximum=3600),
)
"""The options of a server: `url`, `database`, `user`, `password`, `ssl.ca.location`, `request.timeout`."""
CHECK_SECONDS = 3.0
"""A check waits no longer for a server."""


def place_of(config: Config) -> Place:
    """The server and the database."""
    return Place(config["url"].rstrip("/"), config["database"])


def login_of(config: Config, *, compression: str = "none", seconds: float = 0.0) -> Login:
    """Who we are there."""
    timeout = seconds or config["request.timeout"]
    return Login(config["user"], config["password"] or "", config["ssl.ca.location"], timeout, compression)
