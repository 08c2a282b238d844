"""How a connector is told of a cluster of Kafka and of who it is there. Names are those of Kafka's clients where these have one."""

from collections.abc import Iterable, Iterator

from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.permissions.roots import Access

AWAY = ("bootstrap.servers", "Start the cluster, or correct servers and security.protocol.")
REFUSED = ("security.protocol", "Correct who we are, and how servers are reached.")
"""The options to which it belongs that no cluster answers, and that one refuses us, and what to do."""
CHECK_SECONDS = 5.0
"""A check waits no longer for an answer."""
_HIGHEST_PORT = 65535


def _address(server: str) -> tuple[str, int] | None:
    host, colon, port = server.rpartition(":")
    host = host.strip().removeprefix("[").removesuffix("]")
    is_port = port.isascii() and port.isdecimal() and 0 < int(port) <= _HIGHEST_PORT
    return (host, int(port)) if colon and host and is_port and not set(host) & set("/@ ") else None


def _servers_problem(servers: Iterable[str]) -> str | None:
    wrong = next((server for server in servers if _address(server) is None), None)
    return None if wrong is None else f"has {wrong[:100]!r}, which is no HOST:PORT"


def _of_servers(servers: Iterable[str]) -> Iterator[tuple[str, int]]:
    return filter(None, map(_address, servers))


POSITIONS = "rocketconnect-positions"
"""The topic of the positions of connectors that name none."""
CLUSTER = (
    Option(
        "bootstrap.servers",
        "Some servers of the cluster, separated by commas; they name the others.",
        Kind.LIST,
        required=True,
        check=_servers_problem,
        fix="Write HOST:PORT,HOST:PORT; a user in `user`, and TLS by security.protocol.",
        reaches=_of_servers,
        example="127.0.0.1:9092",
    ),
    Option(
        "security.protocol",
        "How the servers are spoken to: with TLS (SSL), with a user (SASL), with both, or with neither.",
        default="PLAINTEXT",
        choices=("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"),
    ),
    Option(
        "sasl.mechanism",
        "How the user is proven, with SASL_PLAINTEXT and SASL_SSL.",
        default="PLAIN",
        choices=("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
    ),
    Option("user", "The user, with SASL.", default="", references=True, aliases=("sasl.username",)),
    Option("password", "The password of the user.", secret=True, aliases=("sasl.password",)),
    Option(
        "ssl.ca.location",
        "A file with the certificates (PEM) that the servers' own must come from. Empty: those that the system trusts.",
        default="",
        access=Access.READ,
    ),
    Option("ssl.certificate.location", "A file with our own certificate (PEM), for mTLS.", default="", access=Access.READ),
    Option("ssl.key.location", "A file with the key of that certificate (PEM).", default="", access=Access.READ),
    Option("ssl.key.password", "The password of that key.", secret=True),
    Option("request.timeout", "How long an answer of the cluster may take.", Kind.DURATION, "30s", minimum=1, maximum=300),
)
"""The options of a cluster, and of who we are there."""


def cluster_problems(config: Config) -> Iterable[Problem]:
    """What of these options does not go together. Connects to nothing."""
    protocol = config["security.protocol"]
    with_user, with_tls = "SASL" in protocol, "SSL" in protocol
    if with_user:
        for key in ("user", "password"):
            if not config[key]:
                yield Problem(key, "", f"is missing, and security.protocol={protocol} needs it", "Give it.")
    elif config["user"] or config["password"]:
        fix = f"Set security.protocol={'SASL_SSL' if with_tls else 'SASL_PLAINTEXT'}, or leave user and password out."
        yield Problem("security.protocol", protocol, "proves no user, and one is given", fix)
    for key in ("ssl.ca.location", "ssl.certificate.location", "ssl.key.location"):
        if config[key] and not with_tls:
            fix = f"Set security.protocol={'SASL_SSL' if with_user else 'SSL'}, or leave it out."
            yield Problem(key, config[key], f"means nothing with security.protocol={protocol}", fix)
    if bool(config["ssl.certificate.location"]) != bool(config["ssl.key.location"]):
        missing = "ssl.key.location" if config["ssl.certificate.location"] else "ssl.certificate.location"
        yield Problem(missing, "", "is missing: a certificate has a key", "Give both, or neither.")
