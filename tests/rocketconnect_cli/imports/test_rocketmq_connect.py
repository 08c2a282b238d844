"""`rocketconnect import rocketmq-connect`: from files as a worker stores them, to a gateway."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_cli.imports.rocketmq_connect.positions import brought, instead
from tests.rocketconnect_cli.conftest import Rest, RestFactory, run

REDIS = "org.apache.rocketmq.connect.redis.connector.RedisSourceConnector"
JDBC = "org.apache.rocketmq.connect.jdbc.source.JdbcSourceConnector"
SINK = "org.apache.rocketmq.connect.jdbc.sink.JdbcSinkConnector"
ROWS = {
    "connector.class": JDBC,
    "connect.topicname": "rows",
    "connection.url": "jdbc:mysql://db:3306/shop",
    "connection.user": "reader",
    "connection.password": "hunter2",
    "table.whitelist": "shop.orders",
    "mode": "incrementing",
    "incrementing.column.name": "id",
}
PLACE = ({"table": "shop.orders", "topic": "orders"}, {"incrementing": 42})
POSITION = {"partition": "incrementing orders", "offset": "[42]"}


def encoded(value: object) -> str:
    return base64.b64encode((value if isinstance(value, str) else json.dumps(value)).encode()).decode()


class Store:
    """The storePathRootDir of a worker."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "config").mkdir(parents=True)
        self.connectors: dict[str, str] = {}
        self.positions: dict[str, str] = {}

    def has(
        self, name: str, config: Mapping[str, str], *places: tuple[dict[str, Any], dict[str, Any]], state: str = "STARTED"
    ) -> None:
        self.connectors[encoded(name)] = encoded({"epoch": 7, "properties": config, "targetState": state})
        for partition, offset in places:
            self.positions[encoded({"namespace": name, "partition": partition})] = encoded({"offset": offset})

    def write(self) -> None:
        (self.folder / "config" / "connectorConfig.json").write_text(json.dumps(self.connectors))
        (self.folder / "config" / "position.json").write_text(json.dumps(self.positions))


class Here:
    """A gateway in front of executors with these plugins."""

    def __init__(self, factory: RestFactory) -> None:
        self.rest: Rest = factory(200, {})
        password = {"key": "password", "aliases": ["connection.password"], "secret": True}
        source, sink = "PLUGIN_TYPE_SOURCE", "PLUGIN_TYPE_SINK"
        self.plugins = [
            {"name": "jdbc_source", "type": source, "options": [password, {"key": "rocketmq.access.key"}]},
            {"name": "jdbc_sink", "type": sink, "options": [password]},
            {"name": "redis_replication_source", "type": source},
        ]
        self.stored: list[dict[str, Any]] = []
        self.positions: list[dict[str, str]] = []
        self.problems: list[dict[str, str]] = []

    def run(self, store: Store, *words: str) -> Any:
        store.write()
        connector = {"config": {}, "etag": "e", "revision": "1", "wantedState": "WANTED_STATE_STOPPED"}
        bodies: dict[str, object] = {
            "/v1/plugins": {"plugins": self.plugins, "nextPageToken": ""},
            "/v1/connectors": {"connectors": self.stored, "nextPageToken": "", "connector": connector},
            "/v1/connectors:validate": {"problems": self.problems},
        }
        for name in ("rows", "sink", "keys"):
            bodies[f"/v1/connectors/{name}/positions"] = {"positions": self.positions, "nextPageToken": ""}
            bodies[f"/v1/connectors/{name}/positions:alter"] = {"changes": []}
            bodies[f"/v1/connectors/{name}:resume"] = {"connector": connector}
        self.rest.bodies = {path: json.dumps(body).encode() for path, body in bodies.items()}
        self.rest.body = b'{"secret": {"name": "s"}}'
        return run(self.rest.url, "import", "rocketmq-connect", str(store.folder), *words)

    def orders(self) -> list[tuple[str, Any]]:
        """What changes something, and how."""
        pairs = zip(self.rest.asked, self.rest.sent, strict=True)
        return [
            (asked, json.loads(sent)) for asked, sent in pairs if not asked.startswith("GET") and not asked.endswith(":validate")
        ]


