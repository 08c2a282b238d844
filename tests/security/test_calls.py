"""Every RPC of every service: who may call it, and what is resolved, connected to and read for that.

An RPC that is added stands here before it passes. Who answers REST goes by the same roles.
"""

from typing import NamedTuple

from rocketconnect_kit.access.roles import KNOWN, Role, may_call
from services.gateway.api.rules import rules

LOOKS, LOOKS_AND_EXECUTORS, ORDERS = "read write service", "read write worker service", "write service"
EXECUTORS, SERVICES = "worker service", "service"

STORE = "store"
"""What the services keep: configurations with references to secrets, never what these stand for."""
BROKERS = "brokers"
"""Topics, as the executors' user of RocketMQ."""
WORKERS = "workers"
"""Executors are told, or asked, what they do."""
GIVEN = "given"
"""Secrets, hosts and files that the request names, as far as the operator of the executor lets connectors have them."""
STORED = "stored"
"""The same, that a configuration names which somebody has stored who may."""
LIMITED = "limited"
"""Hosts that the request names, as far as the operator lets readers have them: no secret and no file; for `write` as GIVEN."""


class Row(NamedTuple):
    roles: str
    uses: str = STORE


TABLE = {
    "access.v1.AccessService/GetCaller": Row(LOOKS),
    "cluster.v1.ClusterService/DeregisterWorker": Row(EXECUTORS),
    "cluster.v1.ClusterService/DrainWorker": Row(ORDERS),
    "cluster.v1.ClusterService/GetAssignment": Row(LOOKS),
    "cluster.v1.ClusterService/Heartbeat": Row(EXECUTORS),
    "cluster.v1.ClusterService/ListAssignments": Row(LOOKS_AND_EXECUTORS),
    "cluster.v1.ClusterService/ListWorkers": Row(LOOKS_AND_EXECUTORS),
    "cluster.v1.ClusterService/OfferPlugins": Row(EXECUTORS),
    "cluster.v1.ClusterService/RegisterWorker": Row(EXECUTORS),
    "cluster.v1.ClusterService/ReleaseAssignment": Row(EXECUTORS),
    "cluster.v1.ClusterService/ReportPlan": Row(EXECUTORS),
    "cluster.v1.ClusterService/RequestPlan": Row(EXECUTORS),
    "cluster.v1.ClusterService/UndrainWorker": Row(ORDERS),
    "cluster.v1.ClusterService/WatchAssignments": Row(EXECUTORS),
    "config.v1.ConfigService/CreateConnector": Row(ORDERS, GIVEN),
    "config.v1.ConfigService/CreateReplay": Row(ORDERS, STORED),
    "config.v1.ConfigService/DeleteConnector": Row(ORDERS),
    "config.v1.ConfigService/FinishReplay": Row(EXECUTORS),
    "config.v1.ConfigService/GetConnector": Row(LOOKS_AND_EXECUTORS),
    "config.v1.ConfigService/ListChanges": Row(LOOKS),
    "config.v1.ConfigService/ListConnectors": Row(LOOKS_AND_EXECUTORS),
    "config.v1.ConfigService/ListPlugins": Row(LOOKS),
    "config.v1.ConfigService/ListRevisions": Row(LOOKS),
    "config.v1.ConfigService/PauseConnector": Row(ORDERS),
    "config.v1.ConfigService/PreviewConnector": Row(ORDERS, GIVEN),
    "config.v1.ConfigService/RecordPositionsMove": Row(SERVICES),
    "config.v1.ConfigService/ReloadPlugins": Row(ORDERS, WORKERS),
    "config.v1.ConfigService/ReportCleanup": Row(EXECUTORS),
    "config.v1.ConfigService/ReportPlugins": Row(EXECUTORS),
    "config.v1.ConfigService/RestartConnector": Row(ORDERS),
    "config.v1.ConfigService/ResumeConnector": Row(ORDERS),
    "config.v1.ConfigService/RollbackConnector": Row(ORDERS, STORED),
    "config.v1.ConfigService/StopConnector": Row(ORDERS),
    "config.v1.ConfigService/TakeCleanup": Row(EXECUTORS),
    "config.v1.ConfigService/UpdateConnector": Row(ORDERS, GIVEN),
    "config.v1.ConfigService/ValidateConnector": Row(ORDERS, GIVEN),
    "config.v1.ConfigService/VerifyConnector": Row(ORDERS, STORED),
    "config.v1.ConfigService/WatchConnectors": Row(LOOKS_AND_EXECUTORS),
    "deadletter.v1.DeadletterService/ChooseReplay": Row(ORDERS, BROKERS),
    "deadletter.v1.DeadletterService/CountDeadLetters": Row(LOOKS, BROKERS),
    "deadletter.v1.DeadletterService/DiscardDeadLetters": Row(ORDERS, BROKERS),
    "deadletter.v1.DeadletterService/EditDeadLetter": Row(ORDERS, STORED),
    "deadletter.v1.DeadletterService/GetDeadLetter": Row(LOOKS, BROKERS),
    "deadletter.v1.DeadletterService/GetReplay": Row(LOOKS, BROKERS),
    "deadletter.v1.DeadletterService/ListDeadLetters": Row(LOOKS, BROKERS),
    "deadletter.v1.DeadletterService/ReplayDeadLetters": Row(ORDERS, STORED),
    "executor.v1.ExecutorService/CheckPositions": Row(SERVICES, STORED),
    "executor.v1.ExecutorService/DescribeWorker": Row(SERVICES, WORKERS),
    "executor.v1.ExecutorService/ListPlugins": Row(SERVICES, WORKERS),
    "executor.v1.ExecutorService/PreviewConnector": Row(SERVICES, GIVEN),
    "executor.v1.ExecutorService/ReloadPlugins": Row(SERVICES, WORKERS),
    "executor.v1.ExecutorService/ResolvePositions": Row(SERVICES, STORED),
    "executor.v1.ExecutorService/SignalConnector": Row(ORDERS, WORKERS),
    "executor.v1.ExecutorService/SignalTask": Row(SERVICES, WORKERS),
    "executor.v1.ExecutorService/ValidateConnector": Row(SERVICES, GIVEN),
    "executor.v1.ExecutorService/VerifyConnector": Row(SERVICES, STORED),
    "keystore.v1.KeystoreService/DeleteSecret": Row(ORDERS),
    "keystore.v1.KeystoreService/ListSecrets": Row(LOOKS),
    "keystore.v1.KeystoreService/MoveSecrets": Row(SERVICES, GIVEN),
    "keystore.v1.KeystoreService/ReadSealedSecret": Row(EXECUTORS),
    "keystore.v1.KeystoreService/SetSecret": Row(ORDERS),
    "logging.v1.LoggingService/GetLogLevels": Row(LOOKS, WORKERS),
    "logging.v1.LoggingService/SetLogLevel": Row(ORDERS, WORKERS),
    "position.v1.PositionService/AlterPositions": Row(ORDERS, STORED),
    "position.v1.PositionService/CommitPositions": Row(EXECUTORS),
    "position.v1.PositionService/ConfirmEpochs": Row(EXECUTORS),
    "position.v1.PositionService/ForgetPositions": Row(SERVICES),
    "position.v1.PositionService/ImportPositions": Row(ORDERS, STORED),
    "position.v1.PositionService/ListPositionSnapshots": Row(LOOKS),
    "position.v1.PositionService/ListPositions": Row(LOOKS_AND_EXECUTORS),
    "position.v1.PositionService/OpenTask": Row(EXECUTORS),
    "position.v1.PositionService/ResetPositions": Row(ORDERS, STORED),
    "position.v1.PositionService/RestorePositions": Row(ORDERS),
    "state.v1.StateService/GetConnectorState": Row(LOOKS_AND_EXECUTORS),
    "state.v1.StateService/ListConnectorStates": Row(LOOKS),
    "state.v1.StateService/GetConnectorSamples": Row(LOOKS),
    "state.v1.StateService/ListTaskLogs": Row(LOOKS),
    "state.v1.StateService/ReportTasks": Row(EXECUTORS),
    "state.v1.StateService/WatchConnectorState": Row(LOOKS),
    "topic.v1.TopicService/DeleteTopic": Row(ORDERS, BROKERS),
    "topic.v1.TopicService/EnsureTopic": Row(ORDERS, BROKERS),
    "topic.v1.TopicService/ListTopics": Row(LOOKS, BROKERS),
    "topic.v1.TopicService/PeekTopic": Row(LOOKS, LIMITED),
    "topic.v1.TopicService/TraceMessages": Row(LOOKS, BROKERS),
}
_ON_EXECUTORS = ("deadletter.", "executor.", "topic.")


def test_every_rpc_is_in_the_table_with_who_may_call_it() -> None:
    # That these are all RPCs that there are: tests/rocketconnect_kit/access/test_gate.py.
    assert TABLE.keys() == KNOWN
    for name, row in TABLE.items():
        may = {role.value for role in Role if may_call(role, f"/rocketconnect.{name}")}
        assert may == set(row.roles.split()), name


def test_secrets_hosts_and_files_are_for_who_may_write() -> None:
    for name, row in TABLE.items():
        if row.uses in (GIVEN, STORED):
            assert not {"read", "worker"} & set(row.roles.split()), name
    assert [name for name, row in TABLE.items() if row.uses == LIMITED] == ["topic.v1.TopicService/PeekTopic"]


def test_an_executor_orders_nothing_of_another_one_and_lets_it_read_nothing() -> None:
    assert [name for name, row in TABLE.items() if name.startswith(_ON_EXECUTORS) and "worker" in row.roles.split()] == []


def test_what_rest_shows_is_for_people() -> None:
    for rule in rules():
        name = f"{rule.method.containing_service.full_name}/{rule.method.name}".removeprefix("rocketconnect.")
        assert "write" in TABLE[name].roles.split(), name
