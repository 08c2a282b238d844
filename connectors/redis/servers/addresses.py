"""The URLs of servers, of those behind Sentinel, and of clusters. Pure.

redis://HOST:6379/0, redis+sentinel://HOST:26379,HOST:26379/NAME/0, redis+cluster://HOST:6379,HOST:6379; rediss with TLS.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

PORT = 6379
SENTINEL_PORT = 26379
_FORM = re.compile(r"(rediss?)(\+sentinel|\+cluster)?://([^/?#]+)/?([^?#]*)")


@dataclass(frozen=True, slots=True)
class Address:
    """What a URL means.

    Attributes:
        nodes: Hosts and ports: of the server, of Sentinels, or of some nodes of a cluster.
        database: Its number.
        service: What Sentinel calls the master; empty: no Sentinel is asked.
        is_cluster: It is a cluster.
        is_secure: With TLS.
    """

    nodes: Sequence[tuple[str, int]]
    database: int
    service: str
    is_cluster: bool
    is_secure: bool

    @classmethod
    def of(cls, url: str) -> "Address":
        """Reads a URL.

        Raises:
            ValueError: it is none.
        """
        found = _FORM.fullmatch(url)
        if found is None:
            msg = "is no URL of a Redis"
            raise ValueError(msg)
        scheme, kind, hosts, path = found.groups()
        is_sentinel, is_cluster = kind == "+sentinel", kind == "+cluster"
        parts = [part for part in path.split("/") if part]
        service = parts.pop(0) if is_sentinel and parts else ""
        database = parts.pop(0) if parts and not is_cluster else "0"
        nodes = list(_nodes(hosts, SENTINEL_PORT if is_sentinel else PORT))
        if parts or not database.isdecimal() or bool(service) != is_sentinel or (len(nodes) > 1 and not kind):
            msg = "is no URL of a Redis"
            raise ValueError(msg)
        return cls(nodes, int(database), service, is_cluster, scheme == "rediss")

    @property
    def place(self) -> str:
        """The database, written in one way."""
        nodes = ",".join(f"{host}:{port}" for host, port in sorted(self.nodes))
        if self.is_cluster:
            return f"redis+cluster://{nodes}"
        return f"redis+sentinel://{nodes}/{self.service}/{self.database}" if self.service else f"redis://{nodes}/{self.database}"


def url_problem(url: str) -> str | None:
    """What is wrong with a URL; None: nothing."""
    scheme, separator, rest = url.partition("://")
    hosts, slash, path = rest.partition("/")
    bare = hosts.rpartition("@")[2]
    try:
        Address.of(f"{scheme}{separator}{bare}{slash}{path}")
    except ValueError:
        return "is no URL of a Redis"
    return None if bare == hosts else "has a user or a password in it, and these have options of their own"


def hosts_of(url: str) -> Iterator[tuple[str, int | None]]:
    """The hosts of a URL. What is none has none."""
    try:
        yield from Address.of(url).nodes
    except ValueError:
        return


def _nodes(hosts: str, port: int) -> Iterator[tuple[str, int]]:
    for each in hosts.split(","):
        parts = urlsplit(f"//{each.strip()}")
        if not parts.hostname or parts.username is not None or parts.port == 0:
            msg = "is no URL of a Redis"
            raise ValueError(msg)
        yield parts.hostname, parts.port or port
