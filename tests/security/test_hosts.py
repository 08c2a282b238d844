"""Attacks on hosts by who may write a configuration, or what names mean: nothing that the operator did not name is connected to.

Whoever waits to be attacked counts what comes. The guard of a process is there for good, so it stands in processes of its own.
"""

import contextlib
import json
import os
import socketserver
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from typing import Any

import pytest
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS
from services.executor.settings import ExecutorSettings

Start = Callable[..., Any]


class Victim:
    """Something within the network: counts who connects, and answers nothing."""

    def __init__(self) -> None:
        victim = self
        self.visits = 0

        class Handler(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                victim.visits += 1
                # MySQL's client says nothing before the server does.
                self.request.settimeout(0.5)
                with contextlib.suppress(OSError):
                    self.request.recv(1 << 16)

        self.server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def port(self) -> int:
        return int(self.server.server_address[1])


@pytest.fixture
def victim() -> Iterator[Victim]:
    made = Victim()
    yield made
    made.server.shutdown()
    made.server.server_close()


@pytest.fixture
def redirecting() -> Iterator[Callable[[str], int]]:
    """Starts a server that answers all requests with a redirect; returns its port."""
    servers = []

    def start(location: str) -> int:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                self.send_response(307)
                self.send_header("Location", location)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_HEAD = do_POST = do_PUT = do_GET  # noqa: N815 - names that http.server calls

            def log_message(self, *_: object) -> None:
                """Says nothing."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return int(server.server_address[1])

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()


def guarded(code: str, hosts: str, **given: object) -> str:
    """What a guarded process that runs this code prints. `told` is what it is given."""
    begin = "import json, os, socket, sys\nfrom rocketconnect_sdk.permissions import connections\ntold = json.loads(sys.argv[1])\n"
    begin += "guard = lambda: connections.guard(os.environ['ROCKETCONNECT_CONNECTOR_HOSTS'])\n"
    # An empty proxy would be one of the machine's own.
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    done = subprocess.run(
        [sys.executable, "-c", begin + code, json.dumps(given)],
        env={**environment, CONNECTOR_HOSTS: hosts},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def checked(executor: Any, **config: str) -> list[Any]:
    config["connector.class"] = config.pop("plugin")
    request = pb.ValidateConnectorRequest(name="x", config=config)
    return list(executor.stub().ValidateConnector(request, timeout=120).problems)


def test_all_but_metadata_is_allowed_by_default() -> None:
    assert ExecutorSettings.__dataclass_fields__["connector_hosts"].default == "*"


def test_a_configuration_that_names_a_host_which_is_not_allowed_is_refused_and_nobody_is_connected_to(
    start_executor: Start, plane: Any, victim: Victim
) -> None:
    executor = start_executor(connector_hosts="db.example,198.51.100.0/24:5432")
    plane.wait_for(lambda: plane.registrations)
    place = f"127.0.0.1:{victim.port}"
    cases: list[tuple[str, dict[str, str]]] = [
        ("connection.url", {"plugin": "jdbc_source", "topic": "t", "connection.url": f"postgresql://{place}/x"}),
        ("connection.url", {"plugin": "jdbc_source", "topic": "t", "connection.url": f"mysql://localhost:{victim.port}/x"}),
        ("connection.url", {"plugin": "jdbc_sink", "topics": "t", "connection.url": f"postgresql://0x7f.1:{victim.port}/x"}),
        ("url", {"plugin": "clickhouse_source", "topic": "t", "url": f"http://{place}"}),
        ("url", {"plugin": "clickhouse_sink", "topics": "t", "url": f"http://[::ffff:127.0.0.1]:{victim.port}"}),
        (
            "hostname",
            {"plugin": "mysql_cdc_source", "topic": "t", "hostname": "127.0.0.1", "port": str(victim.port), "username": "u"},
        ),
        (
            "hostname",
            {
                "plugin": "postgres_cdc_source",
                "topic": "t",
                "hostname": "db.example,127.0.0.1",
                "port": str(victim.port),
                "username": "u",
                "database": "d",
            },
        ),
    ]
    for key, config in cases:
        problems = checked(executor, **config)
        told = [(each.reason, each.fix) for each in problems if each.key == key]
        assert len(told) == 1, (config, problems)
        assert "--connector-hosts (ROCKETCONNECT_CONNECTOR_HOSTS) names db.example,198.51.100.0/24:5432" in told[0][0]
        assert "whoever runs the executors" in told[0][1]
    assert victim.visits == 0


@pytest.mark.skipif(find_spec("obstore") is None, reason="needs obstore")
def test_a_store_that_is_allowed_and_redirects_leads_nowhere_else(
    start_executor: Start, plane: Any, victim: Victim, redirecting: Callable[[str], int]
) -> None:
    port = redirecting(f"http://127.0.0.1:{victim.port}/secret")
    executor = start_executor(connector_hosts=f"127.0.0.1:{port}", secret_variables="PATH")
    plane.wait_for(lambda: plane.registrations)
    store = {"url": "s3://bucket/prefix", "access.key.id": "key", "secret.access.key": "${env:PATH}"}
    problems = checked(
        executor, plugin="object_store_source", topic="t", format="text", endpoint=f"http://127.0.0.1:{port}", **store
    )
    assert victim.visits == 0
    assert any("leads to a host that no connector may speak to" in each.reason for each in problems), problems
    # Amazon's servers are named by the region alone, which is another text that a configuration holds.
    problems = checked(executor, plugin="object_store_source", topic="t", format="text", region="x.example/", **store)
    assert any(each.key == "endpoint" and "s3.x.example:443 is no host" in each.reason for each in problems), problems


def test_a_redirect_is_followed_to_hosts_that_are_allowed_alone(victim: Victim, redirecting: Callable[[str], int]) -> None:
    port = redirecting(f"http://127.0.0.1:{victim.port}/secret")
    code = """
import httpx, urllib.request
guard()
for get in (lambda url: httpx.get(url, follow_redirects=True), urllib.request.urlopen):
    try:
        get(told["url"])
    except connections.HostRefused as error:
        print("refused", told["victim"] in str(error))
"""
    said = guarded(code, f"127.0.0.1:{port}", url=f"http://127.0.0.1:{port}/", victim=f"127.0.0.1:{victim.port}")
    assert said.splitlines() == ["refused True"] * 2
    assert victim.visits == 0


def test_a_name_node_leads_to_data_nodes_that_are_allowed_alone(victim: Victim, redirecting: Callable[[str], int]) -> None:
    port = redirecting(f"http://127.0.0.1:{victim.port}/webhdfs/v1/a?op=CREATE")
    code = """
from connectors.objects.logins import HdfsLogin
from connectors.objects.location import HDFS, Location
from connectors.objects.webhdfs import WebHdfs
guard()
files = WebHdfs(Location(HDFS, "", "data"), HdfsLogin(told["url"], "tester"))
for ask in (lambda: files.create("a", b"x"), lambda: files.read("a", 0, 1)):
    try:
        ask()
    except connections.HostRefused as error:
        print("refused", told["victim"] in str(error))
"""
    said = guarded(code, f"127.0.0.1:{port}", url=f"http://127.0.0.1:{port}", victim=f"127.0.0.1:{victim.port}")
    assert said.splitlines() == ["refused True"] * 2
    assert victim.visits == 0


def test_a_name_that_has_another_address_the_next_time_is_connected_to_where_it_was_looked_up_first(victim: Victim) -> None:
    code = """
turns = iter(["127.0.0.2", "127.0.0.1", "127.0.0.1", "127.0.0.1"])
asked = []
def look_up(host, port, *given, **named):
    asked.append(host)
    return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(turns), port))]
