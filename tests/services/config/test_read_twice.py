"""A source that reads what another living one reads into the same topic is refused, as each record would be there twice."""

from typing import Any

import pytest
import sqlalchemy as sa
from rocketconnect.config.v1 import config_service_pb2 as pb

from rocketconnect_kit.errors import InvalidArgument
from rocketconnect_kit.serving.status import remote_errors
from rocketconnect_sdk.origins.origin import Origin
from services.config import tables
from services.config.domain import ConnectorType, Draft, WantedState
from services.config.origins import rows
from services.config.origins.reads import Reads, dump, load, name_key, place_key
from services.config.store import ConfigStore

READING = {"connector.class": "file_source", "path": "/in", "topics": "orders", "reads": "/data/in.csv"}


async def refused(awaited: Any) -> dict[str, str]:
    with pytest.raises(InvalidArgument) as caught, remote_errors():
        await awaited
    return {problem.field: f"{problem.reason}. {problem.fix}" for problem in caught.value.problems}


async def test_a_second_source_of_the_same_file_and_topic_is_refused_with_the_name_of_the_first_and_the_ways(service: Any) -> None:
    first = await service.create("first", READING)
    told = (await refused(service.create("second", READING)))["reads"]
    assert "the connector 'first' reads this into the topic orders already: each record would be there twice" in told
    assert "Name another topic" in told
    assert f"--adopt-uid {first.uid}" in told
    assert "origin.shared=true says that each record is meant to be there once for each of them" in told
    answer = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="second", config=READING))
    assert [problem.key for problem in answer.problems] == ["reads"]


@pytest.mark.parametrize("changed", [{"reads": "/data/b.csv"}, {"topics": "other"}, {"shared": "yes"}, {"reads": "/data/*.json"}])
async def test_another_file_or_topic_or_one_that_may_share_is_taken(service: Any, changed: dict[str, str]) -> None:
    await service.create("first", READING)
    await service.create("second", {**READING, **changed})


async def test_a_pattern_that_means_the_file_of_another_one_is_refused_and_so_is_the_file_of_a_pattern(service: Any) -> None:
    await service.create("first", READING)
    await service.create("all", {**READING, "reads": "/else/*.csv"})
    assert await refused(service.create("second", {**READING, "reads": "/data/*.csv"}))
    assert await refused(service.create("second", {**READING, "reads": "/else/a.csv"}))


async def test_an_update_that_begins_to_read_twice_is_refused_and_one_that_did_so_before_is_told(service: Any) -> None:
    await service.create("first", READING)
    await service.create("second", {**READING, "reads": "/data/b.csv"})
    assert await refused(service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="second", config=READING)))
    shared = {**READING, "shared": "yes"}
    await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="second", config=shared))
    answer = await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="second", config=READING))
    assert "the connector 'first' reads this into the topic orders, too" in answer.warnings[0].reason


async def test_a_deleted_one_refuses_nothing_and_neither_does_the_connector_itself(service: Any) -> None:
    await service.create("first", READING)
    again = {**READING, "note": "another"}
    await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="first", config=again))
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="first"))
    await service.create("second", READING)
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="second"))


async def test_the_check_of_a_source_that_has_read_is_told_what_it_did_until_now_and_how_far_it_came(service: Any) -> None:
    made = await service.create("first", {**READING, "topic": "orders"})
    service.positions.of[made.uid] = {"file 1": "[70]", "~task/0": "[1]", "unread": "[0]"}
    await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="first", config=made.config))
    assert service.executor.former == ({}, {}), "it does not change"
    changed = {**made.config, "note": "more"}
    await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="first", config=changed))
    assert service.executor.former == (dict(made.config), {"file 1": "[70]"})
    await service.create("second", {**READING, "topic": "orders", "reads": "/data/b.csv"})
    assert service.executor.former == ({}, {}), "it is new"


def test_of_two_at_once_the_store_takes_the_first_and_adopting_makes_it_findable_again(store: ConfigStore) -> None:
    reads = Reads([Origin("filename", "file:", "/data/in.csv", into="orders")])
    first = _create(store, "first", reads)
    with pytest.raises(InvalidArgument):
        _create(store, "second", reads)
    store.delete("first", "")
    _create(store, "third", reads, adopt_uid=first.uid)
    with pytest.raises(InvalidArgument):
        _create(store, "second", reads)


def test_of_ten_thousand_sources_of_one_topic_only_those_are_looked_at_that_may_read_the_same(
    store: ConfigStore, engine: sa.Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    living = [Reads([Origin("filename", "file:", f"/data/{number}.csv", into="orders")]) for number in range(10_000)]
    with engine.begin() as connection:
        connectors = [_row(f"c{number}", reads) for number, reads in enumerate(living)]
        places = [
            {"connector_uid": f"c{number}", "place": place_key(reads.origins[0]), "name": name_key(reads.origins[0])}
            for number, reads in enumerate(living)
        ]
        connection.execute(tables.connectors.insert(), connectors)
        connection.execute(tables.origins.insert(), places)
    looked_at: list[str | None] = []

    def counted(text: str | None) -> Reads | None:
        looked_at.append(text)
        return load(text)

    monkeypatch.setattr(rows, "load", counted)
    assert not store.read_twice(Reads([Origin("filename", "file:", "/new.csv", into="orders")]), "new").problems
    (problem,) = store.read_twice(living[7000], "new").problems
    assert "the connector 'c7000' reads this" in problem.reason
    assert len(looked_at) == 1


def _row(name: str, reads: Reads) -> dict[str, Any]:
    numbers = dict.fromkeys(("revision", "changed", "create_time", "update_time", "restarts"), 1)
    kept = {"config": "{}", "wanted_state": "RUNNING", "type": "SOURCE", "apply_set": "", "origins": dump(reads)}
    return {"uid": name, "name": name, **numbers, **kept}


def _create(store: ConfigStore, name: str, reads: Reads, adopt_uid: str = "") -> Any:
    draft = Draft(name, {"connector.class": "x"}, WantedState.RUNNING, "", adopt_uid)
    return store.create(draft, ConnectorType.SOURCE, reads=reads)
