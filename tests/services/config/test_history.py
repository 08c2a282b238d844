"""Every change is kept with who, when and why, and who comes too late is told whose change was faster."""

from pathlib import Path
from typing import Any

import grpc
import pytest
import sqlalchemy as sa
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.errors import Aborted, AlreadyExists, InvalidArgument, NotFound, ServiceError
from rocketconnect_kit.serving.status import decode
from rocketconnect_kit.store import database
from rocketconnect_kit.store.versions import upgrade
from services.config import store as store_module
from services.config.domain import Action, ConnectorType, Draft, WantedState
from services.config.signature import Signature, signature
from services.config.store import ConfigStore

A = {"connector.class": "file_source", "path": "/a"}
B = {"connector.class": "file_source", "path": "/b"}
ALICE = Signature("alice", reason="first")
BOB = Signature("bob", reason="later")


def create(store: ConfigStore, by: Signature = ALICE) -> None:
    store.create(Draft("c", A, WantedState.RUNNING, "", ""), ConnectorType.SOURCE, by)


async def refused(call: Any) -> ServiceError:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call
    return decode(caught.value)


def test_every_write_leaves_one_entry_and_what_wrote_nothing_leaves_none(store: ConfigStore) -> None:
    create(store)
    store.update("c", B, "", ConnectorType.SOURCE, BOB)
    store.want("c", WantedState.PAUSED, by=BOB)
    store.want("c", WantedState.PAUSED, by=ALICE)
    store.want("c", WantedState.STOPPED, by=BOB)
    store.restart("c", by=BOB)
    with pytest.raises(AlreadyExists):
        store.update("c", B, "", ConnectorType.SOURCE, ALICE)
    store.update("c", A, "", ConnectorType.SOURCE, BOB, of_revision=1)
    store.want("c", WantedState.STOPPED, by=BOB)
    store.want("c", WantedState.RUNNING, by=BOB)
    store.delete("c", "", BOB)
    found = [change for _number, change in store.history("c", None, 100)]
    assert [(change.action, change.revision, change.of_revision) for change in reversed(found)] == [
        (Action.CREATE, 1, 0),
        (Action.UPDATE, 2, 0),
        (Action.PAUSE, 2, 0),
        (Action.STOP, 2, 0),
        (Action.RESTART, 2, 0),
        (Action.ROLLBACK, 3, 1),
        (Action.STOP, 3, 0),
        (Action.RESUME, 3, 0),
        (Action.DELETE, 3, 0),
    ]
    assert [(change.author, change.reason) for change in found] == [("bob", "later")] * 8 + [("alice", "first")]
    assert [change.time for change in found] == sorted((change.time for change in found), reverse=True)
    revisions = store.revisions("c", None, 10)
    assert [(each.revision, each.change.action, each.change.author) for each in revisions] == [
        (3, Action.ROLLBACK, "bob"),
        (2, Action.UPDATE, "bob"),
        (1, Action.CREATE, "alice"),
    ]


def test_moved_positions_are_in_the_history_and_leave_the_connector_and_its_etag_as_they_are(store: ConfigStore) -> None:
    create(store)
    before = store.get("c")
    store.record_positions_move(before.uid, BOB)
    newest = store.history("c", None, 1)[0][1]
    assert (newest.action, newest.revision, newest.author, newest.reason) == (Action.MOVE_POSITIONS, 1, "bob", "later")
    assert store.get("c") == before
    store.want("c", WantedState.STOPPED, before.etag)
    store.delete("c", "")
    with pytest.raises(NotFound):
        store.record_positions_move(before.uid, BOB)


@pytest.mark.parametrize("write", ["update", "delete", "want", "restart"])
def test_an_old_etag_is_refused_by_every_write_with_who_was_faster_when_and_why(store: ConfigStore, write: str) -> None:
    create(store)
    read = store.get("c")
    store.want("c", WantedState.PAUSED, by=BOB)
    after = store.update("c", B, "", ConnectorType.SOURCE, Signature("gateway", "carol", "more"))
    writes = {
        "update": lambda: store.update("c", A, read.etag, ConnectorType.SOURCE),
        "delete": lambda: store.delete("c", read.etag),
        "want": lambda: store.want("c", WantedState.STOPPED, read.etag),
        "restart": lambda: store.restart("c", read.etag),
    }
    with pytest.raises(Aborted) as caught:
        writes[write]()
    assert caught.value.message == (
        "connector 'c' has changed since it was read: it was updated by carol via gateway at 2023-11-14T22:13:20Z (more), "
        "paused by bob at 2023-11-14T22:13:20Z (later); read it again and repeat the change"
    )
    assert caught.value.metadata["etag"] == after.etag
    assert (store.get("c"), len(store.history("c", None, 100))) == (after, 3)
    writes = {
        "update": lambda: store.update("c", A, after.etag, ConnectorType.SOURCE),
        "delete": lambda: store.delete("c", after.etag),
        "want": lambda: store.want("c", WantedState.STOPPED, after.etag),
        "restart": lambda: store.restart("c", after.etag),
    }
    writes[write]()


