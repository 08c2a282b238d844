"""Replays that are done are deleted, and nothing else is."""

import asyncio
from typing import Any

import grpc
import pytest
from grpc.aio import AioRpcError, Metadata
from rocketconnect.config.v1 import config_service_pb2 as config

from services.executor.contract.assignment import Assigned, Key
from services.executor.contract.messages import TaskPulse
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.task import State
from services.executor.deadletters.removal import Removal


class Configs:
    """Refuses so many deletions; then takes them."""

    def __init__(self, refusals: int = 0) -> None:
        self.asked: list[str] = []
        self._refusals = refusals

    async def FinishReplay(self, request: config.FinishReplayRequest, timeout: float) -> config.FinishReplayResponse:  # noqa: ASYNC109
        del timeout
        assert (request.worker_id, request.connector_uid, request.task) == ("worker-1", "uid", 0)
        assert (request.generation, request.epoch) == (2, 3)
        self.asked.append(request.connector)
        if len(self.asked) <= self._refusals:
            raise AioRpcError(grpc.StatusCode.UNAVAILABLE, Metadata(), Metadata(), "away")
        return config.FinishReplayResponse()


def assigned(plugin: str = "dead_letter_source") -> Assigned:
    return Assigned(Key("uid", 0), "replay", 1, 2, 3, "SOURCE", {"connector.class": plugin})


def pulse(state: State, remaining: int | None = 0) -> TaskPulse:
    return TaskPulse(1, state, "", 0.0, 0.0, has_work=False, metrics=TaskMetrics(source_remaining=remaining))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("plugin", "state", "remaining", "deleted"),
    [
        ("dead_letter_source", State.IDLE, 0, ["replay"]),
        ("dead_letter_source", State.IDLE, 1, []),
        ("dead_letter_source", State.IDLE, None, []),
        ("dead_letter_source", State.STARTING, 0, []),
        ("dead_letter_source", State.PAUSED, 0, []),
        ("file_source", State.IDLE, 0, []),
    ],
)
async def test_only_a_replay_that_has_nothing_left_is_deleted(
    plugin: str, state: State, remaining: int | None, deleted: list[str]
) -> None:
    configs: Any = Configs()
    Removal(configs, "worker-1").saw(assigned(plugin), pulse(state, remaining))
    await settle()
    assert configs.asked == deleted


async def test_a_deletion_is_asked_for_once_at_a_time_and_again_when_it_failed() -> None:
    configs: Any = Configs(refusals=1)
    removal = Removal(configs, "worker-1")
    removal.saw(assigned(), pulse(State.IDLE))
    removal.saw(assigned(), pulse(State.IDLE))
    await settle()
    assert len(configs.asked) == 1
    removal.saw(assigned(), pulse(State.IDLE))
    await settle()
    assert len(configs.asked) == 2
