import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.record.v1 import record_pb2

from rocketconnect_kit import errors
from rocketconnect_kit.serving.status import remote_errors
from services.config.domain import Changes, ConnectorType, Draft, WantedState
from services.config.store import ConfigStore
from services.config.validation.verdicts import FRESH_SECONDS

GOOD = {"connector.class": "file_source", "path": "/data/in.txt"}
ALIAS = "org.apache.rocketmq.connect.file.FileSourceConnector"


async def refused(call: Any) -> errors.ServiceError:
    with pytest.raises(errors.ServiceError) as caught, remote_errors():
        await call
    return caught.value


def problems(error: errors.ServiceError) -> dict[str, str]:
    assert isinstance(error, errors.InvalidArgument)
    return {problem.field: problem.reason for problem in error.problems}


async def test_create_get_and_list(service: Any) -> None:
    made = await service.create("c")
    assert (made.name, made.revision, made.type, dict(made.config)) == ("c", 1, connector_pb2.CONNECTOR_TYPE_SOURCE, GOOD)
    assert made.wanted_state == connector_pb2.WANTED_STATE_RUNNING
    assert (await service.stub.GetConnector(pb.GetConnectorRequest(name="c"))).connector == made
    assert list((await service.stub.ListConnectors(pb.ListConnectorsRequest())).connectors) == [made]


async def test_everything_wrong_is_told_in_one_answer_and_nothing_is_stored(service: Any) -> None:
    error = await refused(service.create("a/b", {"long": "x" * 70_000, "max.tasks": "0"}, request_id="with space"))
    assert set(problems(error)) == {"name", "request_id", "long", "connector.class", "path", "max.tasks"}
    assert problems(error)["connector.class"] == "Request config key: connector.class"
    error = await refused(service.create("a/b", {}))
    assert set(problems(error)) == {"name", "connector.class", "path"}
    error = await refused(service.create("a/b", {"connector.class": "nonsense", "max.tasks": "0"}))
    assert set(problems(error)) == {"name", "connector.class", "path", "max.tasks"}
    assert not (await service.stub.ListConnectors(pb.ListConnectorsRequest())).connectors
    assert service.executor.validated == [""] * 3, "a name that is none goes no further"


async def test_the_sentence_of_all_problems_has_one_full_stop_between_two(service: Any) -> None:
    error = await refused(service.create("c", {"connector.class": "file_source", "max.tasks": "0"}))
    assert error.message == "2 problems: path: is missing; Set it to a readable file. max.tasks: is below 1; use 1 or more"


async def test_what_is_known_to_be_wrong_is_told_when_nobody_can_check_the_rest(service: Any, clock: Any) -> None:
    for error in (errors.Unavailable("GONE", "gone"), errors.DeadlineExceeded("PLUGIN_TIMEOUT", "too long")):
        service.executor.fails_with = error
        assert set(problems(await refused(service.create("a/b")))) == {"name"}
        assert set(problems(await refused(service.create("c", {})))) == {"connector.class"}
        assert set(problems(await refused(service.create("c", {"connector.class": "nonsense"})))) == {"connector.class"}
    clock.advance(FRESH_SECONDS + 1)
    assert set(problems(await refused(service.create("a/b")))) == {"name"}


async def test_a_configuration_that_is_too_large_as_a_whole_goes_to_no_executor(service: Any) -> None:
    error = await refused(service.create("a/b", {**GOOD, **{f"k{number}": "x" * 60_000 for number in range(5)}}))
    assert set(problems(error)) == {"name", ""}
    assert service.executor.validated == []


async def test_an_update_is_refused_with_everything_at_once(service: Any) -> None:
    await service.create("c")
    error = await refused(service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config={"max.tasks": "0"})))
    assert set(problems(error)) == {"connector.class", "path", "max.tasks"}


async def test_all_problems_that_the_executor_finds_are_told(service: Any) -> None:
    error = await refused(service.create("c", {"connector.class": "file_source", "max.tasks": "0"}))
    assert problems(error) == {"path": "is missing", "max.tasks": "is below 1"}
    assert "Set it to a readable file" in error.message


async def test_unknown_class_is_told_with_those_that_there_are(service: Any) -> None:
    error = await refused(service.create("c", {"connector.class": "nonsense"}))
    assert isinstance(error, errors.InvalidArgument)
    assert error.problems[0].field == "connector.class"
    assert error.problems[0].fix == "use one of: file_source"