@pytest.mark.parametrize("etag", ["nonsense", "-1", "f" * 400, "\0"])
def test_what_never_was_an_etag_is_refused_as_an_old_one_is(store: ConfigStore, etag: str) -> None:
    create(store)
    with pytest.raises(Aborted, match="has changed since it was read"):
        store.delete("c", etag)


def test_a_certificate_wins_over_what_is_said_and_what_is_said_over_the_address() -> None:
    assert signature("alice", "r", proved="gateway", address="10.0.0.1") == Signature("gateway", "alice", "r")
    assert signature("gateway", "", proved="gateway", address="10.0.0.1") == Signature("gateway")
    assert signature("", "", proved="gateway", address="10.0.0.1") == Signature("gateway")
    assert signature("alice", "", proved="", address="10.0.0.1") == Signature("alice")
    assert signature("", "", proved="", address="10.0.0.1") == Signature("10.0.0.1")


async def test_requests_say_who_and_why_and_the_history_is_paged_the_newest_first(service: Any) -> None:
    await service.create("c", author="alice", reason="wanted by sales")
    await service.stub.PauseConnector(pb.PauseConnectorRequest(name="c"))
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="c", author="bob"))
    first = await service.stub.ListChanges(pb.ListChangesRequest(name="c", page_size=2))
    second = await service.stub.ListChanges(pb.ListChangesRequest(name="c", page_size=2, page_token=first.next_page_token))
    assert [(each.action, each.author, each.reason) for each in [*first.changes, *second.changes]] == [
        (connector_pb2.ACTION_DELETE, "bob", ""),
        (connector_pb2.ACTION_PAUSE, "127.0.0.1", ""),
        (connector_pb2.ACTION_CREATE, "alice", "wanted by sales"),
    ]
    assert second.next_page_token == ""
    (revision,) = (await service.stub.ListRevisions(pb.ListRevisionsRequest(name="c"))).revisions
    assert (revision.change.author, revision.change.reason) == ("alice", "wanted by sales")


async def test_who_and_why_are_short_texts_and_both_problems_are_told(service: Any) -> None:
    await service.create("c")
    error = await refused(service.stub.PauseConnector(pb.PauseConnectorRequest(name="c", author="a\0", reason="x" * 1_001)))
    assert isinstance(error, InvalidArgument)
    assert [problem.field for problem in error.problems] == ["author", "reason"]
    assert len((await service.stub.ListChanges(pb.ListChangesRequest(name="c"))).changes) == 1


async def test_a_rollback_to_a_plugin_that_is_gone_is_refused_and_changes_nothing(service: Any, clock: Any) -> None:
    other = connector_pb2.Plugin(name="other_source", type=connector_pb2.PLUGIN_TYPE_SOURCE)
    plugin = connector_pb2.Plugin(name="file_source", type=connector_pb2.PLUGIN_TYPE_SOURCE)
    await service.report("worker-1", service.address, plugin, other)
    await service.create("c", {"connector.class": "other_source", "path": "/a"})
    await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=A))
    before = (await service.stub.GetConnector(pb.GetConnectorRequest(name="c"))).connector
    await service.report("worker-1", service.address, plugin)
    error = await refused(service.stub.RollbackConnector(pb.RollbackConnectorRequest(name="c", revision=1)))
    assert isinstance(error, InvalidArgument)
    assert (error.problems[0].field, error.problems[0].value) == ("connector.class", "other_source")
    assert "no executor offers a plugin of this name" in error.problems[0].reason
    assert (await service.stub.GetConnector(pb.GetConnectorRequest(name="c"))).connector == before
    assert len((await service.stub.ListChanges(pb.ListChangesRequest(name="c"))).changes) == 2


def test_revisions_of_a_store_without_a_history_are_there_after_the_migration(store_url: str, tmp_path: Path) -> None:
    engine = database.engine(store_url)
    first = Path(store_module.__file__).with_name("migrations") / "v0001_initial.py"
    (tmp_path / first.name).write_text(first.read_text())
    with database.writing(engine) as connection:
        upgrade(connection, tmp_path, "config")
        connection.execute(
            sa.text(
                "INSERT INTO config_connectors (uid, name, revision, changed, config, wanted_state, type, create_time, update_time,"
                " restarts) VALUES ('u', 'c', 2, 2, '{}', 'RUNNING', 'SOURCE', 1, 2, 0)"
            )
        )
        for number in (1, 2):
            values = {"number": number}
            connection.execute(sa.text("INSERT INTO config_revisions VALUES (:number, 'u', 'c', :number, '{}', :number)"), values)
    database.migrate(engine, "config")
    store = ConfigStore(engine, lambda: 3)
    assert store.get("c").apply_set == ""
    changes = [change for _number, change in store.history("c", None, 10)]
    assert [(each.action, each.revision, each.author, each.time) for each in changes] == [
        (Action.UNSPECIFIED, 2, "", 2),
        (Action.CREATE, 1, "", 1),
    ]
    assert [each.revision for each in store.revisions("c", None, 10)] == [2, 1]
    engine.dispose()
