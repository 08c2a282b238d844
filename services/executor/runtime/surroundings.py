"""What a run of a task works with."""

from collections.abc import Sequence
from dataclasses import dataclass

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.options import Config
from rocketmq_remoting.client import Client
from services.executor.runtime.attempts import Attempts
from services.executor.runtime.failures import ErrorPolicy
from services.executor.runtime.positions import PositionClient
from services.executor.runtime.task import Endpoints, Lease, Reporter, TaskControl, TaskSpec


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What every kind of task has.

    Attributes:
        spec: The task.
        control: What is wanted of it.
        lease: Until when it may write.
        reporter: Where it says what it does.
        endpoints: Where the others are.
        config: Parsed, with references resolved.
        client: RocketMQ.
        positions: The position service.
        attempts: How calls are tried again.
        policy: Of bad records.
    """

    spec: TaskSpec
    control: TaskControl
    lease: Lease
    reporter: Reporter
    endpoints: Endpoints
    config: Config
    client: Client
    positions: PositionClient
    attempts: Attempts
    policy: ErrorPolicy

    def converters(self) -> Sequence[Converter]:
        """The converters of keys and of values."""
        return [
            converter(self.config[f"{part}.converter"], self.config.prefixed(f"{part}.converter."), is_key=part == "key")
            for part in ("key", "value")
        ]
