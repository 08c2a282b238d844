"""What is told of a configuration before it runs."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from connectors.object_store_sink import ObjectStoreSink
from connectors.objects.faults import Fault, fault_of, understood
from connectors.objects.location import parse_url
from connectors.objects.options import login_of
from rocketconnect_sdk.configuration.connector_options import check_connector
from rocketconnect_sdk.errors import ConfigError, PermanentError, Problem, RetriableError, SystemAway
from rocketconnect_sdk.options import Config, parse, read
from rocketconnect_sdk.permissions.roots import WRITE_ROOTS
from tests.connectors.object_store_sink.between import Between, between
from tests.connectors.object_store_sink.run import opened
from tests.free_ports import choose
from tests.servers.objects import s3
from tests.servers.objects.s3 import S3, SECRET


def look(options: Mapping[str, str]) -> list[Problem]:
    """All that check() finds, with the secret as a task has it."""
    config = parse(ObjectStoreSink.options, options)
    secret = SECRET if config["secret.access.key"] else None
    return list(ObjectStoreSink().check(Config({**config, "secret.access.key": secret}, config.raw)))


def told(options: Mapping[str, str]) -> list[tuple[str, bool]]:
    return [(each.key, each.is_warning) for each in look(options)]


@pytest.fixture(scope="module")
def strict() -> Iterator[S3]:
    """A server that knows nobody."""
    with s3.running({"INITIAL_NO_AUTH_ACTION_COUNT": "0"}) as found:
        yield found


def test_what_works_has_no_problem_and_nothing_is_written(server: S3, bucket: str) -> None:
    assert look(server.options() | {"url": f"s3://{bucket}/data"}) == []
    assert look(server.options() | {"url": f"s3://{bucket}"}) == []
    assert server.keys(bucket) == []


def test_a_bucket_that_is_not_there_is_told(server: S3) -> None:
    (only,) = look(server.options() | {"url": "s3://nowhere/data"})
    assert (only.key, only.value) == ("url", "s3://nowhere/data")
    assert only.reason == f"the store at {server.url} has no such bucket (404 NoSuchBucket)"
    assert only.fix == "Make the bucket, or name another one in url."
    with pytest.raises(PermanentError, match="has no such bucket"):
        opened(server.options() | {"url": "s3://nowhere/data"}).start()


def test_keys_that_the_store_does_not_know_are_told_without_the_secret(strict: S3) -> None:
    (only,) = look(strict.options() | {"url": "s3://orders/data"})
    assert (only.key, only.value) == ("access.key.id", "tester")
    assert "does not know these keys (403 InvalidAccessKeyId)" in only.reason
    with pytest.raises(PermanentError, match="does not know these keys") as error:
        opened(strict.options() | {"url": "s3://orders/data"}).start()
    assert SECRET not in str(only) + str(error.value)


def test_a_server_that_is_away_is_a_warning_and_waited_for() -> None:
    options = {"endpoint": f"http://127.0.0.1:{choose()}", "url": "s3://orders", "access.key.id": "a"}
    options |= {"secret.access.key": "${env:S3_SECRET}"}
    (only,) = look(options)
    assert (only.key, only.is_warning) == ("endpoint", True)
    assert "does not answer (no connection)" in only.reason
    with pytest.raises(SystemAway, match="does not answer"):
        opened(options).start()


@pytest.mark.parametrize(
    ("status", "code", "key"),
    [
        (403, "AccessDenied", "access.key.id"),
        (403, "SignatureDoesNotMatch", "access.key.id"),
        (301, "PermanentRedirect", "region"),
        (400, "AuthorizationHeaderMalformed", "region"),
        (501, "NotImplemented", "endpoint"),
        (400, "NobodyKnows", "endpoint"),
    ],
)
def test_what_a_store_refuses_is_told_by_its_option(status: int, code: str, key: str) -> None:
    body = f"<Error><Code>{code}</Code><Message>secret things</Message></Error>"
    with between(Between(answer=(status, body))) as way:
        (only,) = look(S3(way.url).options() | {"url": "s3://orders/data"})
    assert (only.key, only.is_warning) == (key, False)
    assert (f"({status} {code})" if status != 301 else "(a redirect)") in only.reason
    assert "secret things" not in str(only)


def test_a_store_that_ignores_conditions_is_told_and_nothing_is_left_there(server: S3, bucket: str) -> None:
    with between(Between(server, unconditional=True)) as way:
        (only,) = look(S3(way.url).options() | {"url": f"s3://{bucket}/data"})
    assert (only.key, only.is_warning) == ("endpoint", False)
    assert "ignores conditions of writes (If-Match)" in only.reason
    assert server.keys(bucket) == []


def test_all_that_is_wrong_is_told_at_once(server: S3) -> None:
    options = {"url": "s3://nowhere", "format": "jsonlines", "compression": "lz4", "columns": "id:int64", "csv.header": "false"}
    found = told(server.options() | options | {"partition.time.field": "at"})
    assert [key for key, _ in found] == ["compression", "partition.time.field", "csv.header", "columns", "url"]


def test_columns_of_partitions_are_among_the_columns() -> None:
    options = {
        "url": "file:///tmp",
        "columns": "id:int64",
        "partition.path": "{field:country}/{yyyy}",
        "partition.time.field": "at",
    }
    assert told(options) == [("partition.path", False), ("partition.time.field", False)]


def test_the_keys_have_to_be_given_whatever_the_executor_s_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "whose the executor is")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "and its secret")
    assert told({"url": "s3://orders"}) == [("access.key.id", False), ("secret.access.key", False)]


def test_nothing_of_the_executor_s_environment_reaches_a_store(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = {"AWS_ACCESS_KEY_ID": "executor", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "executor-token"}
    mine |= {"AWS_ENDPOINT_URL": "http://127.0.0.1:1", "AWS_REGION": "mars", "AWS_SKIP_SIGNATURE": "true"}
    for name, value in mine.items():
        monkeypatch.setenv(name, value)
    with between(Between(answer=(404, "<Error><Code>NoSuchBucket</Code></Error>"))) as way:
        look(S3(way.url).options() | {"url": "s3://orders/data"})
        ((_, _, headers),) = way.requests
    assert headers["authorization"].startswith("AWS4-HMAC-SHA256 Credential=tester/")
    assert "/eu-north-1/s3/" in headers["authorization"]
    assert "executor-token" not in str(headers)


@pytest.mark.parametrize(
    ("options", "host"),
    [
        ({}, "orders.localhost"),
        ({"virtual.host": "false"}, "localhost"),
    ],
)
def test_the_bucket_is_a_part_of_the_host_where_that_is_wanted(options: dict[str, str], host: str) -> None:
    config = {"url": "s3://orders/data", "virtual.host": "true", **options}
    with between(Between(answer=(404, "<Error><Code>NoSuchBucket</Code></Error>"))) as way:
        url = way.url.replace("127.0.0.1", "localhost")
        look(S3(url).options() | config)
    if way.requests:  # not every resolver knows names below localhost
        assert way.requests[0][2]["host"].startswith(f"{host}:")


@pytest.mark.parametrize("region", ["us-west-2", "cn-north-1"])
@pytest.mark.parametrize(("bucket", "virtual"), [("orders", True), ("a.b", False)])
def test_without_an_endpoint_it_is_amazon_s_of_the_region(region: str, bucket: str, *, virtual: bool) -> None:
    login = login_of(parse(ObjectStoreSink.options, {"url": f"s3://{bucket}", "region": region}))
    domain = f"s3.{region}.amazonaws.com{'.cn' if region.startswith('cn') else ''}"
    assert login.url(bucket) == f"https://{bucket}.{domain}" if virtual else f"https://{domain}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "orders",
        "s3://",
        "s3://A",
        "s3://ab/a//b",
        "s3://key:secret@bucket/a",
        "s3://bucket/a?b=c",
        "file://host/a",
        "file:///",
        "gs://A",
        "az://a--b",
        "az://a.b",
        "http://bucket/a",
    ],
)
def test_what_is_no_place_is_told(url: str) -> None:
    with pytest.raises(ConfigError, match="url"):
        parse(ObjectStoreSink.options, {"url": url})


def test_a_folder_has_to_be_where_connectors_may_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look({"url": f"file://{tmp_path}/new"}) == []
    assert told({"url": f"file://{tmp_path}/no/where"}) == [("url", False)]
    (tmp_path / "file").touch()
    assert told({"url": f"file://{tmp_path}/file", "region": "eu"}) == [("url", False), ("region", False)]
    monkeypatch.setenv(WRITE_ROOTS, str(tmp_path / "allowed"))
    (only,) = look({"url": f"file://{tmp_path}/new"})
    assert "is not where this executor lets connectors write files" in only.reason
    with pytest.raises(PermanentError, match="is not where this executor"):
        opened({"url": f"file://{tmp_path}/new"}).start()


def test_one_connector_has_a_place_however_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "real")

    def names(**options: str) -> list[str]:
        return [target.name for target in ObjectStoreSink().targets(parse(ObjectStoreSink.options, options))]

    assert names(url="s3://b0b/data/") == names(url="s3://b0b/data") != names(url="s3://b0b/data", endpoint="http://other")
    assert names(url=f"file://{tmp_path}/link/") == names(url=f"file://{tmp_path}/real")


def test_rows_are_wanted_for_tables_alone() -> None:
    def asked(**options: str) -> tuple[bool, int]:
        config = parse(ObjectStoreSink.options, {"url": "file:///tmp", **options})
        return ObjectStoreSink().takes_rows(config), len(list(ObjectStoreSink().without_rows(config)))

    assert [asked(format=form) for form in ("parquet", "orc", "csv", "jsonlines")] == [(True, 1)] * 3 + [(False, 0)]
    assert asked(columns="id:int64") == (True, 0)


@pytest.mark.parametrize(
    ("text", "fault", "error"),
    [
        ("status code: 503 <Code>SlowDown</Code>", Fault.BUSY, SystemAway),
        ("status code: 429 Too Many", Fault.BUSY, SystemAway),
        ("HTTP error: error sending request", Fault.AWAY, SystemAway),
        ("HTTP error: operation timed out", Fault.AWAY, SystemAway),
        ("status code: 401", Fault.DENIED, PermanentError),
        ("status code: 400 <Code>ExpiredToken</Code>", Fault.KEYS, PermanentError),
        ("status code: 400 <Code>EntityTooLarge</Code>", Fault.OTHER, RetriableError),
    ],
)
def test_errors_of_stores_say_what_a_task_does(text: str, fault: Fault, error: type[Exception]) -> None:
    place = parse_url("s3://b0b")
    assert fault_of(OSError(text), place)[0] is fault
    assert type(understood(OSError(text), place)) is error


def test_a_batch_that_other_limits_end_first_is_told() -> None:
    options = {"connector.class": "object_store_sink", "topics": "orders", "url": "file:///tmp", "columns": "id:int64"}
    sizes = {"flush.bytes": "128MiB", "flush.rows": "1000000", "batch.bytes": "256MiB", "batch.records": "1000000"}
    found = check_connector(options | sizes).problems
    assert [(each.key, each.is_warning, each.fix) for each in found if each.key.startswith("flush")] == [
        ("flush.bytes", True, "Set buffer.bytes to 128MiB, or leave flush.bytes out.")
    ]


@pytest.mark.parametrize(
    "url", ["hdfs://", "hdfs:///", "hdfs://host", "hdfs://user@host/a", "hdfs:///a:b", "hdfs:///a/../b", "hdfs://h h/a"]
)
def test_what_is_no_folder_of_hdfs_is_told(url: str) -> None:
    assert [each.key for each in read(ObjectStoreSink.options, {"url": url})[1]] == ["url"]


def test_a_folder_of_hdfs_is_the_same_however_its_url_is_written() -> None:
    def name(url: str, endpoint: str = "") -> str:
        (target,) = ObjectStoreSink().targets(parse(ObjectStoreSink.options, {"url": url, "endpoint": endpoint}))
        return target.name

    assert name("hdfs://nn:8020/a/") == name("hdfs://nn/a") == name("hdfs:///a", "http://nn:9870/")
    assert name("hdfs://nn/a") != name("hdfs://other/a")
