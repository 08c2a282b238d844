"""Seven services that ask who calls: a pipeline runs, nobody else gets anywhere, and a worker gets none of another one's tasks."""

import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.duration_pb2 import Duration
from rocketconnect.cluster.v1 import cluster_service_pb2 as cluster
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.connector.v1 import connector_pb2 as connector
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as deadletter
from rocketconnect.executor.v1 import executor_service_pb2 as executor
from rocketconnect.executor.v1.executor_service_pb2_grpc import ExecutorServiceStub
from rocketconnect.keystore.v1 import keystore_service_pb2 as keystore
from rocketconnect.keystore.v1.keystore_service_pb2_grpc import KeystoreServiceStub
from rocketconnect.position.v1 import position_service_pb2 as position
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.record.v1 import record_pb2 as record
from rocketconnect.state.v1 import state_service_pb2 as states
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub
from rocketconnect.topic.v1 import topic_service_pb2 as topic
from rocketconnect.topic.v1.topic_service_pb2_grpc import TopicServiceStub

from rocketconnect_cli.api import ApiError
from rocketconnect_cli.instance import topology
from rocketconnect_kit.calls.channel import sync_channel
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.settings import ServiceSettings
from rocketmq_remoting import Client, Message
from tests.processes import wait_until
from tests.security.guarded import SECRET, SECRET_VARIABLE, Guarded, guarding, printing, said
from tests.services.executor.configured import PLAIN

pytestmark = pytest.mark.e2e
OWN, THIEF = "worker-1", "worker-9"


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory, rocketmq: Any) -> Iterator[Guarded]:
    """For all tests: to start it takes most of their time. The last one stops it."""
    with guarding(tmp_path_factory.mktemp("guarded"), rocketmq.name_server) as made:
        yield made


def call(made: Guarded, service: str, name: str, stub: Any, method: str, request: Any) -> Any:
    settings = ServiceSettings(token_file=made.folder / f"{name}.token")
    with sync_channel(f"127.0.0.1:{made.fleet.services[service].port}", settings) as channel:
        return getattr(stub(channel), method)(request, timeout=20)


def held(made: Guarded, name: str = "stolen") -> cluster.Assignment:
    """The one task of a connector, as every worker may see it."""
    answer = call(made, "cluster", THIEF, ClusterServiceStub, "ListAssignments", cluster.ListAssignmentsRequest())
    [one] = [each for each in answer.assignments if each.connector == name and each.unit == cluster.UNIT_TASK]
    assert isinstance(one, cluster.Assignment)
    return one


def joined(made: Guarded) -> bool:
    """Whether there is an executor that can be asked."""
    try:
        with made.api("bob") as api:
            return bool(list(api.pages("/v1/plugins", "plugins"))) and bool(list(api.pages("/v1/workers", "workers")))
    except ApiError:
        return False


def opening(held: cluster.Assignment, worker: str, *, generation: int | None = None, later: int = 0) -> position.OpenTaskRequest:
    return position.OpenTaskRequest(fence=fence(held, generation=generation, later=later), worker_id=worker)


def fence(held: cluster.Assignment, *, generation: int | None = None, later: int = 0) -> position.TaskFence:
    return position.TaskFence(
        connector_uid=held.connector_uid,
        task=held.task,
        generation=held.generation if generation is None else generation,
        epoch=held.epoch + later,
    )


def forged(held: cluster.Assignment, worker: str) -> position.CommitPositionsRequest:
    """Everything of the source is told to be sent: what is not yet would be lost."""
    request = position.CommitPositionsRequest(fence=fence(held), worker_id=worker)
    update = request.updates.add()
    update.position.partition, update.position.offset = "forged", "[1000000]"
    return request


