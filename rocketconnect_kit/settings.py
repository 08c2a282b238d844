"""Settings of a service: environment variables `ROCKETCONNECT_*`, overridden by flags; every problem reported at once.

A frozen dataclass whose fields are made by `setting`; checks are part of it, so that none exists with a wrong value.
"""

import argparse
import ipaddress
import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from rocketconnect_kit.leader.election import LEASE_SECONDS

ENV_PREFIX = "ROCKETCONNECT_"

_TRUTH = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


class SettingsError(ValueError):
    """Settings that can't be; `problems` says everything that is wrong with them."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class _Told:
    """What is known of a setting besides its type and its default."""

    text: str
    check: Callable[[Any], object]
    secret: bool


def setting(
    default: Any,
    text: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    check: Callable[[Any], object] = lambda _value: None,
    secret: bool = False,
) -> Any:
    """Return a field of settings.

    Args:
        default: the value when nothing is given.
        text: what it is, for `--help`.
        ge: the least number that it may be.
        gt: it is to be a greater number than this.
        le: the greatest number that it may be.
        check: raises ValueError with what is wrong with a value and what to do; None is not checked.
        secret: the value is shown nowhere (invariant 6).
    """

    def whole(value: Any) -> None:
        # Written so that what is not a number is out of every range.
        if ge is not None and not value >= ge:
            msg = f"must be at least {ge:g}"
            raise ValueError(msg)
        if gt is not None and not value > gt:
            msg = f"must be more than {gt:g}"
            raise ValueError(msg)
        if le is not None and not value <= le:
            msg = f"must be at most {le:g}"
            raise ValueError(msg)
        check(value)

    return field(default=default, repr=not secret, metadata={"told": _Told(text, whole, secret)})


def _readable(value: Path) -> None:
    if not os.access(value, os.R_OK):
        msg = "there is no readable file of this name; give the path of a PEM file"
        raise ValueError(msg)


def _readable_file(value: Path) -> None:
    if not os.access(value, os.R_OK):
        msg = "there is no readable file of this name; give the path of a file of text"
        raise ValueError(msg)


def _readable_files(value: str) -> None:
    if missing := [str(path) for path in paths(value) if not os.access(path, os.R_OK)]:
        msg = f"there is no readable file {', '.join(missing)}; `rocketconnect token create` makes one"
        raise ValueError(msg)


def paths(value: str) -> tuple[Path, ...]:
    """Return the paths of a comma list."""
    return tuple(Path(part.strip()) for part in value.split(",") if part.strip())


def is_loopback(host: str) -> bool:
    """Whether what listens there is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def pem_file(text: str) -> Any:
    """Return a field for the path of a file that can be read; None when nothing is given."""
    return setting(None, text, check=_readable)


def parse_addresses(value: str) -> list[tuple[str, int]]:
    """Return the (host, port) pairs of "host:port" or "ip:port,ip:port"; none for an empty text.

    Raises:
        ValueError: naming what is wrong and how it is written.
    """
    pairs = [_parse_address(part.strip()) for part in value.split(",")] if value.strip() else []
    if len(pairs) > 1:
        for host, _port in pairs:
            _require_ip(host)
    return pairs


def address(of: str, *, needed_because: str = "") -> Any:
    """Return a field for where something is reached; it may be left out unless there is a reason why it is needed."""

    def check(value: str) -> None:
        if needed_because and not value:
            msg = f"is missing: {needed_because}; give host:port"
            raise ValueError(msg)
        parse_addresses(value)

    return setting("", f"host:port of {of}", check=check)


