"""The exporter as the process that `python -m services.exporter` is, in front of states and workers that tests write by hand."""

import asyncio
import json
import os
import platform
import shutil
import socket
import struct
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceServicer, add_ClusterServiceServicer_to_server
from rocketconnect.connector.v1 import connector_pb2 as c
from rocketconnect.state.v1 import state_service_pb2 as s
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceServicer, add_StateServiceServicer_to_server

from rocketconnect_kit.testing import server_for_test
from rocketconnect_sdk.version import __version__


@dataclass
class States(StateServiceServicer):
    names: list[str] = field(default_factory=lambda: ["a", "b", "c"])
    asked: int = 0
    delay: float = 0
    page: int = 1
    partition: str = '/data/"in"\n\\.txt'

    async def ListConnectorStates(self, request: s.ListConnectorStatesRequest, context: Any) -> s.ListConnectorStatesResponse:
        self.asked += 1
        await asyncio.sleep(self.delay)
        page = [name for name in self.names if name > request.page_token]
        metrics = s.TaskMetrics(
            records_in=5,
            batches=2,
            batch_bounds=[0.1],
            batch_buckets=[1],
            lags=[s.QueueLag(queue='t/"b"/0', messages=1)],
            source_positions=[s.SourcePosition(partition=self.partition, offset=5)],
        )
        task = s.TaskState(task=0, state=c.STATE_RUNNING, worker_id="w", metrics=metrics)
        states = [
            s.ConnectorState(connector=name, state=c.STATE_RUNNING, type=c.CONNECTOR_TYPE_SOURCE, tasks=[task])
            for name in page[: self.page]
        ]
        return s.ListConnectorStatesResponse(states=states, next_page_token=page[self.page - 1] if len(page) > self.page else "")


class Cluster(ClusterServiceServicer):
    async def ListWorkers(self, request: cluster.ListWorkersRequest, context: Any) -> cluster.ListWorkersResponse:
        return cluster.ListWorkersResponse(workers=[cluster.Worker(worker_id="w", alive=True)])

    async def ListAssignments(self, request: cluster.ListAssignmentsRequest, context: Any) -> cluster.ListAssignmentsResponse:
        held = cluster.Assignment(unit=cluster.UNIT_TASK, worker_id="w")
        return cluster.ListAssignmentsResponse(assignments=[held], assignment_changes=3)


@pytest.fixture
async def behind() -> AsyncIterator[tuple[States, dict[str, str]]]:
    states = States()
    async with AsyncExitStack() as stack:
        state = await stack.enter_async_context(server_for_test(lambda server: add_StateServiceServicer_to_server(states, server)))
        workers = await stack.enter_async_context(
            server_for_test(lambda server: add_ClusterServiceServicer_to_server(Cluster(), server))
        )
        yield states, {"state": state, "cluster": workers}


@asynccontextmanager
async def exporter(addresses: dict[str, str], *flags: str) -> AsyncIterator[str]:
    """Run it; give its address; at the end it must stop by itself with 0."""
    read, write = os.pipe()
    services = [f"--{name}-address={address}" for name, address in addresses.items()]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "services.exporter", "--announce-fd", str(write), *services, *flags),
        pass_fds=[write],
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    os.close(write)
    try:
        with os.fdopen(read) as pipe:
            said = json.loads(await asyncio.wait_for(asyncio.to_thread(pipe.readline), 240))
        assert said["service"] == "exporter"
        yield said["address"]
        process.terminate()
        out, err = await asyncio.wait_for(process.communicate(), 15)
        assert (process.returncode, out) == (0, b"")
        assert b"Traceback" not in err
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def scrape(address: str) -> str:
    def get() -> str:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=15) as answer:
            assert answer.status == 200
            return str(answer.read().decode())

    return await asyncio.to_thread(get)


async def test_scrape_shows_every_page_of_what_the_services_say(behind: tuple[States, dict[str, str]]) -> None:
    async with exporter(behind[1]) as address:
        text = await scrape(address)
    for name in ("a", "b", "c"):
        assert f'rocketconnect_task_records_in_total{{connector="{name}",task="0"}} 5.0' in text
    assert 'rocketconnect_up{service="state"} 1.0' in text
    assert 'rocketconnect_up{service="cluster"} 1.0' in text
    assert 'rocketconnect_up{service="executor",worker="w"} 1.0' in text
    assert "rocketconnect_assignment_changes_total 3.0" in text
    assert "process_resident_memory_bytes" in text
    assert f'rocketconnect_build_info{{python="{platform.python_version()}",version="{__version__}"}} 1.0' in text


async def test_promtool_finds_nothing_wrong(behind: tuple[States, dict[str, str]]) -> None:
    if shutil.which("promtool") is None:
        pytest.fail("promtool is needed for this test: install it (Debian: apt-get install prometheus)", pytrace=False)
    async with exporter(behind[1]) as address:
        text = await scrape(address)
    checked = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)  # noqa: ASYNC221
    assert (checked.returncode, checked.stdout, checked.stderr) == (0, "", "")


async def test_a_thousand_connectors_with_long_names_are_shown_and_texts_of_users_stay_texts(
    behind: tuple[States, dict[str, str]],
) -> None:
    states, addresses = behind
    states.names = [f"{number:04}{'n' * 196}" for number in range(1000)]
    states.page = 100
    states.partition = '</script><script>alert("x")</script>\r\n\\n{a="b"} 1\n# HELP 行 \x00'
    async with exporter(addresses) as address:
        text = await scrape(address)
    families = {family.name: family for family in text_string_to_metric_families(text)}
    shown = families["rocketconnect_source_position"].samples
    assert [sample.labels["connector"] for sample in shown] == states.names
    assert {sample.labels["partition"] for sample in shown} == {states.partition}


