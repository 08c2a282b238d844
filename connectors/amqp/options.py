"""How a connector is told of a broker of AMQP 1.0 and of who it is there."""

from collections.abc import Iterable
from urllib.parse import urlsplit

from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http.options import REQUEST_TIMEOUT, TLS
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.writes import template_problem

CHECK_SECONDS = 5.0
"""A check waits no longer for an answer."""
PORTS = {"amqp": 5672, "amqps": 5671}
QUEUE, TOPIC = "queue", "topic"
TYPES = (QUEUE, TOPIC)
"""What brokers of JMS tell apart."""


def url_problem(url: str) -> str | None:
    """What is wrong with the URL of a broker; None: nothing."""
    try:
        parts = urlsplit(url)
        fits = parts.scheme in PORTS and bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return "is no URL of a broker"
    if "@" in parts.netloc:
        return "has a user or a password in it, and these have options of their own"
    return None if fits and not parts.path.strip("/") and not parts.query and not parts.fragment else "is no URL of a broker"


BROKER = (
    Option(
        "url",
        "The broker: amqp://HOST:5672, with TLS amqps://HOST:5671.",
        required=True,
        check=url_problem,
        fix="Write amqp://HOST:5672 or amqps://HOST:5671; a user in `user`, what is read or written in an option of its own.",
        reaches=of_urls,
        example="amqp://127.0.0.1:5672",
    ),
    Option(
        "user",
        "The user (SASL PLAIN). Empty: the certificate says who we are (EXTERNAL), or nobody does (ANONYMOUS).",
        default="",
        references=True,
        aliases=("username",),
    ),
    Option("password", "The password of the user.", secret=True),
    Option(
        "virtual.host",
        "The host of the broker's that is meant, where it has several. Empty: the one of `url`.",
        default="",
    ),
    *TLS,
    Option(
        "heartbeat",
        "A connection on which nothing is heard for so long is given up. 0s: none is.",
        Kind.DURATION,
        "30s",
        minimum=0,
        maximum=3600,
    ),
    REQUEST_TIMEOUT,
)
"""The options of a broker, and of who we are there."""


@preflight(refused=("user", "Correct `user` and `password`, or the certificate."))
def broker_answers(config: Config) -> Iterable[Problem]:
    """What is wrong with who we are, as the broker says. Whether it has what is named is not asked: asking may make it."""
    from connectors.amqp.client import looking

    with looking(config, CHECK_SECONDS):
        return ()


def place_of(url: str) -> str:
    """The broker, the same however its URL is written."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.hostname}:{parts.port or PORTS[parts.scheme]}"


def pairs_problem(pairs: Iterable[str]) -> str | None:
    """What is wrong with texts NAME=TEMPLATE; None: nothing."""
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not name or not equals:
            return f"has {pair!r}, which is no NAME=TEXT"
        if problem := template_problem(text):
            return problem
    return None


def names_problem(names: Iterable[str]) -> str | None:
    """What is wrong with what is read; None: nothing."""
    given = tuple(names)
    if not given:
        return "names nothing"
    return "names one twice" if len(set(given)) < len(given) else None