@pytest.fixture
def here(rest_factory: RestFactory) -> Here:
    return Here(rest_factory)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def test_the_plan_says_what_becomes_of_each_connector_and_its_position_and_changes_nothing(here: Here, store: Store) -> None:
    store.has("rows", ROWS, PLACE)
    store.has("sink", {"connector.class": SINK, "connect.topicnames": "rows", "connection.url": "jdbc:mysql://db/x"})
    store.has(
        "keys", {"connector.class": REDIS, "redisAddr": "h", "connect.topicname": "k"}, ({"P": "P"}, {"O": 3}), state="PAUSED"
    )
    result = here.run(store)
    assert result.exit_code == 0, result.output
    said = " ".join(result.output.split())
    assert f"+ rows: {JDBC} becomes jdbc_source" in said
    assert "gets 1 position: incrementing orders at [42]" in said
    assert "connection.password goes into the keystore" in said
    assert "begins at the first message of its topics: where it is, brokers know by the group connect-sink" in said
    assert '{"P":"P"} at {"O": 3} is not brought: it does not say in which history of the server it is' in said
    assert "is paused there, and stays STOPPED here" in said
    assert "Nothing was changed" in said
    assert "hunter2" not in result.output
    assert here.orders() == []


def test_with_yes_connectors_are_made_stopped_get_their_positions_and_those_that_ran_are_started(here: Here, store: Store) -> None:
    store.has("rows", ROWS, PLACE)
    store.has("keys", {"connector.class": REDIS, "redisAddr": "h", "connect.topicname": "k"}, state="PAUSED")
    result = here.run(store, "--yes", "--start")
    assert result.exit_code == 0, result.output
    secret, created, moved, resumed, paused = here.orders()
    assert secret == ("PUT /v1/secrets/rows.connection.password", {"value": "hunter2"})
    config = created[1]["config"]
    assert (created[1]["name"], created[1]["wantedState"]) == ("rows", "WANTED_STATE_STOPPED")
    assert (config["connector.class"], config["connection.password"]) == ("jdbc_source", "${keystore:rows.connection.password}")
    assert (moved[0], moved[1]["positions"]) == ("POST /v1/connectors/rows/positions:alter", [POSITION])
    assert resumed[0] == "POST /v1/connectors/rows:resume"
    assert (paused[1]["name"], paused[1]["wantedState"]) == ("keys", "WANTED_STATE_STOPPED")


def test_what_has_no_counterpart_is_refused_with_everything_else_that_is_wrong(here: Here, store: Store) -> None:
    store.has("rows", {**ROWS, "query.suffix": "LIMIT 3"}, PLACE)
    store.has("other", {"connector.class": "org.apache.rocketmq.connect.hbase.sink.HBaseSinkConnector"})
    store.has("own", {"connector.class": "com.example.OwnConnector"})
    here.problems = [{"key": "connection.url", "reason": "nobody answers", "fix": "Start it."}]
    result = here.run(store, "--yes")
    assert result.exit_code == 2
    for wanted in (
        "rows: query.suffix",
        "other: connector.class",
        "no executor has a plugin for com.example.OwnConnector",
        "nobody answers",
    ):
        assert wanted in " ".join(result.output.split()), result.output
    assert here.orders() == []


def test_the_same_import_again_goes_on_and_what_has_gone_its_own_way_is_left_alone(here: Here, store: Store) -> None:
    store.has("rows", ROWS, PLACE)
    made = json.loads(here.run(store, "-o", "json").stdout)["connectors"][0]["config"]
    here.stored = [{"name": "rows", "config": made, "wantedState": "WANTED_STATE_STOPPED"}]
    here.run(store, "--yes")
    # Its password may have been given anew since.
    assert [asked for asked, _ in here.orders()] == ["POST /v1/connectors/rows/positions:alter"]
    here.positions = [{"partition": "incrementing orders", "offset": "[77]"}]
    said = " ".join(here.run(store).output.split())
    assert ("is here already, as it would be made" in said, "has positions here, and keeps them" in said) == (True, True)
    here.stored[0]["config"] = {**made, "mode": "bulk"}
    result = here.run(store)
    assert (result.exit_code, "another configuration (mode)" in result.output) == (2, True)


