"""Settings of a service: environment variables `ROCKETCONNECT_*`, overridden by flags; every problem reported at once."""

import argparse
import ipaddress
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from rocketconnect_kit.election import LEASE_SECONDS

ENV_PREFIX = "ROCKETCONNECT_"

S = TypeVar("S", bound=BaseSettings)


def _readable(value: Path) -> Path:
    if not os.access(value, os.R_OK):
        msg = "there is no readable file of this name; give the path of a PEM file"
        raise ValueError(msg)
    return value


PemFile = Annotated[Path, AfterValidator(_readable)]
"""The path of a file that can be read."""


class ServiceSettings(BaseSettings):
    """What every service can be told."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore", frozen=True)

    host: str = Field(default="127.0.0.1", description="the address to listen on")
    port: int = Field(default=0, ge=0, le=65535, description="the port to listen on; 0: a free one")
    metrics_port: int = Field(default=0, ge=0, le=65535, description="the port of the Prometheus metrics; 0: a free one")
    announce_fd: int | None = Field(
        default=None, ge=0, description="a file descriptor that gets one line of JSON with the addresses when the service is ready"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", description="the least that is logged")
    log_format: Literal["json", "text"] = Field(default="text", description="json for machines, text for people")
    config_address: str = Field(default="", description="host:port of the config service; several: ip:port,ip:port")
    position_address: str = Field(default="", description="host:port of the position service; several: ip:port,ip:port")
    state_address: str = Field(default="", description="host:port of the state service; several: ip:port,ip:port")
    cluster_address: str = Field(default="", description="host:port of the cluster service; several: ip:port,ip:port")
    tls_cert: PemFile | None = Field(default=None, description="own certificate chain (PEM); with it the service speaks TLS")
    tls_key: PemFile | None = Field(default=None, description="the key of that certificate (PEM)")
    tls_ca: PemFile | None = Field(default=None, description="who signs the certificates of the others (PEM)")
    tls_verify_clients: bool = Field(
        default=True, description="with tls_ca: callers must show a certificate that it signed (mutual TLS)"
    )
    drain_seconds: float = Field(default=10, ge=0, le=3600, description="how long running calls may take after a first signal")
    call_seconds: float = Field(default=30, gt=0, le=3600, description="the deadline of a call whose caller gave none")

    @field_validator("config_address", "position_address", "state_address", "cluster_address")
    @classmethod
    def _address(cls, value: str) -> str:
        parse_addresses(value)
        return value

    @model_validator(mode="after")
    def _pair(self) -> Self:
        if (self.tls_cert is None) != (self.tls_key is None):
            msg = "tls_cert and tls_key go together; give both or none"
            raise ValueError(msg)
        return self


class StoreSettings(ServiceSettings):
    """What a service with a durable store can be told."""

    store_url: SecretStr = Field(
        default=SecretStr(""),
        description="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE; none: a SQLite file in data_dir",
    )
    data_dir: Path = Field(default=Path("data"), description="the directory of the SQLite files")

    def database_url(self, service: str) -> str:
        """Return the URL of the store of `service`; it may hold a password."""
        return self.store_url.get_secret_value() or f"sqlite:///{self.data_dir / service}.db"


class ElectedSettings(StoreSettings):
    """What a service of which one replica leads can be told."""

    leader_lease_seconds: float = Field(
        default=LEASE_SECONDS,
        ge=2,
        le=600,
        description="how long the leader goes on without reaching PostgreSQL, and how long others wait when it died; with one "
        "replica longer than a restart of PostgreSQL takes, with several below lease_seconds",
    )


def load(cls: type[S], argv: Sequence[str]) -> S:
    """Return the settings from the environment and the flags (`--log-level DEBUG`), flags first.

    Prints every problem at once to standard error and exits with 2; exits with 0 after `--help`.
    """
    parser = argparse.ArgumentParser(description=cls.__doc__, allow_abbrev=False)
    for name, field in cls.model_fields.items():
        default = "" if field.default in (None, "") else f" [{field.default}]"
        text = f"{field.description}{default} (or {ENV_PREFIX}{name.upper()})"
        parser.add_argument(_flag(name), dest=name, default=argparse.SUPPRESS, metavar="VALUE", help=text.replace("%", "%%"))
    given, unknown = parser.parse_known_args(list(argv))
    problems = [f"{word}: not a setting; --help lists them all" for word in unknown if word.startswith("-")]
    problems += [f"{word}: not expected; settings are given as --name VALUE" for word in unknown if not word.startswith("-")]
    try:
        settings = cls(**vars(given))
    except ValidationError as error:
        problems += [_problem(cls, dict(item)) for item in error.errors(include_url=False)]
    if problems:
        sys.stderr.write("".join(f"{problem}\n" for problem in problems))
        raise SystemExit(2)
    return settings


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


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _problem(cls: type[BaseSettings], error: dict[str, object]) -> str:
    location = error["loc"]
    message = str(error["msg"]).removeprefix("Value error, ")
    if not isinstance(location, tuple) or not location:
        return message
    name = str(location[0])
    field = cls.model_fields.get(name)
    secret = field is not None and field.annotation is SecretStr
    value = "a secret" if secret else repr(error["input"])
    return f"{_flag(name)} (or {ENV_PREFIX}{name.upper()}): {value}: {message}"
