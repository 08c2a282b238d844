"""What a run of a task works with."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rocketconnect_sdk.converters import Converter, converter
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.permissions.quotas import quota_of
from rocketconnect_sdk.transforms.chain import Chain
from rocketmq_remoting.client import Client
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.task import TaskSpec
from services.executor.runtime.errors.attempts import Attempts
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.runtime.positions.client import PositionClient
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.group_resets import GroupResets
from services.executor.runtime.task.lease import Lease
from services.executor.runtime.task.rate import RateLimit
from services.executor.runtime.task.reporter import Reporter

_PATIENCE_SECONDS = 0.5
"""A task that is to stop does so within a second, whatever its converters wait for."""


@dataclass(frozen=True, slots=True)
class TaskRuntime:
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
        chain: The transforms.
        resets: Of the consumer group of a sink, as brokers tell of them.
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
    chain: Chain
    resets: GroupResets = field(default_factory=GroupResets)

    def limit(self) -> RateLimit:
        """How fast the task may go: as its configuration says, and its share of what the operator allows the connector.

        Raises:
            RetriableError: what the operator allows can't be looked up now.
        """
        quota = quota_of(self.spec.connector)
        if quota.said_by:
            self.reporter.log("INFO", f"all tasks of the connector together move at most {quota} of the executor's quotas")
        own = self.config["max.rate.records"], self.config["max.rate.bytes"]
        return RateLimit(*quota.share(self.spec.tasks, *own), time.monotonic)

    def converters(self) -> Sequence[Converter]:
        """The converters of keys and of values, which hold up the loop of the task for a moment at most."""
        found = converters_of(self.config)
        for each in found:
            each.patience = _PATIENCE_SECONDS
        return found


def converters_of(config: Config) -> Sequence[Converter]:
    """The converters of keys and of values that a configuration names; references in it are resolved."""
    return [
        converter(config[f"{part}.converter"], config.prefixed(f"{part}.converter."), is_key=part == "key")
        for part in ("key", "value")
    ]