def test_connectors_of_a_standalone_worker_come_from_its_answer_and_positions_from_its_file(
    here: Here, store: Store, tmp_path: Path
) -> None:
    store.has("rows", {}, PLACE)
    store.connectors = {}
    result = here.run(store)
    assert (result.exit_code, "/allocated/connectors > connectors.json" in "".join(result.output.split("\n"))) == (2, True)
    listed = tmp_path / "connectors.json"
    listed.write_text(json.dumps({"status": 200, "body": {"rows": {**ROWS, "max.tasks": 2}}}))
    shown = json.loads(here.run(store, "--connectors", str(listed), "-o", "json").stdout)["connectors"]
    assert [(each["name"], each["config"]["max.tasks"], each["positions"]) for each in shown] == [("rows", "2", [POSITION])]


@pytest.mark.parametrize(
    ("plugin", "config", "offsets", "expected"),
    [
        ("jdbc_source", {"mode": "timestamp"}, [{"timestamp": 1767225600123}], {"timestamp.initial": "2026-01-01T00:00:00+00:00"}),
        ("jdbc_source", {"mode": "timestamp", "db.timezone": "Asia/Tokyo"}, [{"timestamp": 1767225600123}], {}),
        ("jdbc_source", {"mode": "incrementing"}, [{"timestamp": 1, "incrementing": 1}], {}),
        (
            "elasticsearch_source",
            {"incrementing.field": "id"},
            [{"bES_POSITION": 9}, {"aES_POSITION": 7}],
            {"query": '{"range": {"id": {"gte": 7}}}'},
        ),
        ("elasticsearch_source", {"incrementing.field": "id"}, [{"aES_POSITION": "x"}], {}),
    ],
)
def test_where_no_position_says_it_an_option_says_where_to_begin(
    plugin: str, config: dict[str, str], offsets: list[dict[str, Any]], expected: dict[str, str]
) -> None:
    assert instead(plugin, config, [({}, offset) for offset in offsets]) == expected


def test_an_option_in_the_place_of_a_position_is_told(here: Here, store: Store) -> None:
    store.has("rows", {**ROWS, "mode": "timestamp", "timestamp.column.name": "at"}, ({"table": "t"}, {"timestamp": 1767225600123}))
    (shown,) = json.loads(here.run(store, "-o", "json").stdout)["connectors"]
    assert (shown["config"]["timestamp.initial"], shown["positions"]) == ("2026-01-01T00:00:00+00:00", [])
    assert "timestamp.initial=2026-01-01T00:00:00+00:00: what is before was read there" in shown["changes"]


def test_a_name_that_looks_like_json_stays_a_name(here: Here, store: Store) -> None:
    store.has("007", ROWS, PLACE)
    (shown,) = json.loads(here.run(store, "-o", "json").stdout)["connectors"]
    assert (shown["name"], shown["positions"]) == ("007", [POSITION])


def test_a_file_that_was_cut_is_read_from_the_one_before_it_and_else_named(here: Here, store: Store) -> None:
    store.has("rows", ROWS, PLACE)
    store.write()
    path = store.folder / "config" / "position.json"
    path.with_name("position.json.bak").write_text(path.read_text())
    before = path.read_text()
    store.positions = {"damaged": "x"}
    shown = json.loads(here.run(store, "-o", "json").stdout)["connectors"]
    assert shown[0]["positions"] == [POSITION]
    path.with_name("position.json.bak").write_text(before[:-5])
    path.write_text(json.dumps({encoded("no object"): encoded({})}))
    result = here.run(store)
    assert (result.exit_code, "is no file of RocketMQ Connect" in " ".join(result.output.split())) == (2, True)
    assert run(here.rest.url, "import", "rocketmq-connect", str(store.folder / "nowhere")).exit_code == 2