async def test_of_a_class_that_is_mistyped_the_nearest_name_is_told_first(service: Any) -> None:
    error = await refused(service.create("c", {"connector.class": "file_sorce"}))
    assert isinstance(error, errors.InvalidArgument)
    assert error.problems[0].fix == "did you mean file_source? Use one of: file_source"


async def test_converters_are_listed_as_plugins_and_not_offered_as_classes(service: Any) -> None:
    converter = connector_pb2.Plugin(name="json", aliases=["a.b.JsonConverter"], type=connector_pb2.PLUGIN_TYPE_CONVERTER)
    sink = connector_pb2.Plugin(name="file_sink", type=connector_pb2.PLUGIN_TYPE_SINK)
    await service.report("worker-2", "127.0.0.1:1", converter, sink)
    listed = (await service.stub.ListPlugins(pb.ListPluginsRequest())).plugins
    assert {plugin.name: plugin.type for plugin in listed}["json"] == connector_pb2.PLUGIN_TYPE_CONVERTER
    error = await refused(service.create("c", {"connector.class": "nonsense"}))
    assert isinstance(error, errors.InvalidArgument)
    assert error.problems[0].fix == "use one of: file_sink, file_source"


async def test_class_is_found_by_alias(service: Any) -> None:
    assert (await service.create("c", {**GOOD, "connector.class": ALIAS})).config["connector.class"] == ALIAS


async def test_literal_secret_is_refused_and_shown_nowhere(service: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("DEBUG")
    for secret in ("refused", "hunter2"):
        error = await refused(service.create("c", {**GOOD, "password": secret}))
        assert "${env:NAME}, or ${file:PATH:KEY}" in problems_fix(error)["password"]
        assert secret not in problems_text(error)
        assert f" {secret} is wrong" not in error.message
    answer = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(config={**GOOD, "password": "hunter2"}))
    assert [problem.key for problem in answer.problems] == ["password"]
    assert "hunter2" not in str(answer)
    assert "hunter2" not in caplog.text
    made = await service.create("c", {**GOOD, "password": "${env:DB_PASSWORD}"})
    assert made.config["password"] == "${env:DB_PASSWORD}"


def problems_fix(error: errors.ServiceError) -> dict[str, str]:
    assert isinstance(error, errors.InvalidArgument)
    return {problem.field: problem.fix for problem in error.problems}


def problems_text(error: errors.ServiceError) -> str:
    assert isinstance(error, errors.InvalidArgument)
    return " ".join(f"{problem.value} {problem.reason.replace('is refused', '')} {problem.fix}" for problem in error.problems)


async def test_existing_name_is_refused(service: Any) -> None:
    await service.create("c")
    error = await refused(service.create("c"))
    assert (type(error), error.reason) == (errors.AlreadyExists, "CONNECTOR_EXISTS")


async def test_same_request_id_is_the_same_create_even_with_no_executor_left(service: Any) -> None:
    first = await service.create("c", request_id="r1")
    service.executor.fails_with = errors.Unavailable("GONE", "gone")
    assert await service.create("c", request_id="r1") == first
    error = await refused(service.create("d", request_id="r1"))
    assert error.reason == "REQUEST_ID_REUSED"


async def test_update_rollback_and_revisions(service: Any) -> None:
    first = await service.create("c")
    changed = {**GOOD, "path": "/other"}
    second = (await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=changed, etag=first.etag))).connector
    assert second.revision == 2
    error = await refused(service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=changed)))
    assert error.reason == "SAME_CONFIG"
    error = await refused(service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=GOOD, etag=first.etag)))
    assert (type(error), error.reason) == (errors.Aborted, "ETAG_MISMATCH")
    third = (await service.stub.RollbackConnector(pb.RollbackConnectorRequest(name="c", revision=1))).connector
    assert (third.revision, dict(third.config)) == (3, GOOD)
    error = await refused(service.stub.RollbackConnector(pb.RollbackConnectorRequest(name="c", revision=9)))
    assert error.reason == "REVISION_NOT_FOUND"
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="c"))
    seen: list[int] = []
    token = ""
    while True:
        page = await service.stub.ListRevisions(pb.ListRevisionsRequest(name="c", page_size=2, page_token=token))
        seen += [item.revision for item in page.revisions]
        token = page.next_page_token
        if not token:
            break
    assert seen == [3, 2, 1]