connections._look_up = look_up
guard()
listening = socket.create_server(("127.0.0.2", told["port"]))
for way in ("create_connection", "connect", "connect_ex"):
    if way == "create_connection":
        made = socket.create_connection(("rebound.example", told["port"]))
    else:
        made = socket.socket()
        try:
            getattr(made, way)(("rebound.example", told["port"]))
        except connections.HostRefused:
            print("refused")
            continue
    print(made.getpeername()[0])
print(len(asked))
"""
    said = guarded(code, "127.0.0.2", port=victim.port)
    assert said.splitlines() == ["127.0.0.2", "refused", "refused", "3"]
    assert victim.visits == 0


@pytest.mark.parametrize("hosts", ["", "db.example", "10.0.0.0/8", "localhost:1", "*.localhost"])
def test_no_way_to_connect_leads_to_what_is_not_allowed(hosts: str, victim: Victim) -> None:
    code = """
import _socket, asyncio, http.client, psycopg, pymysql
from connectors.jdbc import dialect_of, parse_url
from connectors.postgres_cdc_source.logical.connection import Address, connect, connect_replication
guard()
port = told["port"]
def asynchronous():
    return asyncio.run(asyncio.open_connection("localhost", port))
def with_c(host):
    sock = _socket.socket()
    return sock.connect((host, port))
