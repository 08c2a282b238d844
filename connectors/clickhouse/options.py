"""How a connector is told of a server and of who it is there."""

from dataclasses import replace
from typing import TYPE_CHECKING

from connectors.clickhouse.endpoint import Endpoint
from rocketconnect_sdk.configuration.urls import server_problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT, TLS, tls_of
from rocketconnect_sdk.options import Config, Option
from rocketconnect_sdk.permissions.hosts import of_urls

if TYPE_CHECKING:
    from connectors.clickhouse.client import Client

SERVER = (
    Option(
        "url",
        "The HTTP interface of the server: http://host:8123 or https://host:8443. Of a cluster name one replica, and no balancer.",
        required=True,
        check=server_problem,
        fix="Write http://HOST:8123 or https://HOST:8443, without a path; a user in `user`, a password in `password`.",
        reaches=of_urls,
        example="http://127.0.0.1:8123",
    ),
    Option("database", "The database of tables that name none.", default="default"),
    Option("user", "The user.", default="default", references=True, aliases=("username",)),
    Option("password", "The password of the user.", secret=True),
    *TLS,
    replace(REQUEST_TIMEOUT, default="60s"),
)
"""The options of a server: `url`, `database`, `user`, `password`, `ssl.*`, `request.timeout`."""
CHECK_SECONDS = 3.0
"""A check waits no longer for a server."""


def place_of(config: Config) -> Endpoint:
    """The server and the database."""
    return Endpoint(config["url"].rstrip("/"), config["database"])


def client_of(config: Config, *, compression: str = "none", seconds: float = 0.0) -> "Client":
    """Asks the server. Raises PermanentError: a password or a file of ssl.* can't be used."""
    from connectors.clickhouse.client import LARGEST, Client
    from rocketconnect_sdk.http import HttpClient, Login

    place = place_of(config)
    # By headers of its own a name may have a colon.
    login = Login(config["user"], config["password"] or "", names=("X-ClickHouse-User", "X-ClickHouse-Key"))
    timeout = seconds or config["request.timeout"]
    http = HttpClient([place.url], login, tls_of(config), seconds=timeout, largest=LARGEST)
    return Client(place, http, login.user, compression)
