"""What a caller may do, and what each gRPC method needs. Pure."""

from enum import Enum


class Role(Enum):
    """What somebody may do.

    READ: look at connectors, states, positions, topics and dead letters. WRITE: that, and everything that users order.
    SERVICE: all of it, and what services say to each other. WORKER: what an executor says and asks, in its own name alone.
    """

    READ = "read"
    WRITE = "write"
    SERVICE = "service"
    WORKER = "worker"


_READ = frozenset(
    {
        "access.v1.AccessService/GetCaller",
        "config.v1.ConfigService/GetConnector",
        "config.v1.ConfigService/ListConnectors",
        "config.v1.ConfigService/WatchConnectors",
        "config.v1.ConfigService/ListRevisions",
        "config.v1.ConfigService/ListChanges",
        "config.v1.ConfigService/ListPlugins",
        "keystore.v1.KeystoreService/ListSecrets",
        "position.v1.PositionService/ListPositions",
        "position.v1.PositionService/ListPositionSnapshots",
        "topic.v1.TopicService/ListTopics",
        "topic.v1.TopicService/PeekTopic",
        "topic.v1.TopicService/TraceMessages",
        "state.v1.StateService/GetConnectorState",
        "state.v1.StateService/ListConnectorStates",
        "state.v1.StateService/WatchConnectorState",
        "state.v1.StateService/ListTaskLogs",
        "state.v1.StateService/GetConnectorSamples",
        "cluster.v1.ClusterService/ListWorkers",
        "cluster.v1.ClusterService/ListAssignments",
        "cluster.v1.ClusterService/GetAssignment",
        "deadletter.v1.DeadletterService/ListDeadLetters",
        "deadletter.v1.DeadletterService/CountDeadLetters",
        "deadletter.v1.DeadletterService/GetDeadLetter",
        "deadletter.v1.DeadletterService/GetReplay",
        "logging.v1.LoggingService/GetLogLevels",
    }
)
_WRITE = frozenset(
    {
        "config.v1.ConfigService/CreateConnector",
        "config.v1.ConfigService/UpdateConnector",
        "config.v1.ConfigService/DeleteConnector",
        "config.v1.ConfigService/PauseConnector",
        "config.v1.ConfigService/ResumeConnector",
        "config.v1.ConfigService/StopConnector",
        "config.v1.ConfigService/RestartConnector",
        "config.v1.ConfigService/RollbackConnector",
        # A check, a preview and a comparison speak to the systems that a configuration names, with the secrets that it names.
        "config.v1.ConfigService/ValidateConnector",
        "config.v1.ConfigService/PreviewConnector",
        "config.v1.ConfigService/VerifyConnector",
        "config.v1.ConfigService/ReloadPlugins",
        "config.v1.ConfigService/CreateReplay",
        "keystore.v1.KeystoreService/SetSecret",
        "keystore.v1.KeystoreService/DeleteSecret",
        "position.v1.PositionService/AlterPositions",
        "position.v1.PositionService/ResetPositions",
        "position.v1.PositionService/RestorePositions",
        "position.v1.PositionService/ImportPositions",
        "executor.v1.ExecutorService/SignalConnector",
        "topic.v1.TopicService/EnsureTopic",
        "topic.v1.TopicService/DeleteTopic",
        "cluster.v1.ClusterService/DrainWorker",
        "cluster.v1.ClusterService/UndrainWorker",
        "deadletter.v1.DeadletterService/DiscardDeadLetters",
        "deadletter.v1.DeadletterService/EditDeadLetter",
        "deadletter.v1.DeadletterService/ChooseReplay",
        "deadletter.v1.DeadletterService/ReplayDeadLetters",
        "logging.v1.LoggingService/SetLogLevel",
    }
)
_WORKER = frozenset(
    {
        "config.v1.ConfigService/ReportPlugins",
        "config.v1.ConfigService/TakeCleanup",
        "config.v1.ConfigService/ReportCleanup",
        "config.v1.ConfigService/FinishReplay",
        "keystore.v1.KeystoreService/ReadSealedSecret",
        "position.v1.PositionService/OpenTask",
        "position.v1.PositionService/CommitPositions",
        "position.v1.PositionService/ConfirmEpochs",
        "state.v1.StateService/ReportTasks",
        "cluster.v1.ClusterService/RegisterWorker",
        "cluster.v1.ClusterService/OfferPlugins",
        "cluster.v1.ClusterService/Heartbeat",
        "cluster.v1.ClusterService/DeregisterWorker",
        "cluster.v1.ClusterService/WatchAssignments",
        "cluster.v1.ClusterService/ReleaseAssignment",
        "cluster.v1.ClusterService/ReportPlan",
        "cluster.v1.ClusterService/RequestPlan",
    }
)
_SERVICE = frozenset(
    {
        "config.v1.ConfigService/RecordPositionsMove",
        "keystore.v1.KeystoreService/MoveSecrets",
        "position.v1.PositionService/ForgetPositions",
        "executor.v1.ExecutorService/ValidateConnector",
        "executor.v1.ExecutorService/PreviewConnector",
        "executor.v1.ExecutorService/VerifyConnector",
        "executor.v1.ExecutorService/ListPlugins",
        "executor.v1.ExecutorService/ReloadPlugins",
        "executor.v1.ExecutorService/CheckPositions",
        "executor.v1.ExecutorService/ResolvePositions",
        "executor.v1.ExecutorService/SignalTask",
        "executor.v1.ExecutorService/DescribeWorker",
    }
)
_OURS = "/rocketconnect."
_EVERYBODY = ("/grpc.health.v1.Health/", "/grpc.reflection.")
"""What tells nothing of what is moved: whether a server takes calls, and, where that is switched on, which there are."""
_LOOKED_UP = frozenset(
    {
        "config.v1.ConfigService/GetConnector",
        "config.v1.ConfigService/ListConnectors",
        "config.v1.ConfigService/WatchConnectors",
        "position.v1.PositionService/ListPositions",
        "state.v1.StateService/GetConnectorState",
        "cluster.v1.ClusterService/ListWorkers",
        "cluster.v1.ClusterService/ListAssignments",
    }
)
"""What executors look up as readers do: nothing of another executor, which reads with rights of its own."""
_ALLOWED = {Role.READ: _READ, Role.WRITE: _READ | _WRITE, Role.WORKER: _LOOKED_UP | _WORKER}
KNOWN = _READ | _WRITE | _WORKER | _SERVICE
"""Every method whose role was thought of, without the first part of its name."""


def may_call(role: Role, method: str) -> bool:
    """Whether somebody of a role may call a gRPC method; one that is not known is for services alone.

    Args:
        role: What the caller may do.
        method: "/package.Service/Method".
    """
    return role is Role.SERVICE or method.removeprefix(_OURS) in _ALLOWED[role]


def is_open(method: str) -> bool:
    """Whether anybody may call a gRPC method ("/package.Service/Method"), as whom nobody asks."""
    return method.startswith(_EVERYBODY)