def test_a_worker_gets_at_no_task_of_another_one(guarded: Guarded, tmp_path: Path) -> None:
    source = tmp_path / "in.txt"
    source.write_text("".join(f"{number}\n" for number in range(100)))

    def created() -> bool:
        options = {"connector.class": "file_source", "topic": "stolen", "filename": str(source)}
        try:
            with guarded.api("alice") as api:
                api.request("POST", "/v1/connectors", body={"name": "stolen", "config": options})
        except ApiError:
            return False
        return True

    def positions() -> list[tuple[str, str]]:
        with guarded.api("bob") as api:
            return [(each["partition"], each["offset"]) for each in api.pages("/v1/connectors/stolen/positions", "positions")]

    def all_read() -> bool:
        # Position has only just begun, and may not have heard of the config service.
        with contextlib.suppress(ApiError):
            return any(offset == f"[{source.stat().st_size}]" for _, offset in positions())
        return False

    def refused(name: str, method: str, request: Any) -> str:
        return guarded.refused("position", name, PositionServiceStub, method, request)

    wait_until(created, 180)
    wait_until(all_read, 180)
    before, task = positions(), held(guarded)
    assert task.worker_id == OWN

    # In the name of the owner, in its own name, as the next owner, and beyond all of them; the owner itself may not do that either.
    assert refused(THIEF, "OpenTask", opening(task, OWN)) == "NOT_ALLOWED"
    for later in (0, 1, 1 << 60):
        assert refused(THIEF, "OpenTask", opening(task, THIEF, later=later)) == "NOT_ASSIGNED"
    assert refused(OWN, "OpenTask", opening(task, OWN, generation=1 << 60)) == "NOT_ASSIGNED"
    assert refused(THIEF, "CommitPositions", forged(task, OWN)) == "NOT_ALLOWED"
    assert refused(THIEF, "CommitPositions", forged(task, THIEF)) == "NOT_OWNER"
    confirming = position.ConfirmEpochsRequest(fences=[fence(task)], lease=Duration(seconds=600), worker_id=THIEF)
    assert list(call(guarded, "position", THIEF, PositionServiceStub, "ConfirmEpochs", confirming).fenced) == [fence(task)]
    released = cluster.ReleaseAssignmentRequest(
        worker_id=OWN, session=1, key=cluster.AssignmentKey(connector_uid=task.connector_uid, task=task.task), epoch=task.epoch
    )
    assert guarded.refused("cluster", THIEF, ClusterServiceStub, "ReleaseAssignment", released) == "NOT_ALLOWED"

    # Nobody says any more who holds it: what was opened stays its worker's.
    guarded.fleet.kill("cluster")
    assert refused(THIEF, "OpenTask", opening(task, THIEF)) == "NOT_OWNER"
    assert refused(THIEF, "CommitPositions", forged(task, THIEF)) == "NOT_OWNER"
    guarded.fleet.start("cluster")

    assert positions() == before
    with source.open("a") as file:
        file.write("one more\n")
    wait_until(all_read, 180)


def test_who_may_only_read_sees_messages_and_has_no_secret_used_and_nobody_connected_to(guarded: Guarded, rocketmq: Any) -> None:
    shown: list[str] = []

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown.append(self.headers.get("Authorization", ""))
            self.send_error(404)

        def log_message(self, *_: object) -> None:
            """Says nothing."""

    def peeked(name: str, **config: str) -> str:
        named = {key.replace("__", "."): value for key, value in config.items()}
        with guarded.api(name) as api:
            return json.dumps(api.request("POST", "/v1/topics/looked-at:peek", body={"config": named}))

    wait_until(lambda: joined(guarded), 180)
    with Client(rocketmq.name_server) as client:
        client.create_topic("looked-at", queues=1)
        # As converters with a registry read it: schema 1.
        client.send(client.queues("looked-at")[0], Message(b"\0\0\0\0\1looked at"))
    server = ThreadingHTTPServer(("127.0.0.1", 0), Registry)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    registry = {"value__converter": "avro", "value__converter__schema__registry__url": f"http://127.0.0.1:{server.server_port}"}
    token = {"value__converter__bearer__auth__token": f"${{env:{SECRET_VARIABLE}}}"}
    try:
        assert "looked at" in peeked("bob", value__converter="string")
        assert "refers to a secret, and who may only read gets none" in peeked("bob", **registry, **token)
        assert "is no host that this executor lets what readers ask speak to: its --reader-hosts" in peeked("bob", **registry)
        # At the executor itself, past REST.
        plain = {key.replace("__", "."): value for key, value in {**registry, **token}.items()}
        request = topic.PeekTopicRequest(topic="looked-at", config=plain)
        answer = call(guarded, "executor", "bob", TopicServiceStub, "PeekTopic", request)
        assert "who may only read gets none" in answer.problems[0].reason
        assert guarded.refused("executor", THIEF, TopicServiceStub, "PeekTopic", request) == "NOT_ALLOWED"
        assert shown == []
        # Who may write could have a connector do the same.
        assert SECRET not in peeked("alice", **registry, **token)
        assert set(shown) == {f"Bearer {SECRET}"}
    finally:
        server.shutdown()
        server.server_close()


