import pytest
from rocketconnect.connector.v1 import connector_pb2 as c
from rocketconnect.state.v1 import state_service_pb2 as s

from services.gateway.compat import shapes

ORIGINAL_STATES = {"UNASSIGNED", "RUNNING", "PAUSED", "FAILED", "DESTROYED", "RESTARTING"}


@pytest.mark.parametrize(
    ("state", "trace", "expected_state", "expected_trace"),
    [
        (c.STATE_RUNNING, "", "RUNNING", None),
        (c.STATE_IDLE, "", "RUNNING", "IDLE"),
        (c.STATE_WAITING, "broker-a does not answer", "RUNNING", "WAITING: broker-a does not answer"),
        (c.STATE_STARTING, "", "UNASSIGNED", "STARTING"),
        (c.STATE_STALLED, "no progress for 60 s", "FAILED", "STALLED: no progress for 60 s"),
        (c.STATE_PAUSED, "", "PAUSED", None),
        (c.STATE_STOPPED, "", "DESTROYED", None),
        (c.STATE_FAILED, "no such file", "FAILED", "no such file"),
        (c.STATE_RESTARTING, "in 5 s", "RESTARTING", "in 5 s"),
        (c.STATE_UNASSIGNED, "", "UNASSIGNED", None),
        (c.STATE_UNSPECIFIED, "", "UNASSIGNED", None),
    ],
)
def test_each_state_has_its_original_name_and_keeps_its_detail(
    state: "c.State.ValueType", trace: str, expected_state: str, expected_trace: str | None
) -> None:
    task = shapes.task_state(s.TaskState(task=3, state=state, trace=trace, worker_id="w"))
    assert task == {"state": expected_state, "trace": expected_trace, "workerId": "w", "id": 3}


def test_no_state_of_ours_is_without_an_original_one() -> None:
    for state in c.State.values():
        assert shapes.task_state(s.TaskState(state=state))["state"] in ORIGINAL_STATES


def test_connector_state_info_leaves_out_the_planning() -> None:
    said = s.ConnectorState(
        connector="orders",
        state=c.STATE_RUNNING,
        worker_id="w1",
        type=c.CONNECTOR_TYPE_SINK,
        tasks=[s.TaskState(task=-1), s.TaskState(task=0, state=c.STATE_RUNNING, worker_id="w2")],
    )
    assert shapes.connector_state_info(said) == {
        "name": "orders",
        "connector": {"state": "RUNNING", "trace": None, "workerId": "w1"},
        "tasks": [{"state": "RUNNING", "trace": None, "workerId": "w2", "id": 0}],
        "type": "SINK",
    }


def test_plugins_are_listed_with_the_kinds_that_rocketmq_connect_has() -> None:
    kinds = (c.PLUGIN_TYPE_SOURCE, c.PLUGIN_TYPE_SINK, c.PLUGIN_TYPE_CONVERTER, c.PLUGIN_TYPE_TRANSFORM, c.PLUGIN_TYPE_DIRECT)
    plugins = [
        c.Plugin(name=f"p{kind}", aliases=[f"a.P{kind}"], type=kind, version="1") for kind in (*kinds, c.PLUGIN_TYPE_UNSPECIFIED)
    ]
    everything = list(shapes.plugin_infos(plugins, connectors_only=False))
    assert {each["className"]: each["type"] for each in everything} == {
        **dict.fromkeys(("p1", "a.P1"), "SOURCE"),
        **dict.fromkeys(("p2", "a.P2"), "SINK"),
        **dict.fromkeys(("p3", "a.P3"), "CONVERTER"),
        **dict.fromkeys(("p4", "a.P4"), "TRANSFORMATION"),
    }
    assert [each["className"] for each in shapes.plugin_infos(plugins, connectors_only=True)] == ["p1", "a.P1", "p2", "a.P2"]


def test_a_plugin_is_listed_by_the_classes_of_rocketmq_connect_that_it_stands_for() -> None:
    plugin = c.Plugin(name="redis_replication_source", aliases=["own"], type=c.PLUGIN_TYPE_SOURCE, version="1")
    listed = [each["className"] for each in shapes.plugin_infos([plugin], connectors_only=True)]
    assert listed == ["redis_replication_source", "own", "org.apache.rocketmq.connect.redis.connector.RedisSourceConnector"]


def test_tasks_are_listed_by_what_is_done_with_them() -> None:
    said = s.ConnectorState(
        connector="x",
        tasks=[
            s.TaskState(task=n, state=state)
            for n, state in enumerate((c.STATE_WAITING, c.STATE_STARTING, c.STATE_STALLED, c.STATE_STOPPED))
        ],
    )
    lists = shapes.allocated_tasks([said])
    assert {name: [task["taskState"] for task in tasks] for name, tasks in lists.items()} == {
        "pendingTasks": ["PENDING"],
        "runningTasks": ["RUNNING"],
        "stoppingTasks": [],
        "stoppedTasks": ["STOPPED"],
        "errorTasks": ["ERROR"],
    }
