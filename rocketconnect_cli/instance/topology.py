"""What `rocketconnect up` runs: the services, their ports and their environments. Pure: nothing is started here."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocketconnect_sdk.permissions.dead_letter_topics import DEAD_LETTER_TOPICS
from rocketconnect_sdk.permissions.roots import READ_ROOTS, WRITE_ROOTS

STORES = ("config", "position", "state", "cluster")
SERVICES = (*STORES, "executor", "gateway", "exporter")
"""Everything that `rocketconnect serve` can start."""

# Who is asked stops last: the gateway takes no more orders, tasks end and commit, then the services they commit to.
STAGES = {"gateway": 0, "executor": 1, "exporter": 2, "cluster": 3, "state": 3, "position": 3, "config": 3}
BROKER_STAGE = 4
NAME_SERVER_STAGE = 5

EXECUTOR_DRAIN_SECONDS = 45.0
EXECUTOR_SECONDS = EXECUTOR_DRAIN_SECONDS - 5
"""What it is told to have: it ends by itself before it is killed."""
SERVICE_DRAIN_SECONDS = 5.0
BROKER_SECONDS = 20.0
NAME_SERVER_SECONDS = 10.0


KEPT = (
    *("access", "lock", "logs", "ports.json", "prometheus", "rocketmq"),
    *(f"{store}.db{end}" for store in STORES for end in ("", "-journal", "-shm", "-wal")),
)
"""What is the instance's own in its data directory. Users keep files there as well."""

SPARK_WARM = "ROCKETCONNECT_SPARK_WARM"
"""Whether executors keep a Spark driver ready."""

UNLESS_TOLD = {
    SPARK_WARM: "true",
    "ROCKETCONNECT_SECRET_VARIABLES": "*",
    "ROCKETCONNECT_SECRET_FOLDERS": "/",
    READ_ROOTS: "/",
    WRITE_ROOTS: "/",
    DEAD_LETTER_TOPICS: "*",
}
"""What executors are told unless the environment tells them: on an instance of their own users may do what their account may, and
the first sink starts fast."""


TO_BE_NAMED = {
    READ_ROOTS: "folders beneath which connectors may read files",
    WRITE_ROOTS: "folders beneath which they may write files",
    "ROCKETCONNECT_SECRET_FOLDERS": "folders whose files ${file:..} may stand for",
    "ROCKETCONNECT_SECRET_VARIABLES": "variables that ${env:..} may stand for",
}
"""What is not taken for granted where others than this machine may call, with what it is."""


def unnamed(environment: Mapping[str, str]) -> str:
    """What these variables have to say, and don't, where others may call, for people; empty: all is said."""
    missing = [f"{name} ({what})" for name, what in TO_BE_NAMED.items() if name not in environment]
    return f"set {', '.join(missing)}; an empty one allows none" if missing else ""


def files_said(environment: Mapping[str, str]) -> str:
    """Which files connectors of an instance read and write, for people who start it with these variables."""
    told = {**UNLESS_TOLD, **environment}
    read, write = told[READ_ROOTS], told[WRITE_ROOTS]
    if read == write == "/":
        return "connectors read and write all that your account may; ROCKETCONNECT_READ_ROOTS and _WRITE_ROOTS narrow it"
    return f"connectors read beneath {read or 'nothing'}, and write beneath {write or 'nothing'}"


@dataclass(frozen=True, slots=True)
class Rest:
    """Where REST listens, and whom it lets in. All else listens on 127.0.0.1 and asks nobody.

    Attributes:
        host: The address; metrics listen there, too.
        tokens_files: Of those who may ask; none: nobody is asked.
        tls_cert: Its certificate; None: what is said is in the clear.
        tls_key: The key of that.
        insecure: It may be in the clear, or ask nobody, on other addresses than this machine's own.
    """

    host: str = "127.0.0.1"
    tokens_files: Sequence[Path] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    insecure: bool = False

    @property
    def reachable(self) -> str:
        """Where this machine reaches it."""
        return "127.0.0.1" if self.host in ("0.0.0.0", "::") else self.host  # noqa: S104 - compared, not bound

    @property
    def scheme(self) -> str:
        """Of its URLs."""
        return "http" if self.tls_cert is None else "https"

    def own_files(self, data: Path) -> str:
        """What no connector reads or writes, whatever it may do otherwise: what is kept there, who may call, and the key."""
        keys = [] if self.tls_key is None else [self.tls_key]
        return os.pathsep.join(map(str, [*(data / name for name in KEPT), *self.tokens_files, *keys]))

    @property
    def environment(self) -> Mapping[str, str]:
        """What the gateway is told of it."""
        files = {"ROCKETCONNECT_REST_TLS_CERT": self.tls_cert, "ROCKETCONNECT_REST_TLS_KEY": self.tls_key}
        told = {name: str(path) for name, path in files.items() if path is not None}
        if self.tokens_files:
            told["ROCKETCONNECT_TOKENS_FILES"] = ",".join(map(str, self.tokens_files))
        return {**told, "ROCKETCONNECT_INSECURE": str(self.insecure).lower()}