async def test_update_that_is_wrong_stores_nothing(service: Any) -> None:
    made = await service.create("c")
    error = await refused(
        service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config={"connector.class": "file_source"}))
    )
    assert problems(error) == {"path": "is missing"}
    assert (await service.stub.GetConnector(pb.GetConnectorRequest(name="c"))).connector == made


async def test_pause_resume_stop_restart_and_delete(service: Any) -> None:
    await service.create("c")
    paused = (await service.stub.PauseConnector(pb.PauseConnectorRequest(name="c"))).connector
    assert paused.wanted_state == connector_pb2.WANTED_STATE_PAUSED
    stopped = (await service.stub.StopConnector(pb.StopConnectorRequest(name="c"))).connector
    assert stopped.wanted_state == connector_pb2.WANTED_STATE_STOPPED
    again = (await service.stub.RestartConnector(pb.RestartConnectorRequest(name="c"))).connector
    assert (again.wanted_state, again.restarts) == (connector_pb2.WANTED_STATE_RUNNING, 1)
    resumed = (await service.stub.ResumeConnector(pb.ResumeConnectorRequest(name="c"))).connector
    assert resumed == again
    gone = (await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="c"))).connector
    assert gone == again
    for call in (
        service.stub.GetConnector(pb.GetConnectorRequest(name="c")),
        service.stub.PauseConnector(pb.PauseConnectorRequest(name="c")),
        service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="c")),
        service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=GOOD)),
    ):
        assert (await refused(call)).reason == "CONNECTOR_NOT_FOUND"


async def test_without_an_executor_it_is_unavailable_and_says_what_to_do(service: Any, clock: Any) -> None:
    clock.advance(FRESH_SECONDS + 1)
    error = await refused(service.create("c"))
    assert (type(error), error.reason) == (errors.Unavailable, "NO_CAPABLE_EXECUTOR")
    assert "rocketconnect serve executor" in error.message
    assert not (await service.stub.ListPlugins(pb.ListPluginsRequest())).plugins


async def test_an_executor_that_does_not_answer_is_passed_over(service: Any) -> None:
    await service.report("worker-2", "127.0.0.1:1")
    assert (await service.create("c")).revision == 1
    service.executor.fails_with = errors.Unavailable("STOPPING", "stopping")
    error = await refused(service.create("d"))
    assert error.reason == "NO_CAPABLE_EXECUTOR"
    assert "worker-1" in error.message
    assert "worker-2 at 127.0.0.1:1" in error.message


async def test_a_plugin_that_is_too_slow_is_told_as_that(service: Any) -> None:
    service.executor.fails_with = errors.DeadlineExceeded("PLUGIN_TIMEOUT", "the check of file_source took too long")
    error = await refused(service.create("c"))
    assert (type(error), error.reason) == (errors.DeadlineExceeded, "PLUGIN_TIMEOUT")


async def test_validate_tells_all_and_stores_nothing(service: Any) -> None:
    good = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="c", config=GOOD))
    assert (list(good.problems), good.plugin, good.type) == ([], "file_source", connector_pb2.CONNECTOR_TYPE_SOURCE)
    wrong = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="a.b", config={"connector.class": "file_source"}))
    assert [problem.key for problem in wrong.problems] == ["name", "path"]
    assert not (await service.stub.ListConnectors(pb.ListConnectorsRequest())).connectors


async def test_a_warning_is_told_without_secrets_and_refuses_nothing(service: Any) -> None:
    config = {**GOOD, "keyless": "shop.log"}
    told = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="c", config=config))
    assert ([each.value for each in told.warnings], list(told.problems)) == (["shop.log"], [])
    literal = {**config, "password": "hunter2-and-more"}
    hidden = await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="c", config=literal))
    assert "hunter2" not in str(hidden)
    assert [each.key for each in hidden.warnings] == ["keyless"]
    created = await service.stub.CreateConnector(pb.CreateConnectorRequest(name="c", config=config))
    assert [each.reason for each in created.warnings] == ["has no key; "]
    updated = await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config={**config, "keyless": "other"}))
    assert [each.value for each in updated.warnings] == ["other"]
    shown = await service.stub.PreviewConnector(pb.PreviewConnectorRequest(name="c", config=config))
    assert ([each.value for each in shown.warnings], len(shown.records)) == (["shop.log"], 1)


