"""What the executor can be told."""

import re
import socket
from typing import Self

from pydantic import Field, SecretStr, field_validator, model_validator

from rocketconnect_kit.settings import ENV_PREFIX, PemFile, ServiceSettings

SECRET_KEY = f"{ENV_PREFIX}ROCKETMQ_SECRET_KEY"
"""The environment variable of the secret of RocketMQ's user."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,127}")
_NEEDED = ("cluster_address", "position_address", "state_address", "config_address", "name_server")


class ExecutorSettings(ServiceSettings):
    """The executor service: runs tasks in host processes."""

    worker_id: str = Field(default="", description="unique among the workers, the same after a restart; none: HOSTNAME-PORT")
    advertise_address: str = Field(
        default="", description="host:port of this process for the other services, not of a proxy; none: where it listens"
    )
    labels: str = Field(default="", description="what connectors can ask for: name=value,name=value")
    weight: int = Field(
        default=1, ge=1, le=100, description="how many tasks it gets, compared with others: 2 is twice as many as 1"
    )
    name_server: str = Field(default="", description="RocketMQ's name servers: host:port;host:port")
    rocketmq_access_key: str = Field(default="", description="the user of brokers with ACL")
    rocketmq_secret_key: SecretStr = Field(
        default=SecretStr(""), description="the secret of that user; better as a variable than as a flag, which others can see"
    )
    rocketmq_tls: bool = Field(default=False, description="name servers and brokers speak TLS")
    rocketmq_tls_ca: PemFile | None = Field(
        default=None, description="who signs their certificates (PEM); none: whom the machine trusts"
    )
    rocketmq_tls_cert: PemFile | None = Field(default=None, description="own certificate chain for them (PEM)")
    rocketmq_tls_key: PemFile | None = Field(default=None, description="the key of that certificate (PEM)")
    rocketmq_tls_server_name: str = Field(
        default="", description="the name in their certificates, when it is not the host of each address"
    )
    tasks_per_host: int = Field(default=1, ge=1, le=1000, description="how many native tasks share a host process at most")
    spark_warm: bool = Field(default=False, description="keep a Spark driver ready, so that the first sink starts fast")
    plugin_seconds: float = Field(
        default=30, gt=0, le=600, description="how long a plugin may take to check or plan; then its process is ended"
    )
    send_deadline_seconds: float = Field(
        default=2, gt=0, le=60, description="seconds that a send to a broker may take; the same for all workers and the cluster"
    )

    @field_validator("worker_id")
    @classmethod
    def _id(cls, value: str) -> str:
        if value and not _ID.fullmatch(value):
            msg = "is made of 1 to 128 letters, digits, and _ . : -, and begins with a letter or a digit"
            raise ValueError(msg)
        return value

    @field_validator("labels")
    @classmethod
    def _labels(cls, value: str) -> str:
        parse_labels(value)
        return value

    @model_validator(mode="after")
    def _complete(self) -> Self:
        missing = [f"--{name.replace('_', '-')}" for name in _NEEDED if not getattr(self, name)]
        if missing:
            msg = f"{', '.join(missing)} must be given: the executor needs them to do its work"
            raise ValueError(msg)
        return self

    @model_validator(mode="after")
    def _pairs(self) -> Self:
        if bool(self.rocketmq_access_key) != bool(self.rocketmq_secret_key.get_secret_value()):
            msg = "--rocketmq-access-key and --rocketmq-secret-key go together; give both or none"
            raise ValueError(msg)
        if (self.rocketmq_tls_cert is None) != (self.rocketmq_tls_key is None):
            msg = "--rocketmq-tls-cert and --rocketmq-tls-key go together; give both or none"
            raise ValueError(msg)
        if not self.rocketmq_tls and (self.rocketmq_tls_ca or self.rocketmq_tls_cert or self.rocketmq_tls_server_name):
            msg = "--rocketmq-tls-... is given, but TLS is not on: give --rocketmq-tls true as well"
            raise ValueError(msg)
        return self

    def worker_at(self, address: str) -> str:
        """Return the id of this worker, which listens at "host:port"."""
        return self.worker_id or f"{socket.gethostname()}-{address.rpartition(':')[2]}"

    def reached_at(self, address: str) -> str:
        """Return where the others reach this worker, which listens at "host:port"."""
        if self.advertise_address:
            return self.advertise_address
        host, _, port = address.rpartition(":")
        return f"{socket.gethostname()}:{port}" if host in ("0.0.0.0", "::", "[::]") else address  # noqa: S104 - a comparison


def parse_labels(text: str) -> dict[str, str]:
    """Return the labels in "name=value,name=value".

    Raises:
        ValueError: says which part is none.
    """
    labels: dict[str, str] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        name, sign, value = (piece.strip() for piece in part.partition("="))
        if not sign or not name or not value:
            msg = f"{part!r} is not a label; write name=value"
            raise ValueError(msg)
        labels[name] = value
    return labels