def test_dead_letters_are_replayed_and_no_worker_orders_a_replay_or_ends_what_it_does_not_run(
    guarded: Guarded, rocketmq: Any, tmp_path: Path
) -> None:
    wait_until(lambda: joined(guarded), 180)
    with Client(rocketmq.name_server) as client:
        read, dead = f"replayed-{time.time_ns()}", f"replayed-{time.time_ns()}-dlq"
        for name in (read, dead):
            client.create_topic(name, queues=1)
        options = {
            **PLAIN,
            "connector.class": "file_lines",
            "engine": "native",
            "topics": read,
            "filename": str(tmp_path / "out.txt"),
            "errors.tolerance": "all",
            "errors.deadletterqueue.topic.name": dead,
        }
        with guarded.api("alice") as api:
            body = {"name": "replayed", "config": options}
            uid = api.request("POST", "/v1/connectors", body=body)["connector"]["uid"]
        client.send(client.queues(read)[0], Message(b"? no json"))
        wait_until(lambda: client.max_offset(client.queues(dead)[0]) == 1, 180)
    at = ["--token-file", str(guarded.folder / "alice.token"), "dlq"]
    replayed = said(*at, "replay", "replayed", "--all", "-o", "json", "--url", guarded.fleet.rest)
    assert json.loads(replayed)["sent"] == "1"

    def names() -> set[str]:
        with guarded.api("bob") as api:
            return {each["name"] for each in api.pages("/v1/connectors", "connectors")}

    # Who ran it has ended it.
    wait_until(lambda: not any("-replay-" in name for name in names()), 180)
    there = names()
    order = deadletter.ReplayDeadLettersRequest(connector="replayed", all=True, request_id="x")
    create = config.CreateReplayRequest(order=order, letters=["broker-a:0:0-1"], ends=["broker-a:0:0-1"])
    finish = partial(config.FinishReplayRequest, connector="replayed", connector_uid=uid, task=0, generation=1, epoch=1)
    mine = held(guarded, "replayed")
    fenced = config.FinishReplayRequest(
        worker_id=OWN, connector="replayed", connector_uid=uid, task=mine.task, generation=mine.generation, epoch=mine.epoch
    )
    attacks: list[tuple[str, str, Any, str]] = [
        (OWN, "CreateReplay", create, "NOT_ALLOWED"),
        (THIEF, "CreateReplay", create, "NOT_ALLOWED"),
        (THIEF, "FinishReplay", finish(worker_id=OWN), "NOT_ALLOWED"),
        (THIEF, "FinishReplay", finish(worker_id=THIEF), "NOT_ASSIGNED"),
        (THIEF, "FinishReplay", config.FinishReplayRequest(worker_id=THIEF, connector_uid="made-up"), "NOT_ASSIGNED"),
        # It runs this one, and it is no replay.
        (OWN, "FinishReplay", fenced, "NOT_A_REPLAY"),
        (OWN, "DeleteConnector", config.DeleteConnectorRequest(name="replayed"), "NOT_ALLOWED"),
    ]
    for who, method, request, reason in attacks:
        assert guarded.refused("config", who, ConfigServiceStub, method, request) == reason, (who, method)
    assert names() == there