async def test_an_executor_that_checks_a_source_is_told_which_connectors_there_are_and_which_read_its_topic(service: Any) -> None:
    await service.stub.CreateConnector(pb.CreateConnectorRequest(name="old", config={**GOOD, "topic": "books"}))
    sinks = {"books-lake": {"topics": "films, books"}, "films-lake": {"connect.topicnames": "films"}}
    for name, topics in sinks.items():
        await service.stub.CreateConnector(pb.CreateConnectorRequest(name=name, config={**GOOD, "owned": name, **topics}))
    await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="new", config={**GOOD, "connect.topicname": "books"}))
    assert sorted(service.executor.around) == [("books-lake", True), ("films-lake", False), ("old", False)]
    # Who has no topic has no neighbours.
    await service.stub.ValidateConnector(pb.ValidateConnectorRequest(name="new", config=GOOD))
    assert service.executor.around == []


async def test_a_preview_is_what_an_executor_shows_and_stores_nothing(service: Any) -> None:
    shown = await service.stub.PreviewConnector(pb.PreviewConnectorRequest(name="c", config=GOOD, records=7))
    assert (list(shown.problems), shown.plugin, shown.trouble) == ([], "file_source", "7 were asked for")
    assert [(record.position, record.steps[0].name) for record in shown.records] == [("c /data/in.txt", "read")]
    assert (await service.stub.PreviewConnector(pb.PreviewConnectorRequest(config=GOOD))).trouble == "10 were asked for"
    assert not (await service.stub.ListConnectors(pb.ListConnectorsRequest())).connectors


async def test_a_preview_of_a_wrong_configuration_shows_all_that_is_wrong_and_no_records(service: Any) -> None:
    config = {"connector.class": "file_source", "password": "hunter2"}
    shown = await service.stub.PreviewConnector(pb.PreviewConnectorRequest(name="a.b", config=config, records=101))
    assert {problem.key for problem in shown.problems} == {"name", "records", "path", "password"}
    assert not shown.records
    assert "hunter2" not in str(shown)


async def test_a_verification_is_what_an_executor_finds_with_both_configurations(service: Any) -> None:
    await service.create("orders")
    await service.create("copy", {**GOOD, "path": "/data/out.txt"})
    asked = pb.VerifyConnectorRequest(
        name="orders",
        sink="copy",
        tables={"a": "b"},
        keys=[record_pb2.RowKey(table="a", key="[1]")],
        page_token="here",
        next_table=True,
    )
    found = await service.stub.VerifyConnector(asked)
    assert (found.next_page_token, found.trouble) == ("the table of behind here", "['copy /data/out.txt']")
    assert [(each.table, each.key) for each in found.differences] == [("orders {'a': 'b'}", "[1]")]
    assert ([each.rows for each in found.tables], [each.key for each in found.problems]) == ([3], ["k"])
    # These are all sources: none of them is offered as the sink that nobody named.
    assert (await service.stub.VerifyConnector(pb.VerifyConnectorRequest(name="orders"))).trouble == "[]"


async def test_a_verification_of_what_is_not_there_or_of_too_much_is_refused(service: Any) -> None:
    await service.create("orders")
    keys = [record_pb2.RowKey(table="a", key="[1]")] * 1_001
    for request, reason in (
        (pb.VerifyConnectorRequest(name="nothing"), "CONNECTOR_NOT_FOUND"),
        (pb.VerifyConnectorRequest(name="orders", sink="nothing"), "CONNECTOR_NOT_FOUND"),
        (pb.VerifyConnectorRequest(name="orders", keys=keys), "CONFIG_INVALID"),
    ):
        assert (await refused(service.stub.VerifyConnector(request))).reason == reason


