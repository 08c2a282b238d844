"""What the gateway can be told."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from rocketconnect_kit.settings import ServiceSettings
from services.gateway.backends import SERVICES


class GatewaySettings(ServiceSettings):
    """The gateway: REST in front of the services."""

    port: int = Field(default=8082, ge=0, le=65535, description="the port of REST; 0: a free one")
    read_seconds: float = Field(default=10, gt=0, le=3600, description="the deadline of calls that only read")
    call_seconds: float = Field(default=50, gt=0, le=3600, description="the deadline of calls that change or check something")
    compat_status: Literal["truth", "200"] = Field(
        default="truth", description="the HTTP status of RocketMQ Connect's paths: truth, or 200 always (the body tells)"
    )
    compat_get: bool = Field(default=True, description="answer the GET requests of RocketMQ Connect's paths that change something")
    await_executor: bool = Field(
        default=False, description="refuse every request with 503 until the first executor has joined, as `rocketconnect up` does"
    )
    allowed_hosts: str = Field(
        default="",
        description="names, separated by commas, that requests may be addressed to besides localhost and the own address",
    )
    allowed_origins: str = Field(
        default="", description="origins (https://console.example.org), separated by commas, whose pages may change something"
    )

    @field_validator("allowed_origins")
    @classmethod
    def _origins(cls, value: str) -> str:
        wrong = [each for each in listed(value) if not each.startswith(("http://", "https://")) or each.count("/") != 2]
        if wrong:
            msg = f"{', '.join(wrong)}: not an origin; write https://console.example.org, without a path"
            raise ValueError(msg)
        return value

    @model_validator(mode="after")
    def _addresses(self) -> Self:
        missing = [f"--{name}-address" for name in SERVICES if not getattr(self, f"{name}_address")]
        if missing:
            msg = f"{', '.join(missing)}: missing; the gateway asks these services, give host:port of each"
            raise ValueError(msg)
        return self


def listed(value: str) -> tuple[str, ...]:
    """Return the parts of a comma list."""
    return tuple(part.strip() for part in value.split(",") if part.strip())
