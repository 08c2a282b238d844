"""redis_source against servers that refuse, go away and come back."""

import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from redis import Redis as Client

from connectors.redis.options import CHECK_SECONDS
from connectors.redis.source import RedisSource
from rocketconnect_sdk import Config, PermanentError, SystemAway, TaskContext, parse
from rocketconnect_sdk.polled import batches_of
from tests import free_ports
from tests.connectors.partitions import Runtime
from tests.servers.redis import Redis

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rocketconnect_sdk import SourceTask

SOURCE = RedisSource()
LIMIT = 120.0
RIGHTS = ("xread", "xrange", "xinfo|stream", "type", "scan", "multi", "exec", "ping", "select", "info")


@pytest.fixture(params=["valkey", pytest.param("redis", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest) -> Iterator[Redis]:
    """A server of its own."""
    with Redis(request.param).running() as server:
        yield server


def parsed(config: "Mapping[str, str]", password: str = "secret") -> Config:
    return parse(SOURCE.options, config).replaced(lambda text: password if text == "${env:PASSWORD}" else text)


def opened(config: Config) -> "SourceTask":
    task = SOURCE.open(config, SOURCE.plan(config, 1, {}).tasks[0], TaskContext())
    task.start({})
    return task


def until(done: Callable[[], object], what: str) -> None:
    end = time.monotonic() + LIMIT
    while not done():
        assert time.monotonic() < end, f"{what} did not come within {LIMIT} s"


def polled(task: "SourceTask") -> bool:
    """Polls on; what is raised is what is waited for."""
    task.poll()
    return False


def has_sent(runtime: Runtime, count: int) -> bool:
    runtime.read()
    return len(runtime.values) >= count


def read(task: "SourceTask") -> list[object]:
    found: list[object] = []

    def has_come() -> bool:
        found.extend(value for batch in batches_of(task.poll()) for value in batch.values)
        return bool(found)

    until(has_come, "an entry")
    task.close()
    return found


def add(client: Any, numbers: range) -> None:
    with client.pipeline() as pipe:
        for number in numbers:
            pipe.xadd(f"s{number % 3}", {"n": number})
        pipe.execute()


def test_a_server_that_is_killed_comes_back_with_nothing_lost_or_doubled(server: Redis) -> None:
    add(server.client, range(500))
    raw = {"url": server.url, "streams.pattern": "s?", "request.timeout": "2s"}
    runtime = Runtime(SOURCE, parsed(raw), records=50)
    until(partial(has_sent, runtime, 1), "the first")
    runtime.store(2)
    server.kill()
    with pytest.raises(SystemAway, match="does not answer"):
        until(partial(polled, runtime.tasks()[0]), "the end of the connection")
    runtime.kill()
    server.start()
    add(server.client, range(500, 600))
    until(partial(has_sent, runtime, 600), "every entry")
    runtime.read()
    assert sorted(int(value["n"]) for value in runtime.values) == list(range(600))  # type: ignore[index]


@pytest.mark.slow
def test_a_server_that_hangs_is_told_in_time_and_waited_for(server: Redis) -> None:
    add(server.client, range(3))
    config = parsed({"url": server.url, "streams.pattern": "s?", "request.timeout": "1s"})
    runtime = Runtime(SOURCE, config)
    until(partial(has_sent, runtime, 3), "the first ones")
    server.signal(signal.SIGSTOP)
    began = time.monotonic()
    (problem,) = SOURCE.check(config)
    assert problem.is_warning
    assert time.monotonic() - began < 3 * CHECK_SECONDS
    with pytest.raises(SystemAway, match="does not answer"):
        until(partial(polled, runtime.tasks()[0]), "the end of waiting")
    runtime.kill()
    server.signal(signal.SIGCONT)
    add(server.client, range(3, 6))
    until(partial(has_sent, runtime, 6), "the rest")


@pytest.mark.slow
def test_a_server_that_is_killed_again_and_again_while_entries_are_added_gives_each_once(server: Redis) -> None:
    choose = random.Random(7)  # kills that can be had again
    runtime = Runtime(SOURCE, parsed({"url": server.url, "streams.pattern": "s?", "discover.interval": "0.1"}), records=20)
    for number in range(8):
        add(server.client, range(number * 100, number * 100 + 100))
        for _ in range(choose.randint(1, 6)):
            runtime.read()
            runtime.store(choose.randint(0, 3))
        server.kill()
        runtime.read()
        server.start()
    until(partial(has_sent, runtime, 800), "every entry")
    assert sorted(int(value["n"]) for value in runtime.values) == list(range(800))  # type: ignore[index]


def test_users_are_proven_and_a_command_that_is_not_allowed_is_named(server: Redis) -> None:
    add(server.client, range(1))
    server.client.execute_command("ACL", "SETUSER", "reader", "on", ">secret", "~s*", *(f"+{right}" for right in RIGHTS))
    raw = {"url": server.url, "user": "reader", "password": "${env:PASSWORD}", "streams": "s0"}
    (wrong,) = SOURCE.check(parsed(raw, "wrong"))
    assert "refuses the user" in wrong.reason
    assert "wrong" not in wrong.reason
    with pytest.raises(PermanentError, match="refuses the user"):
        opened(parsed(raw, "wrong"))
    assert list(SOURCE.check(parsed(raw))) == []
    assert read(opened(parsed(raw))) == [{"n": "0"}]
    for right in ("xread", "xrange", "xinfo"):
        server.client.execute_command("ACL", "SETUSER", "reader", f"-{right}")
        (problem,) = SOURCE.check(parsed(raw))
        assert right in f"{problem.reason} {problem.fix}".lower()
        assert "ACL SETUSER" in problem.reason
        server.client.execute_command("ACL", "SETUSER", "reader", f"+{right}")


@pytest.mark.slow
def test_a_password_of_servers_without_users_is_taken() -> None:
    with Redis(given=("--requirepass", "secret")).running() as server:
        add(Client(port=server.port, password="secret"), range(1))
        raw = {"url": server.url, "password": "${env:PASSWORD}", "streams": "s0"}
        assert read(opened(parsed(raw))) == [{"n": "0"}]
        (wrong,) = SOURCE.check(parsed({"url": server.url, "streams": "s0"}))
        assert "refuses the user" in wrong.reason


@pytest.mark.slow
def test_a_certificate_that_is_not_trusted_is_told_and_one_that_is_named_is_trusted(tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    made = f"-days 2 -keyout {key} -out {cert} -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(f"openssl req -x509 -newkey rsa:2048 -nodes {made}".split(), check=True, capture_output=True)
    port = free_ports.choose()
    files = ("--tls-cert-file", str(cert), "--tls-key-file", str(key), "--tls-ca-cert-file", str(cert))
    # Valkey's wheel has no TLS.
    with Redis("redis", ("--tls-port", str(port), *files, "--tls-auth-clients", "no")).running() as server:
        add(server.client, range(1))
        raw = {"url": f"rediss://127.0.0.1:{port}/0", "streams": "s0"}
        (problem,) = SOURCE.check(parsed(raw))
        assert "certificate" in problem.reason
        raw["ssl.ca.location"] = str(cert)
        assert read(opened(parsed(raw))) == [{"n": "0"}]
