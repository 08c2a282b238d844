"""The options of what listens, with the same names everywhere."""

import ssl
from collections.abc import Iterable

from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.http.login import Tls
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.roots import Access

_HIGHEST = 65_535


def address_of(listen: str) -> tuple[str, int]:
    """The host and the port of HOST:PORT. Raises ValueError: it is none."""
    host, colon, port = listen.rpartition(":")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) <= _HIGHEST
    if not colon or not is_port or set(host) & set("/@ "):
        raise ValueError(listen)
    bare = host.removeprefix("[").removesuffix("]")
    if ":" in bare and bare == host:
        raise ValueError(listen)
    return bare, int(port)


def _listen_problem(listen: str) -> str | None:
    try:
        address_of(listen)
    except ValueError:
        return "is no HOST:PORT"
    return None


LISTEN = (
    Option(
        "listen",
        "The address and the port that the task listens on, on the machine of the executor that runs it: 0.0.0.0:8900 for all "
        "addresses of that machine, 127.0.0.1:8900 for programs on it alone. Of several tasks each has a port of its own: the "
        "second one 8901, the third one 8902.",
        required=True,
        check=_listen_problem,
        fix="Write HOST:PORT, such as 0.0.0.0:8900.",
        example="127.0.0.1:8900",
    ),
    Option(
        "ssl.certificate.location",
        "A file with our certificate (PEM), and those that it comes from. Empty: no TLS.",
        default="",
        access=Access.READ,
    ),
    Option("ssl.key.location", "A file with its key (PEM). Empty: it is in the same file.", default="", access=Access.READ),
    Option("ssl.key.password", "The password of the key.", secret=True),
    Option(
        "ssl.ca.location",
        "A file with certificates (PEM): clients have to show one that comes from them. Empty: they need none.",
        default="",
        access=Access.READ,
    ),
    Option(
        "connections.max",
        "The most clients that may be connected at once. Others are told to come again.",
        Kind.INT,
        "1000",
        minimum=1,
    ),
    Option("request.timeout", "How long a client may take to send something.", Kind.DURATION, "30s", minimum=0.1, maximum=3600),
    Option(
        "answer.timeout",
        "How long a client waits until the topic has what it has sent. Then it is told to come again.",
        Kind.DURATION,
        "30s",
        minimum=0.1,
        maximum=3600,
    ),
    Option(
        "prefetch",
        "How many records may wait until the topic has them. Who sends more is told to come again. They have buffer.bytes at most.",
        Kind.INT,
        "10000",
        minimum=1,
        maximum=1_000_000,
    ),
)
"""Where a source listens, and how much it takes. See ListenSource."""


def tls_problems(config: Config) -> Iterable[Problem]:
    """Options of TLS that are there only in part."""
    if not config["ssl.certificate.location"]:
        for key in ("ssl.key.location", "ssl.ca.location"):
            if config[key]:
                fix = "Set ssl.certificate.location, or remove it."
                yield Problem(key, config[key], "means nothing without a certificate of our own", fix)


def tls_of(config: Config) -> ssl.SSLContext | None:
    """What connections are taken with; None: without TLS.

    Raises:
        PermanentError: a file can't be used.
    """
    certificate = config["ssl.certificate.location"]
    if not certificate:
        return None
    tls = Tls(certificate=certificate, key=config["ssl.key.location"], password=config["ssl.key.password"] or "")
    # Says in words which file can't be used.
    tls.context()
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(certificate, tls.key or None, lambda: tls.password)
    if ca := config["ssl.ca.location"]:
        try:
            made.load_verify_locations(ca)
        except (OSError, ssl.SSLError) as error:
            msg = f"ssl.ca.location={ca}: {getattr(error, 'strerror', None) or error}. Put certificates (PEM) there on the executor"
            raise PermanentError(msg) from None
        made.verify_mode = ssl.CERT_REQUIRED
    return made