def test_an_executor_that_prints_all_that_it_is_sent_owns_nothing(guarded: Guarded, tmp_path: Path) -> None:
    def by_alice(method: str, path: str, **body: Any) -> None:
        # What one executor does not answer the other one does; what it answers matters here no more than that it was asked.
        with guarded.api("alice") as api, contextlib.suppress(ApiError):
            api.request(method, path, body=body)

    (tmp_path / "in.txt").write_text("x")
    options = {"connector.class": "file_source", "topic": "printed", "filename": str(tmp_path / "in.txt")}
    wait_until(lambda: joined(guarded), 180)
    by_alice("POST", "/v1/connectors", name="printed", config=options)
    # The gateway asks the executor first that answered last: one that has just begun knows of none.
    guarded.fleet.kill("gateway")
    with printing() as rogue:
        plugin = connector.Plugin(name="file_source", type=connector.PLUGIN_TYPE_SOURCE)
        report = config.ReportPluginsRequest(worker_id="worker-0", address=rogue.address, plugins=[plugin])
        call(guarded, "config", "worker-0", ConfigServiceStub, "ReportPlugins", report)
        registered = cluster.RegisterWorkerRequest(
            worker_id="worker-0", address=rogue.address, plugins=["file_source"], process="0"
        )

        def asked_by(method: str, order: Callable[[], object]) -> bool:
            call(guarded, "cluster", "worker-0", ClusterServiceStub, "RegisterWorker", registered)
            with contextlib.suppress(grpc.RpcError):
                order()
            return rogue.was_asked(method)

        alter = position.AlterPositionsRequest(connector="printed", to=record.EDGE_EARLIEST, dry_run=True)
        moves = partial(call, guarded, "position", "alice", PositionServiceStub, "AlterPositions", alter)
        wait_until(lambda: asked_by("ResolvePositions", moves), 180)
        reload = partial(call, guarded, "config", "alice", ConfigServiceStub, "ReloadPlugins", config.ReloadPluginsRequest())
        wait_until(lambda: asked_by("ReloadPlugins", reload), 180)
        guarded.fleet.start("gateway")
        wait_until(lambda: joined(guarded), 180)
        wait_until(lambda: asked_by("PeekTopic", partial(by_alice, "POST", "/v1/topics/printed:peek")), 180)
        session = call(guarded, "cluster", "worker-0", ClusterServiceStub, "RegisterWorker", registered).session
        left = cluster.DeregisterWorkerRequest(worker_id="worker-0", session=session)
        call(guarded, "cluster", "worker-0", ClusterServiceStub, "DeregisterWorker", left)

        assert not [each for each in rogue.sent if "token-of-" in str(each)]
        shown = sorted(rogue.shown())
        assert len(shown) >= 3
    # Whatever of it is shown to any service, the other executor among them, is nothing.
    orders: list[tuple[str, Any, str, Any]] = [
        ("config", ConfigServiceStub, "ListConnectors", config.ListConnectorsRequest()),
        ("config", ConfigServiceStub, "DeleteConnector", config.DeleteConnectorRequest(name="printed")),
        ("config", KeystoreServiceStub, "ReadSealedSecret", keystore.ReadSealedSecretRequest(name="x")),
        ("cluster", ClusterServiceStub, "DrainWorker", cluster.DrainWorkerRequest(worker_id=OWN)),
        ("position", PositionServiceStub, "AlterPositions", alter),
        ("state", StateServiceStub, "ListConnectorStates", states.ListConnectorStatesRequest()),
        ("executor", ExecutorServiceStub, "ReloadPlugins", executor.ReloadPluginsRequest()),
        ("executor", TopicServiceStub, "PeekTopic", topic.PeekTopicRequest(topic="printed")),
    ]
    for service, stub, method, request in orders:
        with grpc.insecure_channel(f"127.0.0.1:{guarded.fleet.services[service].port}") as opened:
            for authorization in shown:
                for beside in ((), (("rocketconnect-asked-by", "write alice"),)):
                    with pytest.raises(grpc.RpcError) as refused:
                        getattr(stub(opened), method)(request, timeout=20, metadata=(("authorization", authorization), *beside))
                    assert decode(refused.value).reason == "NOT_KNOWN", (service, method)


