"""What the gateway can be told."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from rocketconnect_kit.settings import ServiceSettings, is_loopback, pem_file, setting
from services.gateway.backends import SERVICES
from services.gateway.masking.rules import Rules


def listed(value: str) -> tuple[str, ...]:
    """Return the parts of a comma list."""
    return tuple(part.strip() for part in value.split(",") if part.strip())


def _origins(value: str) -> None:
    wrong = [each for each in listed(value) if not each.startswith(("http://", "https://")) or each.count("/") != 2]
    if wrong:
        msg = f"{', '.join(wrong)}: not an origin; write https://console.example.org, without a path"
        raise ValueError(msg)


@dataclass(frozen=True, kw_only=True)
class GatewaySettings(ServiceSettings):
    """The gateway: REST and gRPC in front of the services."""

    port: int = setting(8082, "the port of REST and of gRPC; 0: a free one", ge=0, le=65535)
    read_seconds: float = setting(10.0, "the deadline of calls that only read", gt=0, le=3600)
    call_seconds: float = setting(50.0, "the deadline of calls that change or check something", gt=0, le=3600)
    compat_status: Literal["truth", "200"] = setting(
        "truth", "the HTTP status of RocketMQ Connect's paths: truth, or 200 always (the body tells)"
    )
    compat_get: bool | None = setting(
        None,
        "answer the GET requests of RocketMQ Connect's paths that change something; by default where it listens on this machine "
        "alone, or asks who calls",
    )
    await_executor: bool = setting(
        False, "refuse every request with 503 until the first executor has joined, as `rocketconnect up` does"
    )
    rest_tls_cert: Path | None = pem_file("the certificate chain of REST (PEM), where it is another than tls_cert")
    rest_tls_key: Path | None = pem_file("the key of that certificate (PEM)")
    allowed_hosts: str = setting(
        "", "names, separated by commas, that requests may be addressed to besides localhost and the own address"
    )
    allowed_origins: str = setting(
        "", "origins (https://console.example.org), separated by commas, whose pages may change something", check=_origins
    )
    mask: str = setting(
        "",
        "fields whose values are shown to nobody: TOPIC=field,path.to.field; TOPIC=..., where * in TOPIC stands for any characters",
        check=Rules,
    )

    @property
    def speaks_tls(self) -> bool:
        """See ServiceSettings."""
        return self.rest_tls_cert is not None or super().speaks_tls

    @property
    def changes_by_get(self) -> bool:
        """Whether GET requests that change something are answered: elsewhere a link in a page is enough to send one."""
        return is_loopback(self.host) or bool(self.tokens_files) if self.compat_get is None else self.compat_get

    def conflicts(self) -> Iterator[str]:
        """What is wrong with settings together."""
        yield from super().conflicts()
        if (self.rest_tls_cert is None) != (self.rest_tls_key is None):
            yield "rest_tls_cert and rest_tls_key go together; give both or none"
        if missing := [f"--{name}-address" for name in SERVICES if not getattr(self, f"{name}_address")]:
            yield f"{', '.join(missing)}: missing; the gateway asks these services, give host:port of each"