@dataclass(frozen=True, kw_only=True)
class ServiceSettings:
    """What every service can be told."""

    host: str = setting("127.0.0.1", "the address to listen on")
    port: int = setting(0, "the port to listen on; 0: a free one", ge=0, le=65535)
    metrics_port: int = setting(0, "the port of the Prometheus metrics; 0: a free one", ge=0, le=65535)
    metrics_guarded: bool = setting(
        False, "metrics are told as calls are answered: by TLS with tls_cert, and to those that tokens_files and tls_ca let in"
    )
    announce_fd: int | None = setting(
        None, "a file descriptor that gets one line of JSON with the addresses when the service is ready", ge=0
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = setting("INFO", "the least that is logged")
    log_format: Literal["json", "text"] = setting("text", "json for machines, text for people")
    config_address: str = address("the config service; several: ip:port,ip:port")
    position_address: str = address("the position service; several: ip:port,ip:port")
    state_address: str = address("the state service; several: ip:port,ip:port")
    cluster_address: str = address("the cluster service; several: ip:port,ip:port")
    tls_cert: Path | None = pem_file("own certificate chain (PEM); with it the service speaks TLS")
    tls_key: Path | None = pem_file("the key of that certificate (PEM)")
    tls_ca: Path | None = pem_file("who signs the certificates of the others (PEM)")
    tokens_files: str = setting(
        "",
        "files of those who may call, separated by commas, see `rocketconnect token`; none: nobody is asked",
        check=_readable_files,
    )
    token_file: Path | None = setting(None, "a file with the token that it shows the other services", check=_readable_file)
    insecure: bool = setting(
        False, "listen beyond this machine though callers are not asked who they are, or what they say can be read on the way"
    )
    tls_verify_clients: bool = setting(True, "with tls_ca: callers must show a certificate that it signed (mutual TLS)")
    reflection: bool | None = setting(
        None, "gRPC reflection: callers may ask which calls there are; by default where no certificate is asked of them"
    )
    drain_seconds: float = setting(10.0, "how long running calls may take after a first signal", ge=0, le=3600)
    connections: int = setting(
        0,
        "connections of gRPC at a time, more are closed; 0: 1000, but no more than half of the files it may open",
        ge=0,
        le=100_000,
    )
    calls_per_connection: int = setting(
        1000, "calls and watches at a time on one connection; further ones wait for their turn", ge=1, le=1_000_000
    )
    call_seconds: float = setting(30.0, "the deadline of a call whose caller gave none", gt=0, le=3600)

    def __post_init__(self) -> None:
        """Raises SettingsError: with everything that is wrong."""
        problems = []
        for each in fields(self):
            value = getattr(self, each.name)
            try:
                _check(each, value)
            except ValueError as error:
                problems.append(_problem(each, value, error))
        if problems := problems or [*self.conflicts()]:
            raise SettingsError(problems)

    @property
    def speaks_tls(self) -> bool:
        """Whether what callers say cannot be read on the way."""
        return self.tls_cert is not None

    @property
    def asks_for_certificates(self) -> bool:
        """Whether callers must show a certificate."""
        return self.tls_cert is not None and self.tls_ca is not None and self.tls_verify_clients

    @property
    def reflects(self) -> bool:
        """Whether callers may ask by gRPC reflection which calls there are."""
        return not self.asks_for_certificates if self.reflection is None else self.reflection

    def folders(self) -> Iterator[Path]:
        """Where the service writes, so that somebody can be told before the disk is full; subclasses add to it."""
        yield from ()

    def conflicts(self) -> Iterator[str]:
        """What is wrong with settings together, each of which is right by itself; subclasses add to it."""
        if not (self.insecure or is_loopback(self.host)):
            yield from self.exposure()
        if (self.tls_cert is None) != (self.tls_key is None):
            yield "tls_cert and tls_key go together; give both or none"
        if self.metrics_guarded and not (self.tls_cert or self.tokens_files):
            yield "metrics_guarded is given, and nothing to guard them with: give --tls-cert and --tls-key, --tokens-files, or both"

    def exposure(self) -> Iterator[str]:
        """What is missing where others than this machine can call; a service that tells nothing of anybody has nothing to say."""
        missing = []
        if not self.speaks_tls:
            missing.append("what is said can be read on the way: give --tls-cert and --tls-key")
        if not self.tokens_files and not self.asks_for_certificates:
            missing.append("callers are not asked who they are: give --tokens-files, or --tls-ca for certificates")
        if missing:
            yield (
                f"--host {self.host} listens beyond this machine, and {'; and '.join(missing)}. Listen on 127.0.0.1, or say "
                f"--insecure true where the network lets in nobody else"
            )


@dataclass(frozen=True, kw_only=True)
class StoreSettings(ServiceSettings):
    """What a service with a durable store can be told."""

    store_url: str = setting(
        "",
        "sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE, of several HOST:PORT,HOST:PORT the one that takes changes; "
        "none: a SQLite file in data_dir",
        secret=True,
    )
    data_dir: Path = setting(Path("data"), "the directory of the SQLite files")

    def database_url(self, service: str) -> str:
        """Return the URL of the store of `service`; it may hold a password."""
        return self.store_url or f"sqlite:///{self.data_dir / service}.db"

    def folders(self) -> Iterator[Path]:
        """Where the service writes: a database elsewhere is none of it."""
        _, is_file, path = self.store_url.partition("sqlite:///")
        if not self.store_url or is_file:
            yield Path(path).parent if is_file else self.data_dir


@dataclass(frozen=True, kw_only=True)
class ElectedSettings(StoreSettings):
    """What a service of which one replica leads can be told."""

    leader_lease_seconds: float = setting(
        LEASE_SECONDS,
        "how long the leader goes on without reaching PostgreSQL, and how long others wait when it died; with one "
        "replica longer than a restart of PostgreSQL takes, with several below lease_seconds",
        ge=2,
        le=600,
    )


@dataclass(frozen=True, kw_only=True)
class RocketMQSettings(ServiceSettings):
    """What a service that speaks to RocketMQ can be told."""

    name_server: str = setting("", "RocketMQ's name servers: host:port;host:port")
    rocketmq_access_key: str = setting("", "the user of brokers with ACL")
    rocketmq_secret_key: str = setting(
        "", "the secret of that user; better as a variable than as a flag, which others can see", secret=True
    )
    rocketmq_tls: bool = setting(False, "name servers and brokers speak TLS")
    rocketmq_tls_ca: Path | None = pem_file("who signs their certificates (PEM); none: whom the machine trusts")
    rocketmq_tls_cert: Path | None = pem_file("own certificate chain for them (PEM)")
    rocketmq_tls_key: Path | None = pem_file("the key of that certificate (PEM)")
    rocketmq_tls_server_name: str = setting("", "the name in their certificates, when it is not the host of each address")

    def conflicts(self) -> Iterator[str]:
        """What is wrong with settings together."""
        yield from super().conflicts()
        if bool(self.rocketmq_access_key) != bool(self.rocketmq_secret_key):
            yield "--rocketmq-access-key and --rocketmq-secret-key go together; give both or none"
        if (self.rocketmq_tls_cert is None) != (self.rocketmq_tls_key is None):
            yield "--rocketmq-tls-cert and --rocketmq-tls-key go together; give both or none"
        if not self.rocketmq_tls and (self.rocketmq_tls_ca or self.rocketmq_tls_cert or self.rocketmq_tls_server_name):
            yield "--rocketmq-tls-... is given, but TLS is not on: give --rocketmq-tls true as well"


S = TypeVar("S", bound=ServiceSettings)


def load(cls: type[S], argv: Sequence[str]) -> S:
    """Return the settings from the environment and the flags (`--log-level DEBUG`), flags first.

    Prints every problem at once to standard error and exits with 2; exits with 0 after `--help`.
    """
    parser = argparse.ArgumentParser(description=cls.__doc__, allow_abbrev=False)
    for each in fields(cls):
        default = "" if each.default in (None, "") else f" [{each.default}]"
        about = f"{each.metadata['told'].text}{default} (or {_variable(each.name)})"
        parser.add_argument(
            _flag(each.name), dest=each.name, default=argparse.SUPPRESS, metavar="VALUE", help=about.replace("%", "%%")
        )
    given, unknown = parser.parse_known_args(list(argv))
    problems = [f"{word}: not a setting; --help lists them all" for word in unknown if word.startswith("-")]
    problems += [f"{word}: not expected; settings are given as --name VALUE" for word in unknown if not word.startswith("-")]
    types_of = get_type_hints(cls)
    values: dict[str, Any] = {}
    for each in fields(cls):
        text: str | None = getattr(given, each.name, os.environ.get(_variable(each.name)))
        try:
            values[each.name] = each.default if text is None else _read(types_of[each.name], text)
            _check(each, values[each.name])
        except ValueError as error:
            problems.append(_problem(each, each.default if text is None else text, error))
    if not problems:
        try:
            return cls(**values)
        except SettingsError as error:
            problems += error.problems
    sys.stderr.write("".join(f"{problem}\n" for problem in problems))
    raise SystemExit(2)


def _read(kind: Any, text: str) -> object:
    """Return the value of this type that the text says."""
    if get_origin(kind) in (Union, types.UnionType):
        kind = next(each for each in get_args(kind) if each is not types.NoneType)
    if get_origin(kind) is Literal:
        return _one_of({choice: choice for choice in get_args(kind)}, text)
    if issubclass(kind, Enum):
        return _one_of({choice.value: choice for choice in kind}, text)
    if kind is bool:
        return _one_of(_TRUTH, text.lower())
    try:
        return kind(text)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        msg = f"is not {what}"
        raise ValueError(msg) from None


def _one_of(choices: Mapping[str, object], text: str) -> object:
    if text not in choices:
        msg = f"must be one of {', '.join(choices)}"
        raise ValueError(msg)
    return choices[text]


def _check(of: Field[Any], value: object) -> None:
    if value is not None:
        of.metadata["told"].check(value)


def _problem(of: Field[Any], value: object, error: ValueError) -> str:
    shown = "a secret" if of.metadata["told"].secret else repr(str(value))
    return f"{_flag(of.name)} (or {_variable(of.name)}): {shown}: {error}"


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper()


def _parse_address(part: str) -> tuple[str, int]:
    host, _, port = part.rpartition(":")
    if not host or not port.isdecimal() or not 0 < int(port) < 65536:
        msg = f"{part!r} is not an address; write host:port, such as 127.0.0.1:8090"
        raise ValueError(msg)
    return ("127.0.0.1" if host == "localhost" else host.strip("[]")), int(port)


def _require_ip(host: str) -> None:
    try:
        ipaddress.IPv4Address(host)
    except ValueError as error:
        msg = (
            f"{host!r} is not an IPv4 address; a list of replicas is written with numbers (10.0.0.1:8090,10.0.0.2:8090), "
            "or as one DNS name that stands for all of them"
        )
        raise ValueError(msg) from error
