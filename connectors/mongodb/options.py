"""How a connector is told of a server of MongoDB and of who it is there."""

import re
from collections.abc import Iterator
from urllib.parse import parse_qsl

from rocketconnect_sdk.options import Kind, Option
from rocketconnect_sdk.permissions.roots import Access

CHECK_SECONDS = 3.0
"""A check waits no longer for a server."""
PORT = 27017
_URL = re.compile(r"mongodb://(?P<hosts>[^/?#@]+)/?(?:\?(?P<query>[^#]*))?")
_HOST = re.compile(r"(?P<name>\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(?::(?P<port>\d{1,5}))?")
_MAY = {"replicaset": "replicaSet", "tls": "tls", "directconnection": "directConnection", "loadbalanced": "loadBalanced"}
"""What a URL may say beside the hosts, by its name in small letters. All else has options, or is chosen here."""


def url_problem(url: str) -> str | None:
    """What is wrong with the URL of a server; None: nothing."""
    if "@" in url:
        return "has a user or a password in it, and these have options of their own"
    found = _URL.fullmatch(url)
    if found is None or not all(map(_HOST.fullmatch, found["hosts"].split(","))):
        return "is no URL of a MongoDB"
    more = [name for name, _ in parse_qsl(found["query"] or "", keep_blank_values=True) if name.lower() not in _MAY]
    return f"says {', '.join(more)}, and of such things it may say {', '.join(_MAY.values())}" if more else None


def of_url(url: str) -> Iterator[tuple[str, int | None]]:
    """The hosts of a URL, and their ports. A server may name more, which are looked at when they are connected to."""
    found = _URL.fullmatch(url)
    for host in map(_HOST.fullmatch, found["hosts"].split(",") if found else ()):
        if host is not None:
            yield host["name"].strip("[]"), int(host["port"] or PORT)


SERVER = (
    Option(
        "url",
        "The servers: mongodb://HOST:27017, or mongodb://HOST1,HOST2/?replicaSet=NAME; tls=true behind the ? for TLS.",
        required=True,
        check=url_problem,
        fix="Write mongodb://HOST:27017 or mongodb://HOST1,HOST2/?replicaSet=NAME; a user in `user`, a password in `password`.",
        reaches=of_url,
        example="mongodb://127.0.0.1:27017",
    ),
    Option("user", "The user. Empty: none is shown.", default="", references=True, aliases=("username",)),
    Option("password", "The password of the user.", secret=True),
    Option("auth.source", "The database that knows the user.", default="admin"),
    Option(
        "auth.mechanism",
        "How the user shows that it is the one. Empty: SCRAM, as the server has it.",
        default="",
        choices=("", "SCRAM-SHA-1", "SCRAM-SHA-256", "PLAIN", "MONGODB-X509"),
    ),
    Option(
        "ssl.ca.location",
        "A file with the certificates (PEM) that the server's own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option(
        "ssl.certificate.location",
        "A file with the certificate that is shown to the server, and its key (PEM). Empty: none is shown.",
        default="",
        access=Access.READ,
    ),
    Option("request.timeout", "How long an answer of the server may take.", Kind.DURATION, "30s", minimum=0.1, maximum=3600),
)
"""The options of a server, the same for all connectors of MongoDB."""
