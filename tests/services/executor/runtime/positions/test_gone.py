"""A partition that is no more, from a task to the store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from rocketconnect.position.v1 import position_service_pb2_grpc as rpc

from rocketconnect_kit.store import database
from rocketconnect_kit.testing import server_for_test
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.task import Kind, TaskSpec
from services.executor.runtime.positions.client import PositionClient
from services.executor.runtime.positions.stored import Stored
from services.position.directory import Directory
from services.position.service import PositionService
from services.position.store import PositionStore


@pytest.fixture
async def client(tmp_path: Path) -> AsyncIterator[PositionClient]:
    engine = database.engine(f"sqlite:///{tmp_path}/position.db")
    database.migrate(engine, "position")
    store = PositionStore(engine, lambda: 1, lambda: 1)
    service = PositionService(store, Directory(), lambda: False, None)  # type: ignore[arg-type]  # nobody else is asked
    async with server_for_test(lambda server: rpc.add_PositionServiceServicer_to_server(service, server)) as address:
        made = PositionClient(Endpoints("", address), TaskSpec(Kind.SOURCE, "c", "c", 1, 1, 0, 1, 1, {}))
        yield made
        await asyncio.to_thread(made.close)
    store.close()
    engine.dispose()


async def test_its_position_goes_and_the_next_of_its_name_begins_as_a_new_one(client: PositionClient) -> None:
    def run() -> list[dict[str, tuple[int, ...]]]:
        client.open()
        seen = []
        for stored in (Stored((7, 1)), Stored((7, 1), gone=True), Stored((2, 0)), Stored((2, 1)), Stored((2, 1), gone=True)):
            client.store({"p": stored})
            seen.append({partition: each.offset for partition, each in client.look().positions.items()})
        return seen

    assert await asyncio.to_thread(run) == [{"p": (7, 1)}, {}, {"p": (2, 0)}, {"p": (2, 1)}, {}]
