"""What the exporter can be told."""

from typing import Self

from pydantic import Field, field_validator, model_validator

from rocketconnect_kit.settings import ServiceSettings, parse_addresses


class ExporterSettings(ServiceSettings):
    """The exporter: metrics of everything, for Prometheus."""

    port: int = Field(default=0, ge=0, le=65535, description="the port of /metrics; 0: a free one")
    scrape_seconds: float = Field(default=4, gt=0, le=60, description="how long the services have to answer at a scrape")
    cache_seconds: float = Field(default=1, ge=0, le=60, description="scrapes in so short a time get the same answer")
    gateway_address: str = Field(default="", description="host:port of the gateway; none: whether it answers is not told")

    @field_validator("gateway_address")
    @classmethod
    def _gateway(cls, value: str) -> str:
        parse_addresses(value)
        return value

    @model_validator(mode="after")
    def _addresses(self) -> Self:
        missing = [f"--{name}-address" for name in ("state", "cluster") if not getattr(self, f"{name}_address")]
        if missing:
            msg = f"{', '.join(missing)}: missing; the exporter asks these services, give host:port of each"
            raise ValueError(msg)
        return self
