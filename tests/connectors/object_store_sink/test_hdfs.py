"""What HDFS alone has: a NameNode that leads to DataNodes, renames, files that nobody has closed."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest

from connectors.object_store_sink import ObjectStoreSink
from connectors.objects import webhdfs
from connectors.objects.location import HDFS, Location
from connectors.objects.logins import HdfsLogin
from connectors.objects.options import login_of
from connectors.objects.webhdfs import WebHdfs
from rocketconnect_sdk.conformance.runs import QUEUE
from rocketconnect_sdk.errors import ConnectorError, PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.http import Answer, HttpClient
from rocketconnect_sdk.options import Config, parse, read
from rocketconnect_sdk.permissions.connections import HostRefused
from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS
from rocketconnect_sdk.sink import QueuePosition
from tests.connectors.object_store_sink.between import Between, between
from tests.connectors.object_store_sink.prefix import lines_of, row
from tests.connectors.object_store_sink.run import opened, records
from tests.connectors.stores import made_bucket
from tests.free_ports import choose
from tests.servers.hdfs import USER, Hdfs

# Hadoop takes half a minute of processor to start. Its files go the way of folders and of other servers, which are tried each time.
pytestmark = pytest.mark.slow

Do = Callable[[], Answer]
"""Sends a request of the connector."""
STAGED = "data/_rocketconnect/staged"


@pytest.fixture
def bucket(hdfs_server: Hdfs) -> str:
    """A folder that everybody may write."""
    return made_bucket(hdfs_server)


@pytest.fixture
def options(hdfs_server: Hdfs, bucket: str) -> dict[str, str]:
    """Of the sink."""
    return hdfs_server.options() | {"url": f"hdfs:///{bucket}/data", "format": "jsonlines"}


def rows(server: Hdfs, bucket: str) -> list[object]:
    return lines_of(lambda: server.objects(bucket))


def staged(server: Hdfs, bucket: str) -> list[str]:
    return [name for name in server.objects(bucket) if name.startswith(STAGED)]


def expected(until: int) -> list[object]:
    return [row(0, offset) for offset in range(until)]


def to_data_node(server: Hdfs, url: str) -> bool:
    return urlsplit(url).netloc not in ("", urlsplit(server.url).netloc)


def look(options: dict[str, str]) -> list[Problem]:
    return list(ObjectStoreSink().check(parse(ObjectStoreSink.options, options)))


@contextmanager
def sending(way: Callable[[Do, str, str], Answer]) -> Iterator[None]:
    """Requests of the connector go this way: it is given what sends one, its method, and its URL as it can be read.

    A URL of a NameNode has no host.
    """
    real = webhdfs.send

    def instead(client: HttpClient, method: str, url: str, data: bytes | memoryview) -> Answer:
        return way(lambda: real(client, method, url, data), method, unquote(url))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(webhdfs, "send", instead)
        yield


@pytest.mark.parametrize(
    ("operation", "below", "data_node"),
    [
        ("RENAME", "/newest/", False),
        ("RENAME", "/begun-", False),
        ("RENAME", "/staged/", False),
        ("CREATE", "/staged/", True),
        ("CREATE", "/manifests/", True),
        ("CREATE", "/begun-", True),
        ("DELETE", "/manifests/", False),
        ("MKDIRS", "", False),
        ("OPEN", "/manifests/", True),
        ("LISTSTATUS_BATCH", "/newest", False),
    ],
)
def test_an_answer_that_is_lost_doubles_nothing(
    hdfs_server: Hdfs, bucket: str, options: dict[str, str], operation: str, below: str, *, data_node: bool
) -> None:
    """Each third one, after what was asked for was done."""
    seen = [0]

    def loses(do: Do, _: str, url: str) -> Answer:
        answer = do()
        is_one = f"op={operation}&" in url and below in url and to_data_node(hdfs_server, url) == data_node
        seen[0] += is_one
        if is_one and seen[0] % 3 == 1:
            msg = "lost"
            raise SystemAway(msg)
        return answer

    with sending(loses):
        for epoch, begin in ((1, 0), (2, 20)):
            run = opened(options, epoch=epoch)
            _insist(run.start)
            for until in (begin + 10, begin + 20):
                batch, commit = run.batch(until), run.commit_of(until)
                receipt = _insist(partial(run.stage, batch))
                _insist(partial(run.task.commit, [receipt], commit))
                run.positions |= commit.after
    assert seen[0]
    assert rows(hdfs_server, bucket) == expected(40)
    opened(options, epoch=3).start()
    assert staged(hdfs_server, bucket) == []


def _insist(call: Callable[[], Any]) -> Any:
    for _ in range(5):
        try:
            return call()
        except PermanentError:
            raise
        except ConnectorError:
            continue
    return call()


def test_an_owner_that_was_held_before_it_replaces_the_manifest_counts_nothing(
    hdfs_server: Hdfs, bucket: str, options: dict[str, str]
) -> None:
    """However many manifests others have written meanwhile, and have removed."""
    late = opened(options).start()
    late.write(5)
    receipt, commit = late.stage(late.batch(10)), late.commit_of(10)
    held: list[str] = []

    def holds(do: Do, _: str, url: str) -> Answer:
        if "op=RENAME" in url and "/newest/" in url and not held:
            held.append(url)
            newer = opened(options, epoch=2).start()
            for until in range(6, 16):
                newer.write(until)
        return do()

    with sending(holds), pytest.raises(PermanentError, match="a newer run of this connector writes there"):
        late.task.commit([receipt], commit)
    assert held
    assert rows(hdfs_server, bucket) == expected(15)


def test_of_two_first_owners_that_claim_at_once_one_stops(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    """Between its reading of no manifest and its writing of the first one another one has written it."""
    older, newer = opened(options), opened(options, epoch=2)
    held: list[str] = []

    def holds(do: Do, _: str, url: str) -> Answer:
        if "op=RENAME" in url and "/begun-" in url and not held:
            held.append(url)
            newer.start()
        return do()

    with sending(holds), pytest.raises(PermanentError, match="a newer run"):
        older.start()
    newer.write(10)
    assert rows(hdfs_server, bucket) == expected(10)
    opened(options, epoch=3).start()
    left = {name.split("/")[2] for name in hdfs_server.objects(bucket) if "/_rocketconnect/" in name}
    assert left == {"manifests", "newest"}
    assert len([name for name in hdfs_server.objects(bucket) if "/newest/" in name]) == 1


def test_a_batch_of_which_nobody_knows_whether_it_counts_is_not_given_up(
    hdfs_server: Hdfs, bucket: str, options: dict[str, str]
) -> None:
    """The manifest was replaced, no answer came, and the task ends."""
    run = opened(options).start()
    receipt = run.stage(run.batch(20))

    def loses(do: Do, _: str, url: str) -> Answer:
        answer = do()
        if "/newest" in url:
            msg = "lost"
            raise SystemAway(msg)
        return answer

    with sending(loses):
        with pytest.raises(SystemAway):
            run.task.commit([receipt], run.commit_of(20))
        run.task.abort([receipt])
    assert opened(options, epoch=2).start().positions == {QUEUE: QueuePosition(20)}
    assert (rows(hdfs_server, bucket), staged(hdfs_server, bucket)) == (expected(20), [])


def test_a_file_that_its_writer_did_not_close_counts_for_nothing_and_is_removed(
    hdfs_server: Hdfs, bucket: str, options: dict[str, str]
) -> None:
    """The writer dies in the middle of it: a half is written, and the file stays open."""
    opened(options).start().write(10)
    dying = opened(options, epoch=2).start()
    held = []

    def dies(do: Do, method: str, url: str) -> Answer:
        parts = urlsplit(url)
        if method != "PUT" or not to_data_node(hdfs_server, url):
            return do()
        writer = socket.create_connection((parts.hostname or "", parts.port or 0), 30)
        head = f"PUT {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: 100000\r\n"
        writer.sendall(f"{head}Content-Type: application/octet-stream\r\n\r\n".encode() + b"x" * 50_000)
        held.append(writer)
        while not staged(hdfs_server, bucket):
            pass
        raise KeyboardInterrupt

    with sending(dies), pytest.raises(KeyboardInterrupt):
        dying.stage(dying.batch(20))
    assert (len(staged(hdfs_server, bucket)), rows(hdfs_server, bucket)) == (1, expected(10))
    newer = opened(options, epoch=3).start()
    newer.write(20)
    assert (rows(hdfs_server, bucket), staged(hdfs_server, bucket)) == (expected(20), [])
    for writer in held:
        writer.close()


def test_a_file_that_has_its_name_already_stays_what_readers_have_seen(
    hdfs_server: Hdfs, bucket: str, options: dict[str, str]
) -> None:
    """And one that is staged once more, by a request that came late, is no other one."""
    run = opened(options).start()
    run.write(10)
    (name,) = [each for each in hdfs_server.objects(bucket) if "_rocketconnect" not in each]
    before = hdfs_server.tag(bucket, name)
    run.task._store.stage("late", memoryview(b"another\n"))
    assert run.task._store.publish("late", name.removeprefix("data/"))
    assert (hdfs_server.tag(bucket, name), staged(hdfs_server, bucket)) == (before, [])


def test_names_are_what_they_are_whatever_is_in_them(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    values = [{"text": "a b+c"}, {"text": "50%?#&=x"}, {"text": "ü/;"}, {"text": "a:b"}]
    given = {"format": "csv", "columns": "text:string", "partition.path": "{field:text}", "csv.header": "false"}
    run = opened(options | given).start()
    run.write(4, batch=records(values))
    folders = {name.split("/")[1] for name in hdfs_server.objects(bucket) if "_rocketconnect" not in name}
    assert len(folders) == 4
    assert ("a%3Ab" in folders, any(":" in each for each in folders)) == (True, False)


def test_a_cluster_that_is_killed_and_comes_back_has_every_batch_once() -> None:
    with Hdfs().running() as server:
        bucket = made_bucket(server)
        run = opened(server.options() | {"url": f"hdfs:///{bucket}/data", "format": "jsonlines"}).start()
        run.write(10)
        receipt, commit = run.stage(run.batch(20)), run.commit_of(20)
        server.kill()
        with pytest.raises(SystemAway, match="refused"):
            run.task.commit([receipt], commit)
        server.start()
        run.task.commit([receipt], commit)
        assert (rows(server, bucket), staged(server, bucket)) == (expected(20), [])
        server.safe_mode("enter")
        (only,) = look(server.options() | {"url": f"hdfs:///{bucket}/data"})
        assert (only.key, only.is_warning) == ("endpoint", True)
        assert "safe mode" in only.reason
        with pytest.raises(SystemAway, match="safe mode"):
            opened(server.options() | {"url": f"hdfs:///{bucket}/data"}, epoch=2).start()
        server.safe_mode("leave")
        assert opened(server.options() | {"url": f"hdfs:///{bucket}/data"}, epoch=2).start().positions == {QUEUE: QueuePosition(20)}


def test_what_works_has_no_problem_and_nothing_is_written(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    assert look(options) == []
    assert look(options | {"url": f"hdfs://namenode:8020/{bucket}"}) == []
    assert hdfs_server.ask("GET", bucket, "LISTSTATUS").json() == {"FileStatuses": {"FileStatus": []}}


def test_a_folder_that_the_user_may_not_write_is_told(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    hdfs_server.ask("PUT", bucket, "SETPERMISSION", permission="755")
    (only,) = look(options)
    assert (only.key, only.value, only.is_warning) == ("user.name", USER, False)
    assert "does not allow it (AccessControlException: Permission denied: user=tester" in only.reason
    with pytest.raises(PermanentError, match=r"does not allow it .*Let the user read and write the folder"):
        opened(options).start()


def test_a_file_in_the_place_of_the_folder_is_told(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    hdfs_server.put(bucket, "data", b"")
    (only,) = look(options)
    assert (only.key, only.reason) == ("url", "is a file, or is in one")


def test_a_server_that_is_away_is_a_warning_and_waited_for(options: dict[str, str]) -> None:
    for endpoint in (f"http://127.0.0.1:{choose()}", "http://nowhere.invalid:9870"):
        (only,) = look(options | {"endpoint": endpoint})
        assert (only.key, only.is_warning) == ("endpoint", True)
        assert f"does not answer ({endpoint} does not answer: [Errno" in only.reason
        with pytest.raises(SystemAway, match="does not answer"):
            opened(options | {"endpoint": endpoint}).start()


def test_the_address_of_fs_defaultfs_is_told(hdfs_server: Hdfs, options: dict[str, str]) -> None:
    (only,) = look(options | {"endpoint": f"http://127.0.0.1:{hdfs_server.rpc_port}"})
    assert (only.key, only.is_warning) == ("endpoint", False)
    assert "does not speak WebHDFS (404)" in only.reason
    assert "dfs.namenode.http-address" in only.fix


@pytest.mark.parametrize(
    ("status", "answer", "key", "error"),
    [
        (403, "StandbyException", "endpoint", SystemAway),
        (403, "SafeModeException", "endpoint", SystemAway),
        (403, "InvalidToken", "user.name", PermanentError),
        (403, "NSQuotaExceededException", "endpoint", RetriableError),
        (400, "IllegalArgumentException", "endpoint", PermanentError),
        (500, "RuntimeException", "endpoint", RetriableError),
        (503, "", "endpoint", SystemAway),
        (401, "", "user.name", PermanentError),
        (200, "", "endpoint", PermanentError),
    ],
)
def test_what_a_server_refuses_is_told_by_its_option(
    options: dict[str, str], status: int, answer: str, key: str, error: type[ConnectorError]
) -> None:
    told = {
        "exception": answer,
        "javaClassName": answer,
        "message": "token things" if answer == "InvalidToken" else "it is so\n\tat x",
    }
    body = json.dumps({"RemoteException": told}) if answer else "<html>"
    with between(Between(answer=(status, body))) as way:
        (only,) = look(options | {"endpoint": way.url})
        with pytest.raises(error) as raised:
            opened(options | {"endpoint": way.url}).start()
    assert type(raised.value) is error
    assert (only.key, only.is_warning) == (key, error is not PermanentError and answer != "RuntimeException")
    assert ("it is so" in only.reason) == (bool(answer) and answer != "InvalidToken")
    assert not any(each in f"{only} {raised.value}" for each in ("token things", "at x", "<html>"))


def test_a_server_that_knows_no_renaming_that_overwrites_nothing_is_refused(options: dict[str, str]) -> None:
    """As proxies of HDFS may be."""

    def older(do: Do, _: str, url: str) -> Answer:
        return Answer(200, b'{"boolean":false}') if "op=RENAME" in url else do()

    with sending(older), pytest.raises(PermanentError, match="it knows no renaming that overwrites nothing"):
        opened(options).start()


def test_the_name_node_that_is_active_is_found(hdfs_server: Hdfs, bucket: str, options: dict[str, str]) -> None:
    standby = json.dumps({"RemoteException": {"exception": "StandbyException", "message": "READ is not supported"}})
    with between(Between(answer=(403, standby))) as way:
        endpoint = f"http://127.0.0.1:{choose()},{way.url}, {hdfs_server.url}/"
        assert look(options | {"endpoint": endpoint}) == []
        run = opened(options | {"endpoint": endpoint}).start()
        asked = len(way.requests)
        run.write(10)
        assert len(way.requests) - asked <= 1, "only a writer of its own asks once more"
    assert rows(hdfs_server, bucket) == expected(10)


def test_a_delegation_token_goes_in_the_place_of_a_user_and_is_told_to_nobody(options: dict[str, str]) -> None:
    given = {key: value for key, value in options.items() if key != "user.name"} | {"delegation.token": "${env:TOKEN}"}
    config = parse(ObjectStoreSink.options, given).replaced(lambda text: "sesame" if text == "${env:TOKEN}" else text)
    with between(Between(answer=(401, ""))) as way:
        config = Config({**config, "endpoint": way.url}, config.raw)
        (only,) = ObjectStoreSink().check(config)
        ((_, path, _),) = way.requests
    assert ("delegation=sesame" in path, "user.name" in path) == (True, False)
    assert (only.key, "sesame" in f"{only} {login_of(config)}") == ("delegation.token", False)


def test_who_somebody_is_has_to_be_said_and_once(options: dict[str, str]) -> None:
    def told(**given: str) -> list[tuple[str, str]]:
        changed = {key.replace("_", "."): value for key, value in given.items()}
        found = {key: value for key, value in (options | changed).items() if value}
        return [(each.key, each.reason) for each in look(found)]

    assert told(user_name="") == [("user.name", "is not given, and the store asks who it is")]
    assert told(delegation_token="${env:TOKEN}") == [("user.name", "is given besides delegation.token")]
    assert told(endpoint="") == [("endpoint", "is not given, and url names no host")]
    assert told(endpoint="http://a:1/path") == [("endpoint", "has a path")]
    assert told(region="eu") == [("region", "means nothing with hdfs://")]
    assert [each.key for each in read(ObjectStoreSink.options, options | {"user.name": "a/b"})[1]] == ["user.name"]
    several = {"url": "s3://bucket", "endpoint": "http://a:1,http://b:1", "access.key.id": "a", "secret.access.key": "${env:A}"}
    assert [each.reason for each in look(several)] == ["names several servers"]


def test_a_host_that_connectors_may_not_speak_to_is_told(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONNECTOR_HOSTS, "a.example")
    found = read(ObjectStoreSink.options, options | {"endpoint": "http://a.example:9870,http://b.example:9870"})[1]
    assert [(each.key, "b.example:9870 is no host" in each.reason) for each in found] == [("endpoint", True)]
    (only,) = look({"url": "hdfs://c.example/a", "user.name": "a"})
    assert (only.key, "c.example:9870 is no host" in only.reason) == ("endpoint", True)


def test_a_data_node_that_connectors_may_not_speak_to_is_told(
    hdfs_server: Hdfs, options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def judge(url: str) -> None:
        if to_data_node(hdfs_server, url):
            msg = "a DataNode is no host for connectors"
            raise HostRefused(msg)

    monkeypatch.setattr(webhdfs, "check_url", judge)
    (only,) = look(options)
    assert (only.key, only.is_warning) == ("endpoint", False)
    assert "leads to a host that is not allowed: a DataNode is no host for connectors" in only.reason
    with pytest.raises(HostRefused):
        opened(options).start()


def test_a_data_node_that_does_not_answer_is_a_warning(hdfs_server: Hdfs, options: dict[str, str]) -> None:
    def elsewhere(do: Do, _: str, url: str) -> Answer:
        answer = do()
        led = {"location": f"http://127.0.0.1:{choose()}/webhdfs/v1/x"}
        return replace(answer, headers=led) if answer.target and not to_data_node(hdfs_server, url) else answer

    with sending(elsewhere):
        (only,) = look(options)
    assert (only.key, only.is_warning) == ("endpoint", True)
    assert "leads to the DataNode 127.0.0.1:" in only.reason


def test_a_folder_of_many_files_is_listed_whole(hdfs_server: Hdfs, bucket: str) -> None:
    """The NameNode gives some at a time."""
    names = [f"file{number:03d} ü&=" for number in range(25)]

    def put(begin: int) -> None:
        for name in names[begin::5]:
            hdfs_server.put(bucket, name, b"")

    threads = [threading.Thread(target=put, args=(begin,)) for begin in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    files = WebHdfs(Location(HDFS, "", bucket), HdfsLogin(hdfs_server.url, USER))
    assert [each.name for each in files.listed("")] == names