OF_REST = ("TOKENS_FILES", "TOKEN_FILE", "TOKEN", "TLS_CERT", "TLS_KEY", "TLS_CA", "REST_TLS_CERT", "REST_TLS_KEY", "INSECURE")
"""Settings that are not handed on to everything, as they are of REST, or of the command line."""


def handed_on(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of this process that services get."""
    own = {f"ROCKETCONNECT_{name}" for name in OF_REST}
    return {name: value for name, value in environment.items() if name not in own}


@dataclass(frozen=True, slots=True)
class Service:
    """One process of one service.

    Attributes:
        name: Unique: "config", "executor-2".
        kind: One of SERVICES.
        port: Its port on the bind address.
        environment: What it is told, besides what it inherits.
    """

    name: str
    kind: str
    port: int
    environment: Mapping[str, str]

    @property
    def command(self) -> list[str]:
        """The command line."""
        return [sys.executable, "-P", "-m", f"services.{self.kind}"]


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one instance."""

    rest: int
    metrics: int
    stores: Mapping[str, int]
    executors: tuple[int, ...]

    @property
    def kept(self) -> dict[str, int]:
        """Return them by name, to be kept for the next time."""
        workers = {f"executor-{number}": port for number, port in enumerate(self.executors, 1)}
        return {"rest": self.rest, "metrics": self.metrics, **self.stores, **workers}


def inner_ports(texts: Sequence[str], executors: int, more: Sequence[str] = ()) -> dict[str, int]:
    """Return the ports in texts like "position=9002", by name: a store, "executor-1" and so on, or one of `more`.

    Raises:
        ValueError: says everything that is wrong with them.
    """
    known = (*STORES, *(f"executor-{number}" for number in range(1, executors + 1)), *more)
    found: dict[str, int] = {}
    problems = []
    for text in texts:
        name, _, port = text.partition("=")
        if name not in known:
            problems.append(f"{text}: there is no {name or 'name'} here; give one of {', '.join(known)}")
        elif not port.isdecimal() or not 0 < int(port) < 65536:
            problems.append(f"{text}: give a port from 1 to 65535, such as {name}=9002")
        elif name in found:
            problems.append(f"{text}: {name} has the port {found[name]} already")
        elif int(port) in found.values():
            problems.append(f"{text}: two of them can't have the same port")
        else:
            found[name] = int(port)
    if problems:
        raise ValueError("; ".join(problems))
    return found


def services(
    ports: Ports,
    *,
    data: Path,
    name_server: str,
    spark_classes: Path | None = None,
    rest: Rest | None = None,
    log_level: str = "INFO",
    extra: Mapping[str, str] | None = None,
    metrics: Mapping[str, int] | None = None,
) -> list[Service]:
    """All services of one instance, in the order in which they are started.

    Args:
        ports: Where each listens.
        data: The data directory of the instance.
        name_server: RocketMQ's name servers, "host:port" separated by semicolons.
        spark_classes: The folder with which executors start Spark faster; none: they do without.
        rest: Where REST listens, and whom it lets in.
        log_level: For all of them.
        extra: Further settings for all of them, by environment variable.
        metrics: The ports of their own metrics, by their names; any free one where none is given.
    """
    common = {
        "ROCKETCONNECT_HOST": "127.0.0.1",
        "ROCKETCONNECT_DATA_DIR": str(data),
        "ROCKETCONNECT_LOG_LEVEL": log_level,
        "ROCKETCONNECT_NAME_SERVER": name_server,
        **{f"ROCKETCONNECT_{kind.upper()}_ADDRESS": f"127.0.0.1:{port}" for kind, port in ports.stores.items()},
    }

    def service(kind: str, port: int, name: str = "", **environment: str) -> Service:
        own = {f"ROCKETCONNECT_{key.upper()}": value for key, value in environment.items()}
        if (own_metrics := (metrics or {}).get(name or kind)) is not None:
            own["ROCKETCONNECT_METRICS_PORT"] = str(own_metrics)
        return Service(name or kind, kind, port, {**common, **(extra or {}), "ROCKETCONNECT_PORT": str(port), **own})

    told = rest or Rest()
    executor = {
        "drain_seconds": str(EXECUTOR_SECONDS),
        "spark_classes": str(spark_classes or ""),
        "own_files": told.own_files(data),
    }
    gateway = service("gateway", ports.rest, host=told.host, await_executor="true")
    # The exporter speaks to all services in one way, and they are in the clear.
    asked = f"{told.reachable}:{ports.rest}" if told.tls_cert is None else ""
    return [
        *(service(kind, ports.stores[kind]) for kind in STORES),
        *(
            service("executor", port, f"executor-{number}", worker_id=f"worker-{number}", **executor)
            for number, port in enumerate(ports.executors, 1)
        ),
        replace(gateway, environment={**gateway.environment, **told.environment}),
        service("exporter", ports.metrics, host=told.host, gateway_address=asked),
    ]