async def test_plugins_of_all_workers_are_merged_by_name_and_paged(service: Any) -> None:
    newer = connector_pb2.Plugin(name="file_source", version="2")
    await service.report("worker-2", "127.0.0.1:1", newer, connector_pb2.Plugin(name="a_sink"), connector_pb2.Plugin(name="z"))
    first = await service.stub.ListPlugins(pb.ListPluginsRequest(page_size=2))
    assert [(plugin.name, plugin.version) for plugin in first.plugins] == [("a_sink", ""), ("file_source", "2")]
    second = await service.stub.ListPlugins(pb.ListPluginsRequest(page_size=2, page_token=first.next_page_token))
    assert [plugin.name for plugin in second.plugins] == ["z"]
    assert second.next_page_token == ""


async def test_reload_calls_every_executor_and_names_those_that_did(service: Any) -> None:
    await service.report("worker-2", "127.0.0.1:1")
    answer = await service.stub.ReloadPlugins(pb.ReloadPluginsRequest())
    assert list(answer.workers) == ["worker-1"]
    assert service.executor.reloads == 1


async def test_what_executors_offer_after_a_reload_is_known_when_it_is_answered(service: Any) -> None:
    config = {**GOOD, "connector.class": "new_source"}
    assert (await refused(service.create("early", config))).reason == "CONFIG_INVALID"
    service.executor.plugins = [connector_pb2.Plugin(name="new_source", version="1", options=service.executor.plugins[0].options)]
    await service.stub.ReloadPlugins(pb.ReloadPluginsRequest())
    listed = await service.stub.ListPlugins(pb.ListPluginsRequest())
    assert [plugin.name for plugin in listed.plugins] == ["new_source"]
    assert (await service.create("late", config)).revision == 1


async def test_a_report_that_is_wrong_is_refused_with_all_its_problems(service: Any) -> None:
    for address in ("", "nowhere", "10.0.0.1:1,10.0.0.2:2"):
        error = await refused(service.stub.ReportPlugins(pb.ReportPluginsRequest(worker_id="", address=address)))
        assert set(problems(error)) == {"worker_id", "address"}


async def test_tokens_and_sizes_of_pages_are_checked(service: Any) -> None:
    for request in (pb.ListConnectorsRequest(page_token="nonsense"), pb.ListConnectorsRequest(page_size=-1)):
        assert isinstance(await refused(service.stub.ListConnectors(request)), errors.InvalidArgument)
    error = await refused(service.stub.ListRevisions(pb.ListRevisionsRequest(name="a/b")))
    assert set(problems(error)) == {"name"}
    error = await refused(service.stub.ListRevisions(pb.ListRevisionsRequest(name="nobody")))
    assert error.reason == "CONNECTOR_NOT_FOUND"


@asynccontextmanager
async def watching(stub: Any) -> AsyncIterator[Any]:
    call = stub.WatchConnectors(pb.WatchConnectorsRequest())
    try:
        yield aiter(call)
    finally:
        call.cancel()


async def following(stream: Any) -> pb.WatchConnectorsResponse:
    message: pb.WatchConnectorsResponse = await asyncio.wait_for(anext(stream), 5)
    return message


async def test_watch_gives_a_snapshot_and_then_each_change_at_once(service: Any) -> None:
    first = await service.create("a")
    async with watching(service.stub) as stream:
        snapshot = await following(stream)
        assert (snapshot.snapshot, list(snapshot.connectors)) == (True, [first])
        second = await service.create("b")
        change = await following(stream)
        assert (change.snapshot, list(change.connectors)) == (False, [second])
        assert change.sequence > snapshot.sequence
        await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="a"))
        gone = await following(stream)
        assert (list(gone.connectors), list(gone.deleted_uids)) == ([], [first.uid])


