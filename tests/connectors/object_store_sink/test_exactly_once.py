"""Whoever is late, whatever is lost: each row is there once."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import obstore
import pytest

from rocketconnect_sdk.conformance.runs import QUEUE, write_at_once
from rocketconnect_sdk.errors import ConnectorError, PermanentError
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.object_store_sink.between import Between, between
from tests.connectors.object_store_sink.prefix import files_in, lines_of, row
from tests.connectors.object_store_sink.run import opened, sink_of
from tests.connectors.stores import Server, known, made_bucket
from tests.servers.files.openssh import OpenSsh
from tests.servers.objects.azure import Azure
from tests.servers.objects.google import Google

OTHER = "orders/broker-a/1"
DELETES = "what deletes"
SERVERS = ["server", *(pytest.param(name, marks=pytest.mark.slow) for name in ("azure_server", "google_server"))]
EACH = pytest.mark.parametrize("reached", ["server", "azure_server", "google_server"], indirect=True)
"""For what each kind of store has in a way of its own."""


class Target:
    """A place in each kind of store.

    Args:
        options: Of the sink.
        objects: By name what is there.
        remove: Removes one of them.
    """

    def __init__(self, options: dict[str, str], objects: Callable[[], dict[str, bytes]], remove: Callable[[str], None]) -> None:
        self.options = options | {"format": "jsonlines"}
        self.objects = objects
        self.remove = remove

    def rows(self) -> list[object]:
        return lines_of(self.objects)

    def staged(self) -> list[str]:
        return [name for name in self.objects() if "/staged/" in name]

    def data(self) -> list[str]:
        return sorted(name for name in self.objects() if "_rocketconnect" not in name)


def of_bucket(server: Server, bucket: str) -> Target:
    options = server.options() | {"url": f"{server.place(bucket)}/data"}
    return Target(options, lambda: server.objects(bucket), partial(server.delete, bucket))


@pytest.fixture(
    params=["folder", *SERVERS, *(pytest.param(name, marks=pytest.mark.slow) for name in ("hdfs_server", "sftp_server"))]
)
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Target:
    if request.param == "folder":
        return Target({"url": f"file://{tmp_path}/out"}, lambda: files_in(tmp_path), lambda name: (tmp_path / name).unlink())
    server = request.getfixturevalue(request.param)
    if isinstance(server, OpenSsh):
        folder = server.made()
        options = {**server.options(), "path": f"{folder}/out"}
        return Target(options, lambda: files_in(folder), lambda name: (folder / name).unlink())
    return of_bucket(server, made_bucket(server))


@pytest.fixture(params=SERVERS)
def reached(request: pytest.FixtureRequest) -> tuple[Server, str, Target]:
    """A server, a bucket of it, and the place in it."""
    server: Server = request.getfixturevalue(request.param)
    bucket = made_bucket(server)
    return server, bucket, of_bucket(server, bucket)


def expected(until: int, queue: int = 0) -> list[object]:
    return [row(queue, offset) for offset in range(until)]


def test_what_is_staged_is_seen_by_no_reader_and_gone_when_it_is_given_up(target: Target) -> None:
    run = opened(target.options).start()
    receipt = run.stage(run.batch(10))
    assert (target.rows(), len(target.staged())) == ([], 1)
    run.task.abort([receipt])
    assert target.staged() == []


def test_what_an_owner_before_has_staged_is_removed_and_what_another_task_has_stays(target: Target) -> None:
    opened(target.options, epoch=3).start().stage(opened(target.options).batch(10))
    beside = opened(target.options, epoch=4, task=1).start()
    held = beside.stage(beside.batch(5, OTHER))
    opened(target.options, epoch=5).start()
    assert len(target.staged()) == 1
    beside.task.commit([held], beside.commit_of(5, OTHER))
    assert (target.rows(), target.staged()) == (expected(5, 1), [])


def test_an_owner_that_was_late_with_what_it_has_staged_writes_nothing(target: Target) -> None:
    late = opened(target.options).start()
    late.write(10)
    receipt, commit = late.stage(late.batch(20)), late.commit_of(20)
    newer = opened(target.options, epoch=2).start()
    newer.write(15)
    with pytest.raises(PermanentError, match="a newer run of this connector writes there"):
        late.task.commit([receipt], commit)
    newer.write(20)
    assert target.rows() == expected(20)


def test_a_batch_that_counts_gets_its_names_from_the_next_owner(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = opened(target.options).start()
    dying.write(10)
    with monkeypatch.context() as patch:
        patch.setattr(type(dying.task._store), "publish", _dies)
        with pytest.raises(KeyboardInterrupt):
            dying.write(20)
    assert target.rows() == expected(10)
    newer = opened(target.options, epoch=2).start()
    assert newer.positions == {QUEUE: QueuePosition(20)}
    assert (target.rows(), target.staged()) == (expected(20), [])


def _dies(*_: object) -> bool:
    raise KeyboardInterrupt


def test_a_batch_that_does_not_count_is_not_seen(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = opened(target.options).start()
    dying.write(10)
    with monkeypatch.context() as patch:
        patch.setattr(type(dying.task._store.manifests), "_write", _dies)
        with pytest.raises(KeyboardInterrupt):
            dying.write(20)
    assert target.rows() == expected(10)
    newer = opened(target.options, epoch=2).start()
    newer.write(15)
    assert (target.rows(), target.staged()) == (expected(15), [])


def test_a_name_that_is_given_once_more_by_a_late_owner_changes_nothing(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    dying = opened(target.options).start()
    with monkeypatch.context() as patch:
        patch.setattr(type(dying.task._store), "publish", _dies)
        with pytest.raises(KeyboardInterrupt):
            dying.write(20)
    opened(target.options, epoch=2).start().write(30)
    before = target.objects()
    dying.task._publish_rest()
    assert target.objects() == before
    assert target.rows() == expected(30)


def test_what_readers_have_taken_away_does_not_come_back(target: Target, caplog: pytest.LogCaptureFixture) -> None:
    opened(target.options).start().write(10)
    for name in target.data():
        target.remove(name)
    newer = opened(target.options, epoch=2).start()
    assert "somebody has taken it away since" in caplog.text
    newer.write(15)
    assert target.rows() == expected(15)[10:]


def test_offsets_that_come_again_replace_nothing(target: Target) -> None:
    run = opened(target.options).start()
    run.write(10)
    run.positions = {QUEUE: QueuePosition(0, era=1)}
    run.write(10)
    run.positions = {QUEUE: QueuePosition(0, incarnation=1)}
    run.write(10)
    assert (len(target.data()), len(target.rows())) == (3, 30)


def test_names_sort_by_offset_and_carry_topic_and_queue(target: Target) -> None:
    run = opened(target.options).start()
    for until in (5, 20, 100):
        run.write(until)
    names = [name.rpartition("orders/")[2] for name in target.data()]
    assert [name.rpartition("-")[0] for name in names] == [f"orders-broker-a-0-{first:020d}" for first in (0, 5, 20)]
    assert target.rows() == expected(100)


def test_another_connector_takes_the_prefix_and_the_one_before_stops(target: Target) -> None:
    first = opened(target.options, generation=7, epoch=9).start()
    first.write(10)
    first.stage(first.batch(20))
    second = opened(target.options, uid="other").start()
    assert target.staged() == []
    assert second.positions == {}
    with pytest.raises(PermanentError, match="Two connectors need two targets"):
        first.write(20)
    second.write(10)
    assert len(target.data()) == 2


def test_tasks_that_write_at_once_lose_nothing_of_each_other(target: Target) -> None:
    runs = [opened(target.options, task=number, epoch=number + 1).start() for number in range(4)]
    write_at_once(runs)
    assert target.rows() == [each for number in range(4) for each in expected(25, number)]
    newest = opened(target.options, generation=2, epoch=9).start()
    assert newest.positions == {f"orders/broker-a/{number}": QueuePosition(25) for number in range(4)}


def test_a_connector_that_is_deleted_leaves_what_counts_and_nothing_that_does_not(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = sink_of(target.options)
    config = known(parse(sink.options, target.options))
    sink.deleted(config, "uid")
    assert target.objects() == {}
    run = opened(target.options).start()
    with monkeypatch.context() as patch:
        patch.setattr(type(run.task._store), "publish", _dies)
        with pytest.raises(KeyboardInterrupt):
            run.write(20)
    run.stage(run.batch(30), "given-up")
    sink.deleted(config, "other")
    assert target.rows() == []
    sink.deleted(config, "uid")
    sink.deleted(config, "uid")
    assert (target.rows(), target.staged()) == (expected(20), [])


@pytest.mark.parametrize(
    "lost",
    [("PUT", "manifest.json"), ("PUT", "/staged/"), ("PUT", "/orders/orders-"), (DELETES, ""), ("GET", "manifest.json")],
    ids=lambda lost: "deletes" if lost[0] == DELETES else " ".join(lost),
)
def test_an_answer_that_is_lost_doubles_nothing(reached: tuple[Server, str, Target], lost: tuple[str, str]) -> None:
    server, _, target = reached
    if lost[0] == DELETES:
        lost = (
            ("DELETE", "/staged/")
            if isinstance(server, Google)
            else ("POST", "comp=batch" if isinstance(server, Azure) else "delete")
        )
    times = [0]

    def loses(method: str, path: str) -> bool:
        times[0] += method == lost[0] and lost[1] in path
        return method == lost[0] and lost[1] in path and times[0] % 2 == 1

    with between(Between(server)) as way:
        run = opened(target.options | {"endpoint": way.url}).start()
        run.write(10)
        way.loses = loses
        if lost[0] == "GET":
            run = opened(target.options | {"endpoint": way.url}, epoch=2)
            _insist(run.start)
        batch, commit = run.batch(20), run.commit_of(20)
        receipt = _insist(lambda: run.stage(batch))
        _insist(lambda: run.task.commit([receipt], commit))
        assert times[0]
    assert (target.rows(), target.staged()) == (expected(20), [])


def _insist(call: Callable[[], Any]) -> Any:
    for _ in range(3):
        try:
            return call()
        except PermanentError:
            raise
        except ConnectorError:
            continue
    return call()


def test_a_batch_of_which_nobody_knows_whether_it_counts_is_not_given_up(reached: tuple[Server, str, Target]) -> None:
    """The manifest was replaced, no answer came, and the task ends."""
    server, _, target = reached
    with between(Between(server)) as way:
        run = opened(target.options | {"endpoint": way.url}).start()
        receipt = run.stage(run.batch(20))
        way.loses = lambda _, path: "manifest.json" in path
        with pytest.raises(ConnectorError):
            run.task.commit([receipt], run.commit_of(20))
        run.task.abort([receipt])
    assert opened(target.options, epoch=2).start().positions == {QUEUE: QueuePosition(20)}
    assert (target.rows(), target.staged()) == (expected(20), [])


@EACH
def test_of_two_owners_that_claim_at_once_one_stops(reached: tuple[Server, str, Target], monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its reading and its writing of the manifest another one has claimed it."""
    _, _, target = reached
    older, newer = opened(target.options), opened(target.options, epoch=2)
    real = obstore.put

    def put(store: Any, path: str, *args: Any, **kwargs: Any) -> object:
        if path.endswith("manifest.json"):
            monkeypatch.setattr(obstore, "put", real)
            newer.start()
        return real(store, path, *args, **kwargs)

    monkeypatch.setattr(obstore, "put", put)
    with pytest.raises(PermanentError, match="a newer run"):
        older.start()
    newer.write(10)
    assert target.rows() == expected(10)


