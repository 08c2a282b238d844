"""Replays that are done end: the executor that runs their task says so, and the config service deletes them."""

import asyncio
from typing import TYPE_CHECKING

from rocketconnect.config.v1 import config_service_pb2 as config

from rocketconnect_kit.errors import NotFound, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.letters.replays import PLUGIN
from services.executor.contract.assignment import Assigned
from services.executor.contract.messages import TaskPulse
from services.executor.contract.task import State

if TYPE_CHECKING:
    from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceAsyncStub

_SECONDS = 5.0

_log = get_logger(__name__)


class Removal:
    """Looks at what tasks say. For the thread of the loop.

    A deletion that fails is tried again when the task says once more that it is done, as it does each second, whoever runs it then.

    Args:
        configs: The config service.
        worker_id: The id of this worker.
    """

    def __init__(self, configs: "ConfigServiceAsyncStub", worker_id: str) -> None:
        self._configs = configs
        self._worker_id = worker_id
        self._under_way: dict[str, asyncio.Task[None]] = {}

    def saw(self, assigned: Assigned, pulse: TaskPulse) -> None:
        """A task has said what it does."""
        uid = assigned.key.connector_uid
        # The task counts the note that it is done as remaining, too, from the first that it says.
        is_done = pulse.state is State.IDLE and pulse.metrics.source_remaining == 0
        if is_done and assigned.config.get(CLASS.key) == PLUGIN and uid not in self._under_way:
            task = self._under_way[uid] = asyncio.create_task(self._finish(assigned), name=f"finish {assigned.connector}")
            task.add_done_callback(lambda _: self._under_way.pop(uid))

    async def _finish(self, assigned: Assigned) -> None:
        name, key = assigned.connector, assigned.key
        request = config.FinishReplayRequest(
            worker_id=self._worker_id,
            connector=name,
            connector_uid=key.connector_uid,
            task=key.task,
            generation=assigned.generation,
            epoch=assigned.epoch,
        )
        try:
            with remote_errors():
                await self._configs.FinishReplay(request, timeout=_SECONDS)
        except NotFound:
            return
        except ServiceError as error:
            _log.warning("a replay that is done can't be deleted, trying on", connector=name, cause=error.message)
            return
        _log.info("a replay is done and deleted", connector=name)
