"""How a connector is told of a server of RabbitMQ and of who it is there."""

from collections.abc import Iterable, Mapping
from urllib.parse import urlsplit

from rocketconnect_sdk.http.options import REQUEST_TIMEOUT, TLS
from rocketconnect_sdk.options import Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls

CHECK_SECONDS = 5.0
"""A check waits no longer for an answer."""
PORTS = {"amqp": 5672, "amqps": 5671}
LONGEST = 255
"""So many bytes a name may have in AMQP: that of a queue, of an exchange, a routing key, most properties."""
QUEUE_TYPE = "x-queue-type"
"""The argument of a declaration that is the type of a queue."""
EXCHANGE = "exchange"
"""The name of the exchange among the texts of an operation."""
HEADER = "header."
"""Before the names of headers among the texts of an operation."""
TEXTS: Mapping[str, str] = {
    "message.id": "message_id",
    "correlation.id": "correlation_id",
    "message.type": "type",
    "priority": "priority",
    "content.type": "content_type",
}
"""The options that are texts of properties, and the names of these."""
_LIMIT = 1 << 63


def url_problem(url: str) -> str | None:
    """What is wrong with the URL of a server; None: nothing."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no URL of a server"
    if "@" in parts.netloc:
        return "has a user or a password in it, and these have options of their own"
    if fits and parts.path.strip("/") and not parts.query:
        return "has a virtual host in it, and that has an option of its own, virtual.host"
    return None if fits and not parts.path.strip("/") and not parts.query and not parts.fragment else "is no URL of a server"


SERVER = (
    Option(
        "url",
        "The server: amqp://HOST:5672, with TLS amqps://HOST:5671.",
        required=True,
        check=url_problem,
        fix="Write amqp://HOST:5672 or amqps://HOST:5671; a user in `user`, the virtual host in virtual.host.",
        reaches=of_urls,
        example="amqp://127.0.0.1:5672",
    ),
    Option("virtual.host", "The virtual host.", default="/", aliases=("vhost",)),
    Option(
        "user",
        "The user. Empty: guest, whom servers let in from their own machine alone.",
        default="",
        references=True,
        aliases=("username",),
    ),
    Option("password", "The password of the user.", secret=True),
    *TLS,
    Option(
        "heartbeat",
        "A connection on which nothing is heard for about twice as long is given up. 0s: none is.",
        Kind.DURATION,
        "30s",
        minimum=0,
        maximum=3600,
    ),
    REQUEST_TIMEOUT,
)
"""The options of a server, and of who we are there."""


def pairs_problem(pairs: Iterable[str]) -> str | None:
    """What is wrong with texts NAME=VALUE; None: nothing."""
    for pair in pairs:
        name, equals, _ = pair.partition("=")
        if not name or not equals:
            return f"has {pair!r}, which is no NAME=VALUE"
        if len(name.encode()) > LONGEST:
            return f"has a name of more than {LONGEST} bytes"
    return None


def arguments_of(pairs: Iterable[str]) -> dict[str, object]:
    """The arguments of a declaration: whole numbers, true and false, and texts."""
    return {name: _typed(text) for name, _, text in (pair.partition("=") for pair in pairs)}


def _typed(text: str) -> object:
    if text in ("true", "false"):
        return text == "true"
    digits = text.removeprefix("-")
    is_number = digits.isascii() and digits.isdecimal() and len(digits) < 20 and -_LIMIT <= int(text) < _LIMIT
    return int(text) if is_number else text
