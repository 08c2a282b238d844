"""`rocketconnect import kafka-connect`: between a worker of Kafka Connect that answers as its documents say, and our gateway."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.rocketconnect_cli.conftest import Rest, RestFactory, run

SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
POSTGRES = "io.debezium.connector.postgresql.PostgresConnector"
STRINGS = "org.apache.kafka.connect.storage.StringConverter"
LINES = {"connector.class": SOURCE, "name": "lines", "file": "/in", "topic": "lines", "tasks.max": "1", "value.converter": STRINGS}
OFFSETS = [{"partition": {"filename": "/in"}, "offset": {"position": 42}}]
BROUGHT = {"partition": '{"filename":"/in"}', "offset": "[0,0]", "resume": '{"offset": {"position": 42}}'}


class Worker:
    """A worker of Kafka Connect with these connectors."""

    def __init__(self, factory: RestFactory) -> None:
        self.rest: Rest = factory(404, {"error_code": 404, "message": "HTTP 404 Not Found"})
        self.found: dict[str, Any] = {}
        self.version("4.1.2")
        plugins = [{"class": name, "type": "source", "version": "4.1.2"} for name in (SOURCE, SINK, POSTGRES)]
        self.answer("/connector-plugins", plugins)
        self.answer("/connectors", self.found)

    def answer(self, path: str, body: object) -> None:
        self.rest.bodies[path], self.rest.statuses[path] = json.dumps(body).encode(), 200

    def version(self, version: str) -> None:
        self.answer("/", {"version": version, "commit": "c", "kafka_cluster_id": "k"})

    def has(self, config: Mapping[str, str], offsets: object = (), kind: str = "source", state: str = "STOPPED") -> None:
        name = config["name"]
        info = {"name": name, "config": dict(config), "tasks": [], "type": kind}
        status = {"name": name, "connector": {"state": state, "worker_id": "w:8083"}, "tasks": [], "type": kind}
        self.found[name] = {"info": info, "status": status}
        self.answer("/connectors", self.found)
        self.answer(f"/connectors/{name}/offsets", {"offsets": offsets})


class Here:
    """A gateway in front of executors that have these plugins, and these connectors."""

    def __init__(self, factory: RestFactory) -> None:
        self.rest: Rest = factory(200, {})
        password = {"key": "api.pw", "secret": True}
        self.plugins = [{"name": SOURCE, "options": [password]}, {"name": SINK}]
        self.stored: list[dict[str, Any]] = []
        self.positions: dict[str, list[dict[str, str]]] = {}
        self.problems: list[dict[str, str]] = []

    def run(self, *words: str) -> Any:
        connector = {"config": {}, "etag": "e", "revision": "1", "wantedState": "WANTED_STATE_STOPPED"}
        bodies: dict[str, object] = {
            "/v1/plugins": {"plugins": self.plugins, "nextPageToken": ""},
            "/v1/connectors": {"connectors": self.stored, "nextPageToken": "", "connector": connector},
            "/v1/connectors:validate": {"problems": self.problems},
        }
        for name in ("lines", "other"):
            bodies[f"/v1/connectors/{name}/positions"] = {"positions": self.positions.get(name, []), "nextPageToken": ""}
            bodies[f"/v1/connectors/{name}/positions:alter"] = {"changes": []}
            bodies[f"/v1/connectors/{name}:resume"] = {"connector": connector}
        self.rest.bodies = {path: json.dumps(body).encode() for path, body in bodies.items()} | self.rest.bodies
        self.rest.body = b'{"secret": {"name": "s"}}'
        return run(self.rest.url, "import", "kafka-connect", *words)

    def orders(self) -> list[tuple[str, Any]]:
        """What changes something, and how."""
        pairs = zip(self.rest.asked, self.rest.sent, strict=True)
        return [
            (asked, json.loads(sent)) for asked, sent in pairs if not asked.startswith("GET") and not asked.endswith(":validate")
        ]


@pytest.fixture
def worker(rest_factory: RestFactory) -> Worker:
    return Worker(rest_factory)


@pytest.fixture
def here(rest_factory: RestFactory) -> Here:
    return Here(rest_factory)


def test_without_yes_the_plan_is_told_and_nothing_is_changed(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS)
    answer = here.run(worker.rest.url)
    assert answer.exit_code == 0, answer.output
    assert f"+ lines: source {SOURCE}" in answer.output
    assert '{"filename":"/in"} at {"position": 42}' in answer.output
    assert "key.converter was the worker's, which is not known" in answer.output
    assert here.orders() == []
    assert [asked for asked in worker.rest.asked if not asked.startswith("GET")] == []


def test_a_source_is_made_stopped_gets_its_position_and_is_started_where_that_is_wanted(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS)
    answer = here.run(worker.rest.url, "--yes", "--start", "-m", "moved")
    assert answer.exit_code == 0, answer.output
    (create, made), (alter, moved), (resume, _) = here.orders()
    config = {key: text for key, text in LINES.items() if key != "name"}
    assert (create, made["config"], made["wantedState"]) == ("POST /v1/connectors", config, "WANTED_STATE_STOPPED")
    assert (made["name"], made["reason"]) == ("lines", "moved")
    assert (alter, moved["positions"]) == ("POST /v1/connectors/lines/positions:alter", [BROUGHT])
    assert resume == "POST /v1/connectors/lines:resume"


def test_secrets_go_into_the_keystore_and_are_never_shown(worker: Worker, here: Here) -> None:
    secrets = {"api.pw": "hush-1", "db.password": "hush-2", "url": "http://me:hush-3@x/", "sasl.jaas.config": "hush-4"}
    worker.has({**LINES, **secrets, "ssl.key.password": "${env:KEY}"}, OFFSETS)
    # Before they are stored nobody can resolve them: that is no problem of the plan.
    here.problems = [{"key": "db.password", "reason": "no such secret", "fix": "store it"}]
    for words in (["-o", "json"], []):
        answer = here.run(worker.rest.url, *words)
        assert answer.exit_code == 0, answer.output
        assert "hush" not in answer.output
    here.problems = []
    here.rest.bodies.clear()
    answer = here.run(worker.rest.url, "--yes")
    assert "hush" not in answer.output
    orders = here.orders()
    stored = {asked.rpartition("/")[2]: sent["value"] for asked, sent in orders if asked.startswith("PUT")}
    assert stored == {f"lines.{key}": value for key, value in secrets.items()}
    config = next(sent["config"] for asked, sent in orders if asked == "POST /v1/connectors")
    assert {key: config[key] for key in secrets} == {key: f"${{keystore:lines.{key}}}" for key in secrets}
    assert config["ssl.key.password"] == "${env:KEY}"


def test_all_that_is_in_the_way_is_told_at_once_with_what_to_do(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS, state="RUNNING")
    worker.has({"name": "cdc", "connector.class": POSTGRES, "topic.prefix": "s"}, OFFSETS)
    worker.has({"name": "mirror", "connector.class": "org.apache.kafka.connect.mirror.MirrorSourceConnector"})
    worker.has({"name": "out", "connector.class": SINK, "topics.regex": "a.*", "api.token": "${dir:/x:y}"}, kind="sink")
    here.problems = [{"key": "file", "reason": "is not readable", "fix": "Allow it."}]
    answer = here.run(worker.rest.url, "lines", "cdc", "mirror", "out", "nobody", "--yes")
    assert answer.exit_code == 2
    for said in (
        "lines: is RUNNING in Kafka Connect",
        f"curl -X PUT {worker.rest.url}/connectors/lines/stop",
        "rocketconnect plugins install io.debezium:debezium-connector-postgres:4.1.2",
        "speaks to Kafka itself",
        "out: topics.regex: is an option of Kafka Connect that is not here",
        "out: api.token: names a provider of Kafka Connect, dir",
        "lines: file: is not readable",
        "nobody: is no connector of that worker",
    ):
        assert said in answer.output, said
    assert here.orders() == []


def test_what_has_no_counterpart_is_left_out_or_renamed_and_told(worker: Worker, here: Here) -> None:
    worker.has(
        {
            **LINES,
            "connector.class": "FileStreamSource",
            "topic": "lines.of.files",
            "producer.override.acks": "all",
            "topic.creation.default.partitions": "3",
            "topic.creation.default.replication.factor": "3",
            "exactly.once.support": "requested",
        }
    )
    document = json.loads(here.run(worker.rest.url, "-o", "json", "--set", "batch.size=7", "--unset", "value.converter").stdout)
    (made,) = document["connectors"]
    expected = {"connector.class": SOURCE, "file": "/in", "topic": "lines_of_files", "tasks.max": "1", "topic.queues": "3"}
    assert made["config"] == {**expected, "batch.size": "7"}
    changes = "\n".join(made["changes"])
    for key in ("producer.override.acks", "topic.creation.default.replication.factor", "exactly.once.support"):
        assert f"{key} is left out" in changes


def test_converters_of_the_worker_hold_with_their_options_where_a_connector_names_none(
    worker: Worker, here: Here, tmp_path: Path
) -> None:
    told = {"key.converter": STRINGS, "value.converter": "x.AvroConverter", "value.converter.basic.auth.user.info": "me:hush"}
    more = {"header.converter": STRINGS, "group.id": "g", "value.converter.url": "http://r"}
    (tmp_path / "worker.properties").write_text("".join(f"{key}={text}\n" for key, text in {**told, **more}.items()))
    worker.has({key: text for key, text in LINES.items() if key != "value.converter"} | {"key.converter": "x.Own"}, OFFSETS)
    answer = here.run(worker.rest.url, "-o", "json", "--worker-config", str(tmp_path / "worker.properties"))
    (made,) = json.loads(answer.stdout)["connectors"]
    assert {key: text for key, text in made["config"].items() if "converter" in key} == {
        "key.converter": "x.Own",
        "value.converter": "x.AvroConverter",
        "value.converter.url": "http://r",
        "value.converter.basic.auth.user.info": "${keystore:lines.value.converter.basic.auth.user.info}",
        "header.converter": STRINGS,
    }
    assert "hush" not in answer.output


def test_a_sink_says_that_its_offsets_are_of_kafka_and_where_it_begins(worker: Worker, here: Here) -> None:
    offsets = [{"partition": {"kafka_topic": "a.b", "kafka_partition": 0}, "offset": {"kafka_offset": 7}}]
    worker.has({"name": "other", "connector.class": SINK, "topics": "a.b, c", "file": "/out"}, offsets, kind="sink")
    answer = here.run(worker.rest.url, "--yes")
    assert answer.exit_code == 0, answer.output
    assert "its offsets (1 partition) count records of Kafka's topics" in answer.output
    assert "begins at the first message of its topics in RocketMQ" in answer.output
    ((order, made),) = here.orders()
    assert (order, made["config"]["topics"]) == ("POST /v1/connectors", "a_b,c")


def test_an_import_that_was_cut_short_goes_on_and_one_that_is_whole_changes_nothing(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS)
    config = {key: text for key, text in LINES.items() if key != "name"}
    here.stored = [{"name": "lines", "config": config, "wantedState": "WANTED_STATE_STOPPED"}]
    assert here.run(worker.rest.url, "--yes").exit_code == 0
    assert [asked for asked, _ in here.orders()] == ["POST /v1/connectors/lines/positions:alter"]
    here.rest.bodies.clear()
    here.positions["lines"] = [{**BROUGHT, "resume": '{"offset":{"position":42}}'}]
    before = len(here.orders())
    assert here.run(worker.rest.url, "--yes").exit_code == 0
    assert len(here.orders()) == before


def test_one_of_the_same_name_that_is_another_is_in_the_way(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS)
    here.stored = [{"name": "lines", "config": {"connector.class": SOURCE}, "wantedState": "WANTED_STATE_STOPPED"}]
    answer = here.run(worker.rest.url, "--yes")
    assert (answer.exit_code, "is here already, with another configuration (file, " in answer.output) == (2, True), answer.output
    assert here.orders() == []


def test_one_that_was_brought_before_and_has_gone_on_is_left_alone_and_the_others_come(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS)
    worker.has({**LINES, "name": "other"}, OFFSETS)
    config = {key: text for key, text in LINES.items() if key != "name"}
    here.stored = [{"name": "lines", "config": config, "wantedState": "WANTED_STATE_RUNNING"}]
    here.positions["lines"] = [{**BROUGHT, "offset": "[3,9]"}]
    answer = here.run(worker.rest.url, "--yes", "--start")
    assert (answer.exit_code, "has gone on here since: it is left alone" in answer.output) == (0, True), answer.output
    orders = ["POST /v1/connectors", "POST /v1/connectors/other/positions:alter", "POST /v1/connectors/other:resume"]
    assert [asked for asked, _ in here.orders()] == orders


def test_what_was_made_before_something_failed_is_told(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS)
    worker.has({**LINES, "name": "other"}, OFFSETS)
    here.rest.bodies["/v1/connectors/other/positions:alter"] = json.dumps(
        {"detail": "the store is away", "reason": "UNAVAILABLE", "problems": []}
    ).encode()
    here.rest.statuses["/v1/connectors/other/positions:alter"] = 503
    answer = here.run(worker.rest.url, "--yes")
    assert answer.exit_code == 5
    for said in ("other: the store is away; it is made, STOPPED, without its positions", "Done before: lines", "goes on from here"):
        assert said in " ".join(answer.output.split()), answer.output


def test_a_worker_that_tells_no_offsets_is_taken_without_positions_only_when_that_is_wanted(worker: Worker, here: Here) -> None:
    worker.version("3.4.0")
    worker.has(LINES)
    del worker.rest.bodies["/connectors/lines/offsets"]
    refused = here.run(worker.rest.url)
    assert (refused.exit_code, "Kafka 3.4.0 does not tell where it is" in refused.output) == (2, True)
    assert here.run(worker.rest.url, "--no-positions", "--yes").exit_code == 0
    assert [asked for asked, _ in here.orders()] == ["POST /v1/connectors"]


@pytest.mark.parametrize(
    ("url", "code", "said"),
    [
        ("host:8083", 2, "is not the URL of a Kafka Connect worker"),
        ("http://me:hush/1@host", 2, "is not the URL of a Kafka Connect worker (it can't be read)"),
        ("http://127.0.0.1:1", 5, "no Kafka Connect worker answers at http://127.0.0.1:1"),
        ("http://me:hush@127.0.0.1:1", 5, "no Kafka Connect worker answers at http://127.0.0.1:1"),
    ],
)
def test_what_is_no_worker_is_told(here: Here, url: str, code: int, said: str) -> None:
    answer = here.run(url)
    assert (answer.exit_code, said in " ".join(answer.output.split()), "hush" in answer.output) == (code, True, False), (
        answer.output
    )


def test_another_server_there_is_told(rest_factory: RestFactory, here: Here) -> None:
    answer = here.run(rest_factory(200, b"<html>").url)
    assert (answer.exit_code, "does not answer as Kafka Connect does" in answer.output) == (5, True)


_OTHER_FORMS = {
    "url.query": "jdbc:postgresql://h/db?user=u&password=hush-1",
    "url.parts": "jdbc:sqlserver://h:1433;user=u;Password=hush-2;databaseName=d",
    "url.thin": "jdbc:oracle:thin:u/hush-3@h:1521:x",
    "db.password": "hush${4",
}


def test_secrets_in_any_form_of_a_url_go_into_the_keystore(worker: Worker, here: Here) -> None:
    worker.has({**LINES, **_OTHER_FORMS, "plain.url": "http://h:8080/a?user=u&b=c"}, OFFSETS)
    answer = here.run(worker.rest.url, "-o", "json")
    assert ("hush" in answer.output, answer.exit_code) == (False, 0)
    (shown,) = json.loads(answer.stdout)["connectors"]
    assert shown["secrets"] == sorted(f"lines.{key}" for key in _OTHER_FORMS)
    assert shown["config"]["plain.url"] == "http://h:8080/a?user=u&b=c"


def test_two_options_never_share_a_secret(worker: Worker, here: Here) -> None:
    worker.has({**LINES, "a/password": "hush-1", "a:password": "hush-2"}, OFFSETS)
    here.run(worker.rest.url, "--yes")
    stored = {asked.rpartition("/")[2]: sent["value"] for asked, sent in here.orders() if asked.startswith("PUT")}
    assert stored == {"lines.a_password": "hush-1", "lines.a_password_2": "hush-2"}


def test_no_secret_of_another_connector_is_overwritten(worker: Worker, here: Here) -> None:
    worker.has({**LINES, "password": "hush-1"}, OFFSETS)
    worker.has({**LINES, "name": "a", "b.password": "hush-2"}, OFFSETS)
    worker.has({**LINES, "name": "a.b", "password": "hush-3"}, OFFSETS)
    here.stored = [{"name": "mine", "config": {"password": "${keystore:lines.password}"}, "wantedState": "WANTED_STATE_RUNNING"}]
    answer = here.run(worker.rest.url, "--yes")
    said = " ".join(answer.output.split())
    assert (answer.exit_code, here.orders()) == (2, [])
    assert "lines: password: would be the secret lines.password, which mine has" in said
    assert "a.b: password: would be the secret a.b.password, which a has" in said


@pytest.mark.parametrize(
    ("path", "body", "code"),
    [
        ("/connectors", {"lines": 3}, 2),
        ("/connectors", {"lines": {"info": [], "status": "x"}}, 2),
        ("/connectors", {"lines": {"info": {"config": 7}, "status": {"connector": "RUNNING"}}}, 2),
        ("/connector-plugins", [3, "x"], 0),
        ("/connectors/lines/offsets", {"offsets": 3}, 5),
        ("/connectors/lines/offsets", {"offsets": ["x"]}, 5),
        ("/connectors/lines/offsets", {"offsets": [{"partition": {"a": 1}, "offset": "x"}]}, 5),
    ],
)
def test_a_worker_that_answers_otherwise_is_told_and_nothing_is_changed(
    worker: Worker, here: Here, path: str, body: object, code: int
) -> None:
    worker.has(LINES, OFFSETS)
    worker.answer(path, body)
    answer = here.run(worker.rest.url, "--yes")
    assert (answer.exit_code, here.orders() == [] or code == 0) == (code, True), answer.output


def test_a_secret_that_can_not_be_stored_is_told_with_those_before_it(worker: Worker, here: Here) -> None:
    worker.has({**LINES, "a.password": "hush-1", "b.password": "hush-2"}, OFFSETS)
    path = "/v1/secrets/lines.b.password"
    here.rest.bodies[path], here.rest.statuses[path] = b'{"detail": "no keystore", "reason": "R", "problems": []}', 400
    said = " ".join(here.run(worker.rest.url, "--yes").output.split())
    assert "the secret lines.b.password: no keystore; no connector was made" in said
    assert ("Secrets stored before: lines.a.password." in said, "hush" in said) == (True, False)
    assert [asked for asked, _ in here.orders()] == ["PUT /v1/secrets/lines.a.password", f"PUT {path}"]


def test_a_worker_that_tells_more_than_an_import_holds_is_told_and_nothing_is_changed(
    worker: Worker, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker.has(LINES, OFFSETS)
    worker.has({**LINES, "name": "other"}, [{"partition": {"filename": "/" + "x" * 30_000}, "offset": {"position": 1}}])
    monkeypatch.setattr("rocketconnect_cli.imports.worker.MOST_BYTES", 30_000)
    answer = here.run(worker.rest.url, "--yes")
    said = " ".join(answer.output.split())
    assert (answer.exit_code, f"{worker.rest.url}/connectors/other/offsets and what was asked before are more" in said) == (1, True)
    assert here.orders() == []
    # Only those that are wanted are asked where they are, so fewer are held.
    assert here.run(worker.rest.url, "lines").exit_code == 0
    assert here.run(worker.rest.url, "--no-positions").exit_code == 0


def test_a_worker_is_asked_for_answers_that_are_not_packed(worker: Worker, here: Here) -> None:
    worker.has(LINES, OFFSETS)
    here.run(worker.rest.url)
    assert set(worker.rest.encodings) == {"identity"}