def test_a_pipeline_runs_between_services_that_ask_and_who_may_not_is_refused(guarded: Guarded, tmp_path: Path) -> None:
    source, target = tmp_path / "in.txt", tmp_path / "out.txt"
    source.write_text("".join(f"{number}\n" for number in range(1000)))

    wait_until(lambda: joined(guarded), 180)
    with guarded.api("alice") as api:
        for name, options in (
            ("out", {"connector.class": "file_lines", "engine": "native", "topics": "guarded", "filename": str(target)}),
            ("in", {"connector.class": "file_source", "topic": "guarded", "filename": str(source)}),
        ):
            api.request("POST", "/v1/connectors", body={"name": name, "config": options})
    wait_until(lambda: target.exists() and target.read_text() == source.read_text(), 180)

    url = ["--url", guarded.fleet.rest]
    signalled = ["connector", "signal", "in", "x", "-o", "json"]
    as_bob = ["--token-file", str(guarded.folder / "bob.token"), "connector"]
    assert "out" in said(*as_bob, "list", *url)
    assert "'bob' has the role read, which may not ask for this" in said(*as_bob, "pause", "in", *url, fails=True)
    assert "who asks is not known; show a token" in said("connector", "list", *url, fails=True)

    # An executor tells its own tasks, though it may call no executor: this source takes no signal.
    assert "SIGNAL_INVALID" in said("--token-file", str(guarded.folder / "alice.token"), *signalled, *url, fails=True)

    create = config.CreateConnectorRequest(name="x", config={"connector.class": "file_source"})
    signal = executor.SignalTaskRequest(connector="in")
    opened = position.OpenTaskRequest(fence=position.TaskFence(connector_uid="u", task=0, generation=1 << 60, epoch=1 << 60))
    register = cluster.RegisterWorkerRequest(worker_id="worker-1", address="127.0.0.1:1")
    read = keystore.ReadSealedSecretRequest(name="x")
    # What one worker says of the tasks of another, and where it has users' configurations sent in its place.
    report = states.ReportTasksRequest(worker_id="worker-1")
    plugins = config.ReportPluginsRequest(worker_id="worker-1", address="127.0.0.1:1")
    cleanup = config.ReportCleanupRequest(worker_id="worker-1", connector_uid="u")
    calls: list[tuple[str, str | None, Any, str, Any, str]] = [
        ("config", None, ConfigServiceStub, "CreateConnector", create, "NOT_KNOWN"),
        ("config", "bob", ConfigServiceStub, "CreateConnector", create, "NOT_ALLOWED"),
        ("executor", "alice", ExecutorServiceStub, "SignalTask", signal, "NOT_ALLOWED"),
        # A fence of an absurd generation would end a task for good.
        ("position", "alice", PositionServiceStub, "OpenTask", opened, "NOT_ALLOWED"),
        ("position", None, PositionServiceStub, "OpenTask", opened, "NOT_KNOWN"),
        ("cluster", "alice", ClusterServiceStub, "RegisterWorker", register, "NOT_ALLOWED"),
        ("cluster", "worker-9", ClusterServiceStub, "RegisterWorker", register, "NOT_ALLOWED"),
        ("state", "worker-9", StateServiceStub, "ReportTasks", report, "NOT_ALLOWED"),
        ("config", "worker-9", ConfigServiceStub, "ReportPlugins", plugins, "NOT_ALLOWED"),
        ("config", "worker-9", ConfigServiceStub, "ReportCleanup", cleanup, "NOT_ALLOWED"),
        ("config", "alice", KeystoreServiceStub, "ReadSealedSecret", read, "NOT_ALLOWED"),
    ]
    for service, shown, stub, method, request, reason in calls:
        assert guarded.refused(service, shown, stub, method, request) == reason, (service, method)
    codes = guarded.fleet.stop()
    assert codes == dict.fromkeys(topology.SERVICES, 0)
    logs = "".join(path.read_text(errors="replace") for path in guarded.folder.glob("*.log"))
    assert "token-of-" not in logs