async def test_scrapes_that_are_broken_off_cost_the_next_one_nothing(behind: tuple[States, dict[str, str]]) -> None:
    states, addresses = behind
    states.names, states.page = [f"{number:04}{'n' * 196}" for number in range(200)], 100
    async with exporter(addresses) as address:
        host, _, port = address.partition(":")
        for size in (0, 1, 100, 10_000) * 3:
            with socket.create_connection((host, int(port)), 10) as broken:
                # Closed with a reset, as a process that is killed does it.
                broken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                broken.sendall(b"GET /metrics HTTP/1.0\r\n\r\n")
                if size:
                    await asyncio.to_thread(broken.recv, size)
        text = await scrape(address)
    assert text.count("rocketconnect_source_position{") == 200


async def test_a_service_that_is_away_is_a_0_and_the_rest_is_there(behind: tuple[States, dict[str, str]]) -> None:
    away = {**behind[1], "state": "127.0.0.1:1", "position": "127.0.0.1:1"}
    async with exporter(away) as address:
        text = await scrape(address)
    assert 'rocketconnect_up{service="state"} 0.0' in text
    assert 'rocketconnect_up{service="position"} 0.0' in text
    assert 'rocketconnect_up{service="cluster"} 1.0' in text
    assert 'rocketconnect_workers{state="alive"} 1.0' in text
    assert "rocketconnect_task_records_in_total{" not in text


@asynccontextmanager
async def http(status: int) -> AsyncIterator[str]:
    """Give the address of a server that answers every request with this status; 0: never."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"GET /healthz ")
        if status:
            writer.write(f"HTTP/1.1 {status} So\r\nContent-Length: 0\r\n\r\n".encode())
        else:
            await reader.read()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}"


@pytest.mark.parametrize(("status", "expected"), [(200, 1), (403, 1), (500, 0), (0, 0)])
async def test_the_gateway_is_up_when_it_answers(behind: tuple[States, dict[str, str]], status: int, expected: int) -> None:
    async with http(status) as gateway, exporter({**behind[1], "gateway": gateway}, "--scrape-seconds", "2") as address:
        text = await scrape(address)
    assert f'rocketconnect_up{{service="gateway"}} {expected}.0' in text
    assert 'rocketconnect_up{service="state"} 1.0' in text


async def test_a_gateway_that_is_away_is_a_0_and_one_that_is_not_named_is_not_told(behind: tuple[States, dict[str, str]]) -> None:
    async with exporter({**behind[1], "gateway": "127.0.0.1:1"}) as address:
        assert 'rocketconnect_up{service="gateway"} 0.0' in await scrape(address)
    async with exporter(behind[1]) as address:
        assert 'service="gateway"' not in await scrape(address)


async def test_a_slow_service_holds_a_scrape_up_no_longer_than_allowed(behind: tuple[States, dict[str, str]]) -> None:
    states, addresses = behind
    states.delay = 30
    async with exporter(addresses, "--scrape-seconds", "0.5") as address, asyncio.timeout(5):
        text = await scrape(address)
        assert 'rocketconnect_up{service="state"} 0.0' in text
        states.delay = 0
        while 'rocketconnect_up{service="state"} 1.0' not in await scrape(address):
            await asyncio.sleep(0.2)


async def test_scrapes_in_a_short_time_share_one_answer(behind: tuple[States, dict[str, str]]) -> None:
    states, addresses = behind
    async with exporter(addresses, "--cache-seconds", "30") as address:
        await asyncio.gather(*(scrape(address) for _ in range(5)))
    assert states.asked == len(states.names)


async def test_without_a_broker_or_a_name_server_what_services_say_is_there(behind: tuple[States, dict[str, str]]) -> None:
    async with exporter(behind[1], "--rocketmq-metrics", "true", "--name-server", "127.0.0.1:1") as address, asyncio.timeout(10):
        text = await scrape(address)
    assert "rocketconnect_rocketmq_name_server_up 0.0" in text
    assert 'rocketconnect_up{service="state"} 1.0' in text


async def test_port_in_use_and_missing_addresses_are_explained_without_a_traceback() -> None:
    async def refused(*flags: str) -> tuple[int | None, str]:
        command = (sys.executable, "-m", "services.exporter", *flags)
        process = await asyncio.create_subprocess_exec(*command, stderr=asyncio.subprocess.PIPE)
        _, err = await asyncio.wait_for(process.communicate(), 20)
        assert b"Traceback" not in err
        return process.returncode, err.decode()

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, err = await refused("--port", port, "--state-address", "127.0.0.1:1", "--cluster-address", "127.0.0.1:1")
    assert code == 1
    assert "choose another --port" in err
    code, err = await refused("--port", "-5")
    assert code == 2
    assert "--port" in err
    code, err = await refused()
    assert code == 2
    assert "--state-address, --cluster-address: missing" in err
    needed = ("--state-address", "127.0.0.1:1", "--cluster-address", "127.0.0.1:1", "--rocketmq-metrics", "true")
    code, err = await refused(*needed)
    assert code == 2
    assert "--name-server is missing: --rocketmq-metrics needs it" in err
    code, err = await refused(*needed, "--name-server", "nowhere")
    assert code == 1
    assert "--name-server 'nowhere': 'nowhere' is no address: write host:port" in err