def test_a_store_without_conditional_writes_is_refused_before_anything_is_written(reached: tuple[Server, str, Target]) -> None:
    server, _, target = reached
    # A signature of Azure's key is of conditions, too.
    options = target.options
    if isinstance(server, Azure):
        options = {key: value for key, value in options.items() if key != "account.key"} | {"sas.token": "${env:AZURE_SAS}"}
    with between(Between(server, unconditional=True)) as way, pytest.raises(PermanentError, match="ignores conditions"):
        opened(options | {"endpoint": way.url}).start()
    assert target.objects() == {}


@EACH
@pytest.mark.parametrize("size", [10, pytest.param(200_000, marks=pytest.mark.slow)], ids=["small", "in several parts"])
def test_an_object_that_has_its_name_already_stays_what_readers_have_seen(
    reached: tuple[Server, str, Target], monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """Who knows an object by its name and its ETag would read it again, if it were written once more."""
    server, bucket, target = reached
    dying = opened(target.options).start()
    with monkeypatch.context() as patch:
        patch.setattr(obstore, "delete", _dies)
        with pytest.raises(KeyboardInterrupt):
            dying.write(size)
    (name,) = target.data()
    before = server.tag(bucket, name)
    opened(target.options, epoch=2).start()
    assert (server.tag(bucket, name), target.staged(), len(target.rows())) == (before, [], size)