def datagram():
    return socket.socket(type=socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", port))
ways = [
    lambda: socket.create_connection(("127.0.0.1", port)),
    lambda: socket.create_connection(("localhost", port)),
    lambda: socket.create_connection(("::ffff:127.0.0.1", port)),
    lambda: socket.create_connection(("2130706433", port)),
    lambda: socket.socket().connect(("localhost", port)),
    lambda: socket.socket().connect_ex(("127.0.0.1", port)),
    lambda: with_c("127.0.0.1"), lambda: with_c("localhost"), datagram, asynchronous,
    lambda: http.client.HTTPConnection("localhost", port).connect(),
    lambda: pymysql.connect(host="127.0.0.1", port=port, user="u"),
    *[(lambda url=url: dialect_of(parse_url(url)).connect(parse_url(url), "u", "p"))
      for url in (f"postgresql://localhost:{port}/x", f"postgresql://127.0.0.1:{port}/x", f"mysql://localhost:{port}/x")],
    *[(lambda host=host, way=way: way(Address(host, port, "u", "d")))
      for host in ("localhost", "/tmp", "127.0.0.1") for way in (connect, connect_replication)],
]
for number, way in enumerate(ways):
    try:
        way()
        print(number, "connected")
    except connections.HostRefused:
        pass
    except Exception as error:
        print(number, repr(error))
"""
    assert guarded(code, hosts, port=victim.port) == ""
    assert victim.visits == 0


def test_what_is_allowed_is_connected_to_also_by_the_drivers_of_databases(victim: Victim) -> None:
    code = """
from connectors.jdbc import dialect_of, parse_url
guard()
with socket.create_connection(("localhost", told["port"])):
    pass
for url in (f"postgresql://localhost:{told['port']}/x", f"mysql://127.0.0.1:{told['port']}/x"):
    try:
        dialect_of(parse_url(url)).connect(parse_url(url), "u", "p", 3)
    except Exception as error:
        print(type(error).__name__)
print(sorted(connections.libpq("localhost", told["port"])))
"""
    said = guarded(code, "localhost,127.0.0.1", port=victim.port)
    assert "HostRefused" not in said
    assert said.splitlines()[-1] == "['host', 'hostaddr']"
    assert victim.visits >= 3


def test_metadata_is_refused_by_default_under_every_name(redirecting: Callable[[str], int]) -> None:
    code = """
import urllib.request
connections._look_up, original = (
    lambda host, port, *a, **n: original("169.254.169.254" if host == "harmless.example" else host, port, *a, **n)
), connections._look_up
guard()
for url in ("http://169.254.169.254/", "http://2852039166/", "http://[::ffff:a9fe:a9fe]/", "http://harmless.example/", told["url"]):
    try:
        urllib.request.urlopen(url, timeout=3)
    except connections.HostRefused as error:
        print("--connector-hosts" in str(error) and "credentials" in str(error))
"""
    port = redirecting("http://169.254.169.254/latest/meta-data/")
    assert guarded(code, "*", url=f"http://127.0.0.1:{port}/").splitlines() == ["True"] * 5


def test_brokers_and_services_are_reached_whatever_is_allowed(victim: Victim) -> None:
    code = """
from rocketmq_remoting.connections.transport import connect
guard()
connect("localhost", told["port"], 3, None, 3)
"""
    guarded(code, "", port=victim.port)
    assert victim.visits == 1


def test_what_somebody_asks_who_may_only_read_reaches_what_readers_may_also_where_connectors_may_more(victim: Victim) -> None:
    code = """
guard()
socket.create_connection(("localhost", told["port"])).close()
connections.narrow("registry.example")
for host in ("localhost", "127.0.0.1"):
    try:
        socket.create_connection((host, told["port"]))
    except connections.HostRefused as error:
        print("--reader-hosts" in str(error))
connections.guard("*")
"""
    assert guarded(code, "*", port=victim.port).splitlines() == ["True"] * 2
    assert victim.visits == 1


def test_a_guard_is_there_for_good(victim: Victim) -> None:
    code = """
import importlib
guard()
connections.guard("*")
connections._guard = None
importlib.reload(socket)
try:
    socket.create_connection(("127.0.0.1", told["port"]))
except connections.HostRefused:
    print("refused")
"""
    assert guarded(code, "", port=victim.port) == "refused"
    assert victim.visits == 0