async def test_a_watch_that_has_nothing_to_tell_does_not_look(service: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    look = ConfigStore.changes_since

    def counted(store: ConfigStore, sequence: int) -> Changes:
        nonlocal looks
        looks += 1
        return look(store, sequence)

    monkeypatch.setattr(ConfigStore, "changes_since", counted)
    async with watching(service.stub) as stream:
        await following(stream)
        await service.create("c")
        await following(stream)
        await asyncio.sleep(1.2)
    assert looks <= 3


async def test_watch_ends_where_the_store_ends_after_many_changes_at_once(service: Any) -> None:
    await service.create("c")
    known: dict[str, connector_pb2.Connector] = {}
    async with watching(service.stub) as stream:
        await following(stream)
        await asyncio.gather(*(service.stub.RestartConnector(pb.RestartConnectorRequest(name="c"), timeout=60) for _ in range(50)))
        messages = 0
        while "c" not in known or known["c"].restarts < 50:
            message = await following(stream)
            messages += 1
            known.update({connector.name: connector for connector in message.connectors})
    assert messages <= 50


@pytest.mark.postgres
@pytest.mark.parametrize("store_url", ["postgresql"], indirect=True)
async def test_a_change_by_another_replica_arrives_within_a_second(start: Callable[[], Any]) -> None:
    first, second = await start(), await start()
    async with watching(first.stub) as stream:
        await following(stream)
        made = await second.create("c")
        message = await asyncio.wait_for(anext(stream), 1.5)
        assert list(message.connectors) == [made]


async def test_a_second_sink_on_one_target_is_refused_with_the_name_of_the_first(service: Any) -> None:
    first = await service.create("first", {**GOOD, "owned": "/out"})
    other = await service.create("other", {**GOOD, "owned": "/else"})
    reason = {"owned": "the connector 'first' writes there already, and one alone may"}
    assert problems(await refused(service.create("second", {**GOOD, "owned": "/out"}))) == reason
    update = pb.UpdateConnectorRequest(name="other", config={**GOOD, "owned": "/out"})
    assert problems(await refused(service.stub.UpdateConnector(update))) == reason
    ask = pb.ValidateConnectorRequest(name="second", config={**GOOD, "owned": "/out"})
    assert [each.key for each in (await service.stub.ValidateConnector(ask)).problems] == ["owned"]
    ask.name = "first"
    assert not (await service.stub.ValidateConnector(ask)).problems
    assert list((await service.stub.ListConnectors(pb.ListConnectorsRequest())).connectors) == [first, other]


async def test_the_target_of_a_connector_that_nobody_was_asked_about_is_asked_for(service: Any, engine: Any, clock: Any) -> None:
    config = {**GOOD, "owned": "/out"}
    before = ConfigStore(engine, clock)
    before.create(Draft("first", config, WantedState.RUNNING, "", ""), ConnectorType.SINK)
    assert problems(await refused(service.create("second", config))).keys() == {"owned"}
    assert service.executor.validated == ["second", "first"]
    assert problems(await refused(service.create("third", config))).keys() == {"owned"}
    assert service.executor.validated == ["second", "first", "third"]


async def test_what_is_to_be_expected_of_a_connector_is_told_by_its_check_and_its_create(service: Any) -> None:
    config = {**GOOD, "note": "slow large"}
    assert list((await service.stub.ValidateConnector(pb.ValidateConnectorRequest(config=config))).notes) == ["slow", "large"]
    made = await service.stub.CreateConnector(pb.CreateConnectorRequest(name="c", config=config))
    assert (made.connector.name, list(made.notes)) == ("c", ["slow", "large"])


async def test_a_preview_of_a_sink_passes_its_source_on(service: Any) -> None:
    source = {**GOOD, "path": "/data/other.txt"}
    shown = await service.stub.PreviewConnector(pb.PreviewConnectorRequest(name="c", config=GOOD, source=source))
    assert [record.position for record in shown.records] == ["c /data/in.txt of /data/other.txt"]


async def test_a_revision_is_above_all_that_tasks_ran_though_a_backup_of_this_store_knows_fewer(service: Any) -> None:
    """A number that came again, of another configuration, would be taken for the first one: a source kept the other's queue map."""
    one = await service.create("c")
    service.positions.newest[one.uid] = 5

    async def updated(path: str) -> int:
        config = {**GOOD, "path": path}
        return int((await service.stub.UpdateConnector(pb.UpdateConnectorRequest(name="c", config=config))).connector.revision)

    assert await updated("/2") == 6
    assert await updated("/3") == 7
    rolled = await service.stub.RollbackConnector(pb.RollbackConnectorRequest(name="c", revision=6))
    assert rolled.connector.revision == 8
    await service.stub.DeleteConnector(pb.DeleteConnectorRequest(name="c"))
    service.positions.newest[one.uid] = 20
    assert (await service.create("c", adopt_uid=one.uid)).revision == 21
    # What nobody can tell holds nobody up.
    service.positions.fails_with = errors.Unavailable("GONE", "gone")
    assert await updated("/4") == 22