@pytest.mark.parametrize(
    ("plugin", "config", "partition", "offset", "expected"),
    [
        (
            "jdbc_source",
            {"mode": "incrementing", "connection.url": "postgresql://h/d"},
            {"table": "t"},
            {"incrementing": 1},
            ("incrementing public.t", "[1]"),
        ),
        (
            "jdbc_source",
            {"mode": "incrementing", "connection.url": "postgresql://h/d"},
            {"table-x": "d.s.t"},
            {"incrementing": 0},
            ("incrementing s.t", "[0]"),
        ),
        (
            "jdbc_source",
            {"mode": "timestamp+incrementing", "connection.url": "mysql://h/d"},
            {"table": "d.t"},
            {"timestamp": 1_700_000_000_123, "timestamp_nanos": 123_456_000, "incrementing": 5},
            ("timestamp+incrementing t", "[1700000000123456, 5]"),
        ),
        ("mongodb_source", {}, {"replicaSetName": "rs"}, {"ts": 1_700_000_000, "increment": 3}, ("changes", "[1700000000, 3, 0]")),
        ("rocketmq_source", {}, {"topic": "t", "brokerName": "b", "queueId": "3"}, {"queueOffset": "120"}, ("t/b/3", "[0, 120]")),
        ("io.debezium.X", {}, {"server": "s"}, {"lsn": 1}, ('{"server":"s"}', "[0,0]")),
    ],
)
def test_places_of_theirs_are_positions_of_ours(
    plugin: str, config: dict[str, str], partition: dict[str, str], offset: dict[str, Any], expected: tuple[str, str]
) -> None:
    ((position,), reasons) = brought(plugin, config, [(partition, offset)])
    assert ((position["partition"], position["offset"]), reasons) == (expected, [])


@pytest.mark.parametrize(
    ("plugin", "config", "offset"),
    [
        ("jdbc_source", {"mode": "bulk"}, {"incrementing": 1}),
        ("jdbc_source", {"mode": "incrementing"}, {"incrementing": -1}),
        ("jdbc_source", {"mode": "incrementing"}, {"incrementing": "many"}),
        ("jdbc_source", {"mode": "timestamp"}, {"timestamp": 1}),
        ("jdbc_source", {"mode": "timestamp+incrementing", "db.timezone": "Asia/Tokyo"}, {"timestamp": 1, "incrementing": 1}),
        ("mongodb_source", {}, {"what": 1}),
        ("rocketmq_source", {}, {"queueOffset": 1}),
        ("postgres_cdc_source", {}, {"lsn": 1}),
        ("sftp_source", {}, {"offset": 1}),
    ],
)
def test_places_without_a_counterpart_say_why(plugin: str, config: dict[str, str], offset: dict[str, Any]) -> None:
    positions, (reason,) = brought(plugin, config, [({"table": "t"}, offset)])
    assert (positions, "is not brought: " in reason) == ([], True)


def test_what_has_no_counterpart_can_be_left_out_or_given_otherwise(here: Here, store: Store) -> None:
    store.has("rows", {**ROWS, "query.suffix": "LIMIT 3"}, PLACE)
    result = here.run(store, "--unset", "query.suffix", "--set", "connection.url=jdbc:mysql://other/shop", "-o", "json")
    assert result.exit_code == 0, result.output
    (shown,) = json.loads(result.stdout)["connectors"]
    assert shown["config"]["connection.url"] == "jdbc:mysql://other/shop"


def test_where_the_user_says_where_to_begin_the_place_there_does_not_count(here: Here, store: Store) -> None:
    store.has("rows", {**ROWS, "mode": "timestamp", "timestamp.column.name": "at"}, ({"table": "t"}, {"timestamp": 1767225600123}))
    (shown,) = json.loads(here.run(store, "-s", "timestamp.initial=2026-03-01", "-o", "json").stdout)["connectors"]
    assert (shown["config"]["timestamp.initial"], shown["notes"]) == ("2026-03-01", ["begins as you say: timestamp.initial"])


@pytest.mark.parametrize("place", [({"table": "t"}, [1]), (7, {"incrementing": 1})])
def test_places_that_are_no_objects_are_told(here: Here, store: Store, place: Any) -> None:
    store.has("rows", ROWS, place)
    result = here.run(store)
    assert (result.exit_code, "an offset that is no object" in " ".join(result.output.split())) == (2, True)


@pytest.mark.parametrize(
    ("offset", "options"), [({"timestamp": 10**30}, {"mode": "timestamp"}), ({"incrementing": 1e999}, {"mode": "incrementing"})]
)
def test_numbers_that_no_place_has_are_told(here: Here, store: Store, offset: dict[str, Any], options: dict[str, str]) -> None:
    store.has("rows", {**ROWS, **options}, ({"table": "t"}, offset))
    result = here.run(store)
    assert (result.exit_code, "is not brought" in " ".join(result.output.split())) == (0, True)
