"""What the exporter can be told."""

from collections.abc import Iterator
from dataclasses import dataclass

from rocketconnect_kit.settings import RocketMQSettings, address, setting


@dataclass(frozen=True, kw_only=True)
class ExporterSettings(RocketMQSettings):
    """The exporter: metrics of everything, for Prometheus."""

    port: int = setting(0, "the port of /metrics; 0: a free one", ge=0, le=65535)
    scrape_seconds: float = setting(4.0, "how long the services have to answer at a scrape", gt=0, le=60)
    cache_seconds: float = setting(1.0, "scrapes in so short a time get the same answer", ge=0, le=60)
    gateway_address: str = address("the gateway; none: whether it answers, and what it alone can ask executors for, is not told")
    survey_seconds: float = setting(
        60.0, "how often, about each connector, the gateway is asked for what no task tells", gt=0, le=86400
    )
    survey_answer_seconds: float = setting(20.0, "how long the gateway has to answer that, beside the scrapes", gt=0, le=600)

    rocketmq_metrics: bool = setting(False, "tell what RocketMQ exporter tells as well, under its names; needs --name-server")
    rocketmq_interval_seconds: float = setting(
        30.0, "how often brokers are asked for that, and how long it may take them to answer", ge=1, le=3600
    )
    rocketmq_most: int = setting(
        1000, "of topics, of consumer groups and of their clients so many have series of their own", ge=1, le=100_000
    )

    def exposure(self) -> Iterator[str]:
        """Nothing: metrics take no orders and hold nothing of what is moved."""
        yield from ()

    def conflicts(self) -> Iterator[str]:
        """What is wrong with settings together."""
        yield from super().conflicts()
        if missing := [f"--{name}-address" for name in ("state", "cluster") if not getattr(self, f"{name}_address")]:
            yield f"{', '.join(missing)}: missing; the exporter asks these services, give host:port of each"
        if self.rocketmq_metrics and not self.name_server:
            yield "--name-server is missing: --rocketmq-metrics needs it to find the brokers; give host:port;host:port"
