from collections.abc import Sequence
from typing import Any

import pytest
from rocketconnect.connector.v1 import connector_pb2 as c
from rocketconnect.state.v1 import state_service_pb2 as s

from rocketconnect_kit.settings import ServiceSettings
from services.exporter import lag
from services.exporter.gateway import Gateway, NotTold, Query
from tests.services.exporter.test_families import samples

LAG, KNOWN = "rocketconnect_connector_lag_messages", "rocketconnect_connector_lag_known"


class Told(Gateway):
    """Answers as a gateway does, without one."""

    def __init__(self, positions: dict[str, str], queues: dict[str, list[tuple[int, int]]], topics: str, **topic: str) -> None:
        super().__init__("127.0.0.1:1", ServiceSettings(), 1.0)
        self.positions, self.queues, self.topics, self.topic = positions, queues, topics, topic

    def get(self, path: Sequence[str], query: Query) -> Any:
        if path == ["connectors", "out"]:
            return {"connector": {"config": {"topics": self.topics}}}
        if path == ["connectors", "out", "positions"]:
            positions = [{"partition": name, "offset": offset} for name, offset in self.positions.items()]
            place = int(query.get("pageToken") or 0)  # type: ignore[arg-type]
            more = {"nextPageToken": str(place + 1)} if place + 1 < len(positions) else {}
            return {"positions": positions[place : place + 1], **more}
        assert path == ["topics"]
        topics = []
        for name, queues in self.queues.items():
            if name in query["names"]:
                ends = [
                    {"queue": f"{name}/b/{number}", "earliest": str(earliest), "latest": str(latest)}
                    for number, (earliest, latest) in enumerate(queues)
                ]
                topics.append({"name": name, "queues": ends, **self.topic})
        return {"topics": topics}


def sink(*tasks: "c.State.ValueType", state: "c.State.ValueType" = c.STATE_FAILED, name: str = "out") -> s.ConnectorState:
    made = [s.TaskState(task=number, state=each) for number, each in enumerate(tasks)]
    return s.ConnectorState(connector=name, state=state, type=c.CONNECTOR_TYPE_SINK, tasks=made)


def test_it_is_what_stands_between_the_positions_and_the_ends_of_the_topics_that_the_sink_reads() -> None:
    positions = {"t/b/0": "[100]", "t/b/1": "[7]", "u/b/0": "[3]", "before/b/0": "[0]", "RCREPLAY_uid/b/0": "[1]"}
    queues = {"t": [(0, 150), (0, 7)], "u": [(0, 4)], "before": [(0, 99)], "RCREPLAY_uid": [(0, 3)]}
    assert lag.ask(Told(positions, queues, "t, u"), "out") == {"t": 50, "u": 1, "RCREPLAY_uid": 2}


def test_what_the_topic_no_longer_has_is_no_lag_and_a_queue_that_came_since_is_read_from_its_beginning() -> None:
    assert lag.ask(Told({"t/b/0": "[10]"}, {"t": [(90, 100), (20, 25)]}, "t"), "out") == {"t": 15}
    assert lag.ask(Told({"t/b/0": "[10]"}, {"t": [(0, 4)]}, "t"), "out") == {"t": 0}


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (Told({}, {"t": [(0, 9)]}, "t"), "no positions in t yet"),
        (Told({"t/b/0": "[1]"}, {"t": [(0, 9)], "u": [(0, 9)]}, "t,u"), "no positions in u yet"),
        (Told({"t/b/0": "[1]"}, {}, "t"), "no topic t"),
        (Told({"t/b/0": "[1]"}, {"t": []}, "t", trouble="broker b is away"), "broker b is away"),
    ],
)
def test_what_is_not_known_is_said_so_with_the_reason(told: Told, why: str) -> None:
    with pytest.raises(NotTold, match=why):
        lag.ask(told, "out")


@pytest.mark.parametrize(
    "said", [sink(c.STATE_FAILED), sink(c.STATE_RUNNING, c.STATE_STARTING), sink(c.STATE_UNASSIGNED), sink(state=c.STATE_FAILED)]
)
def test_a_sink_whose_tasks_do_not_tell_all_of_it_is_asked_about(said: s.ConnectorState) -> None:
    assert lag.untold([said]) == ["out"]
    assert samples(lag.shown([said], {})) == {(KNOWN, "out"): 0}
    assert samples(lag.shown([said], {"out": {"t": 5, "u": 0}})) == {(KNOWN, "out"): 1, (LAG, "out", "t"): 5, (LAG, "out", "u"): 0}


@pytest.mark.parametrize("said", [sink(c.STATE_RUNNING, c.STATE_PAUSED), sink(c.STATE_STALLED), sink(state=c.STATE_PAUSED)])
def test_a_sink_whose_tasks_tell_it_is_not_asked_about(said: s.ConnectorState) -> None:
    assert lag.untold([said]) == []
    assert samples(lag.shown([said], {"out": {"t": 5}})) == {(KNOWN, "out"): 1}


def test_of_a_sink_that_is_stopped_and_of_a_source_there_is_nothing_to_know() -> None:
    source = s.ConnectorState(connector="in", state=c.STATE_FAILED, type=c.CONNECTOR_TYPE_SOURCE)
    stopped = sink(c.STATE_FAILED, state=c.STATE_STOPPED)
    assert lag.untold([source, stopped]) == []
    assert samples(lag.shown([source, stopped], {"in": {"t": 1}, "out": {"t": 5}})) == {}
