"""Objects of Google and of Azure, and files of HDFS."""

import pytest

from connectors.object_store_source import ObjectStoreSource
from rocketconnect_sdk.conformance import SourceCase, SourceSuite
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.polled import batches_of
from rocketconnect_sdk.record import Position
from tests.connectors.object_store_sink.prefix import row
from tests.connectors.object_store_sink.run import opened as sinking
from tests.connectors.object_store_source.objects import KnownSource, opened, packed, read, rows
from tests.connectors.stores import Server, known, made_bucket
from tests.servers.hdfs import Hdfs
from tests.suites import slow_but


@pytest.fixture(params=["azure_server", "google_server", pytest.param("hdfs_server", marks=pytest.mark.slow)])
def server(request: pytest.FixtureRequest) -> Server:
    found: Server = request.getfixturevalue(request.param)
    return found


@slow_but("test_it_reads_everything")
class TestParquet(SourceSuite):
    @pytest.fixture
    def case(self, server: Server) -> SourceCase:
        bucket = made_bucket(server)
        for number in range(8):
            server.put(bucket, f"data/dt={number}/part ü.parquet", packed(rows(number * 10, number * 10 + 10)))
        config = server.options() | {"url": f"{server.place(bucket)}/data", "follow": "false"}
        return SourceCase(KnownSource(), config, rows(0, 80))


def options(server: Server, bucket: str, **more: str) -> dict[str, str]:
    return server.options() | {"url": f"{server.place(bucket)}/data", "follow": "false", **more}


def test_an_object_that_is_replaced_while_it_is_read_is_told_and_never_mixed(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    bucket = made_bucket(server)
    lines = b"".join(b"%06d %s\n" % (number, b"x" * 1500) for number in range(6000))
    server.put(bucket, "data/a", lines)
    task = opened(options(server, bucket, format="text"), batch=500)
    task.start({})
    (first,) = batches_of(task.poll())
    server.put(bucket, "data/a", lines.replace(b"x", b"y"))
    found = [*first.values, *read(task, {first.partition: Position(first.end or first.offsets[-1])})]
    assert found == lines.decode().splitlines()[: len(found)]
    assert len(found) < 6000
    assert "was deleted or replaced while it was read" in caplog.text


def test_what_takes_the_place_of_an_object_is_another_one(server: Server) -> None:
    bucket, positions = made_bucket(server), dict[str, Position]()
    for begin in (0, 10):
        server.put(bucket, "data/a", packed(rows(begin, begin + 10)))
        task = opened(options(server, bucket))
        task.start(positions)
        assert read(task, positions) == rows(begin, begin + 10)
    assert len(positions) == 2


def test_what_object_store_sink_writes_is_read_once_also_after_a_death(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between a name that was given and the removal of what was staged under it, or what comes in its place."""
    bucket, positions = made_bucket(server), dict[str, Position]()
    sink = sinking(server.options() | {"url": f"{server.place(bucket)}/data"}).start()
    with monkeypatch.context() as patch:
        if isinstance(server, Hdfs):
            patch.setattr(type(sink.task._store), "discard", _dies)
        else:
            patch.setattr("connectors.object_store_sink.bucket.remove", _dies)
        with pytest.raises(KeyboardInterrupt):
            sink.write(20)
    found: list[object] = []
    for epoch in (2, 3):
        task = opened(options(server, bucket))
        task.start(positions)
        read(task, positions, found)
        sinking(server.options() | {"url": f"{server.place(bucket)}/data"}, epoch=epoch).start()
    assert found == [row(0, offset) for offset in range(20)]


def _dies(*_: object) -> None:
    raise KeyboardInterrupt


def test_what_is_wrong_is_told_at_once(server: Server) -> None:
    def told(bucket: str) -> list[str]:
        config = known(parse(ObjectStoreSource.options, options(server, bucket)))
        return [each.key for each in ObjectStoreSource().check(config)]

    bucket = made_bucket(server)
    server.put(bucket, "data/a", packed(rows(0, 1)))
    assert told(bucket) == []
    assert told("nowhere") == ["url"]
