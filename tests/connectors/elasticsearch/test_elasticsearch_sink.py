"""What records become in Elasticsearch, and what goes wrong there."""

import json
import ssl
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from connectors.elasticsearch.mapping import mapping_of
from connectors.elasticsearch.sink import ElasticsearchSink
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConfigError, PermanentError, SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct
from tests.connectors.elasticsearch.driven import TYPED, TYPED_DOCUMENT, TYPED_ROW, Run
from tests.servers.search.standin import Fault, StandIn


def change(op: str, before: object, after: object, **more: object) -> str:
    return json.dumps({"op": op, "before": before, "after": after, **more})


def answers(status: int, body: Any = b"", **headers: str) -> Fault:
    def fault(handler: Any, todo: Any) -> bool:
        del todo
        handler.answer(status, body, **headers)
        return True

    return fault


def items(*statuses: int, kind: str = "es_rejected_execution_exception") -> Fault:
    """Does what the status 200 stands for, and answers so for the others."""

    def fault(handler: Any, todo: Any) -> bool:
        made = []
        for (action, where, value), status in zip(todo, [*statuses, *[200] * len(todo)], strict=False):
            error = {"type": kind, "reason": "why"}
            made.append(
                {action: handler.server.apply(action, where, value) if status == 200 else {"status": status, "error": error}}
            )
        handler.answer(200, {"errors": True, "items": made})
        return True

    return fault


def breaks(handler: Any, todo: Any) -> bool:
    """Does it, and ends the connection in the middle of the answer."""
    for action, where, value in todo:
        handler.server.apply(action, where, value)
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{")
    handler.close_connection = True
    return True


def test_documents_are_the_newest_of_their_key_and_go_with_it(standin: StandIn) -> None:
    run = Run(standin.url, delete_enabled="true")
    assert run.write([{"n": 1}, '{"n":2,"d":1.50}', {"n": 3}, None], ["a", "b", "a", "gone"]) == {}
    assert standin.documents("orders") == {"a": {"n": 3}, "b": {"n": 2, "d": 1.5}}
    assert run.write([None], ["b"]) == {}
    assert standin.documents("orders") == {"a": {"n": 3}}


def test_indexes_are_named_by_topic_time_and_fields(standin: StandIn) -> None:
    run = Run(standin.url, index="${topic}-${value.Kind}-${time:%Y.%m.%d}", id="${header.h}-${offset}")
    refused = run.write([{"Kind": "Big"}, {"Kind": "a b"}, {"Kind": None}, {"Kind": "x" * 300}])
    assert standin.documents("orders-big-2026.01.01") == {"x-0": {"Kind": "Big"}}
    assert refused == {
        1: "the index 'orders-a b-2026.01.01' has ' ', which no name of an index has",
        2: "the record has no Kind there, which ${value.Kind} stands for",
        3: f"the index {('orders-' + 'x' * 300)[:255]!r} has more than 255 bytes",
    }
    assert "as those of the system do" in Run(standin.url, index="${value.i}").write([{"i": ".security"}], ["k"])[0]
    assert Run(standin.url, index=".own", id="${offset}").write([{"n": 1}]) == {}


def test_create_keeps_what_is_there_and_upsert_keeps_its_other_fields(standin: StandIn) -> None:
    run = Run(standin.url, method="create")
    assert run.write([{"n": 1}, {"n": 2}], ["a", "a"]) == {}
    assert standin.documents("orders") == {"a": {"n": 1}}
    run = Run(standin.url, method="upsert", index="rows", delete_enabled="true")
    key = ['{"id":7}']
    assert run.write([change("c", None, {"id": 7, "a": "x", "big": "y"})], key) == {}
    assert run.write([change("u", None, {"id": 7, "a": "z", "big": None}, unchanged=["big"])], key) == {}
    assert standin.documents("rows") == {"7": {"id": 7, "a": "z", "big": "y"}}
    assert run.write([change("d", {"id": 7}, None)], key) == {}
    assert standin.documents("rows") == {}


def test_an_id_of_few_characters_is_measured_in_bytes(standin: StandIn) -> None:
    whole, long = "\U0001f600" * 128, "\U0001f600" * 129
    refused = Run(standin.url).write([{"n": 1}, {"n": 2}], [whole, long])
    assert refused == {1: f"its id has 516 bytes, and at most 512 are allowed: {long[:40]}..."}
    assert standin.documents("orders") == {whole: {"n": 1}}


def test_without_ids_documents_are_appended(standin: StandIn) -> None:
    assert Run(standin.url, id="").write([{"n": 1}, {"n": 1}]) == {}
    assert len(standin.documents("orders")) == 2


def test_what_can_t_be_a_document_is_refused_alone_and_with_the_words_of_the_server(standin: StandIn) -> None:
    run = Run(standin.url, id="${key}")
    values = [{"n": 1}, "text", {"n": "many"}, None, {"n": 2}, {"n": 3}, [1]]
    refused = run.write(values, ["a", "b", "c", "d", "e" * 513, "f", "g"])
    assert refused == {
        1: "the value has no fields: it is neither a row nor a JSON object",
        2: "the server refuses it: mapper_parsing_exception: failed to parse field [n] of type [long] in document with id 'c'; "
        'caused by illegal_argument_exception: For input string: "many"',
        3: "there is no value: it says that a row is gone, and delete.enabled is false. Set it to delete by key",
        4: f"its id has 513 bytes, and at most 512 are allowed: {'e' * 40}...",
        6: "the value has no fields: it is neither a row nor a JSON object",
    }
    assert standin.documents("orders") == {"a": {"n": 1}, "f": {"n": 3}}


def test_requests_have_a_size_and_one_document_may_be_larger(standin: StandIn) -> None:
    run = Run(standin.url, id="${offset}", request_bytes="64KiB")
    run.write([*({"t": "x" * 10_000} for _ in range(20)), {"t": "y" * 100_000}])
    assert len(standin.documents("orders")) == 21
    assert max(standin.sizes[:-1]) <= 64 << 10 < standin.sizes[-1]


def test_a_request_that_is_too_large_is_halved_and_a_document_that_is_goes_to_the_dead_letters(standin: StandIn) -> None:
    standin.largest = 150_000
    refused = Run(standin.url, id="${offset}").write([{"t": "x" * 60_000}] * 10 + [{"t": "y" * 200_000}] + [{"t": "z"}])
    assert list(refused) == [10]
    assert "is too large (http.max_content_length)" in refused[10]
    assert len(standin.documents("orders")) == 11


def test_a_busy_server_is_waited_for_and_gets_smaller_requests(standin: StandIn) -> None:
    run = Run(standin.url, id="${offset}")
    standin.faults += [answers(429, {"error": {"type": "circuit_breaking_exception", "reason": "Data too large"}})] * 2
    assert run.write([{"t": "x" * 60_000}] * 20) == {}
    assert len(standin.documents("orders")) == 20
    assert standin.sizes[0] > 2 * standin.sizes[2] > 0
    standin.faults += [answers(503, b"", Retry_After="9")] * 99
    run.context.stopping.set()
    with pytest.raises(SystemAway, match=r"takes nothing into orders for now: .* answers 503") as raised:
        run.write([{"t": "x"}])
    assert raised.value.wait == 9


def test_single_documents_that_a_server_is_too_busy_for_are_sent_again_with_what_came_later(standin: StandIn) -> None:
    standin.faults += [items(429, 200, 200, 200)]
    values = [{"n": 1}, {"n": 1}, {"n": 2}, {"n": 3}]
    assert Run(standin.url).write(values, ["a", "b", "a", "c"]) == {}
    assert standin.documents("orders") == {"a": {"n": 2}, "b": {"n": 1}, "c": {"n": 3}}
    standin.clear().faults += [items(200, 429, 200)]
    assert Run(standin.url, id="").write(values[:3]) == {}
    assert len(standin.documents("orders")) == 3


def test_an_index_that_is_blocked_is_waited_for_and_a_user_without_rights_ends_the_task(standin: StandIn) -> None:
    run = Run(standin.url)
    run.context.stopping.set()
    standin.faults += [items(403, kind="cluster_block_exception")]
    with pytest.raises(SystemAway, match="takes nothing into orders for now: cluster_block_exception: why"):
        run.write([{"n": 1}], ["a"])
    standin.faults += [items(403, kind="security_exception")]
    with pytest.raises(PermanentError, match=r"does not allow it: security_exception: why\. Give the user the right"):
        run.write([{"n": 1}], ["a"])
    assert run.write([{"n": 1}], ["a"]) == {}


def test_a_document_with_which_a_server_fails_each_time_is_refused(standin: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("connectors.elasticsearch.connection._FIRST_WAIT", 0.001)
    standin.faults += [items(500, 200, kind="exception"), *[items(500, kind="exception")] * 5]
    assert Run(standin.url).write([{"n": 1}, {"n": 2}], ["a", "b"]) == {0: "the server fails with it: exception: why"}
    assert standin.documents("orders") == {"b": {"n": 2}}


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (answers(200, b"<html>hello</html>"), "answers with what is no answer of the bulk API: <html>hello"),
        (answers(200, {"errors": False, "items": []}), "answers with what is no answer of the bulk API"),
        (answers(200, {"items": [{"index": {"status": "201"}}]}), "answers with what is no answer of the bulk API"),
        (answers(200, b"[" * 100_000), "answers with what is no answer of the bulk API"),
        (breaks, "does not answer: peer closed connection"),
        (answers(502, b"<html>bad gateway</html>"), "for now: .* answers 502: <html>bad gateway"),
    ],
)
def test_an_answer_that_is_none_loses_nothing(standin: StandIn, fault: Fault, words: str) -> None:
    run = Run(standin.url)
    run.context.stopping.set()
    standin.faults += [fault]
    with pytest.raises(SystemAway, match=words):
        run.write([{"n": 1}], ["a"])
    assert run.write([{"n": 1}], ["a"]) == {}
    assert standin.documents("orders") == {"a": {"n": 1}}


def test_a_request_that_a_server_refuses_as_a_whole_is_refused_for_the_document_that_it_is_about(standin: StandIn) -> None:
    def fault(handler: Any, todo: Any) -> bool:
        standin.faults.append(fault)
        if any(where["_id"] == "3" for _, where, _ in todo):
            handler.refuse(400, "action_request_validation_exception", "Validation Failed")
            return True
        return False

    standin.faults.append(fault)
    refused = Run(standin.url, id="${offset}").write([{"n": number} for number in range(8)])
    assert refused == {3: "the server refuses it: Validation Failed"}
    assert len(standin.documents("orders")) == 7
    standin.faults[:] = [answers(400, b"a proxy")]
    with pytest.raises(PermanentError, match="answers 400: a proxy"):
        Run(standin.url, id="${offset}").write([{"n": 1}])


def test_data_streams_take_what_is_created_alone(standin: StandIn) -> None:
    standin.streams = {"logs"}
    assert Run(standin.url, index="logs", id="", method="create").write([{"@timestamp": 1}]) == {}
    refused = Run(standin.url, index="logs").write([{"@timestamp": 1}], ["k"])
    assert "only write ops with an op_type of create are allowed in data streams" in refused[0]


def test_an_index_is_made_with_a_mapping_of_the_schema_where_that_is_wanted(standin: StandIn) -> None:
    run = Run(standin.url, index_create="schema", index_settings='{"number_of_replicas":0}')
    assert run.write([TYPED_ROW], ["k"], schema=TYPED) == {}
    assert standin.mappings["orders"] == {
        name: each.get("type", "object") for name, each in mapping_of(TYPED)["properties"].items()
    }
    assert standin.documents("orders") == {"k": TYPED_DOCUMENT}
    # Of a change it is that of its row, and what is there stays as it is.
    row = struct([("id", Schema(Type.INT32)), ("price", decimal(2, precision=9))])
    envelope = struct([("op", STRING), ("before", row), ("after", row)])
    changes = Run(standin.url, index="rows", index_create="schema")
    value = {"op": "c", "before": None, "after": {"id": 1, "price": None}}
    for _ in range(2):
        assert changes.write([value], ["1"], schema=envelope) == {}
    assert standin.mappings["rows"] == {"id": "integer", "price": "double"}
    bad = Run(standin.url, index="bad", index_create="schema", index_settings='{"number_of_shards":0}')
    with pytest.raises(PermanentError, match=r"the index bad can't be made of the schema: .*Correct index\.settings"):
        bad.write([TYPED_ROW], ["k"], TYPED)


def problems(given: Mapping[str, str]) -> dict[str, str]:
    sink = ElasticsearchSink()
    try:
        return {each.key: each.reason for each in sink.check(parse(sink.options, given))}
    except ConfigError as error:
        return {each.key: each.reason for each in error.problems}


def test_what_is_configured_wrong_is_told_at_once(standin: StandIn) -> None:
    wrong = {"url": "http://a:1,me@b", "index": "${nothing}", "index.settings": "[]", "request.bytes": "1"}
    assert problems(wrong).keys() == {"url", "index", "index.settings", "request.bytes"}
    standin.password = "right"
    given = {"url": standin.url, "index": "_A b", "id": "", "delete.enabled": "true", "method": "upsert", "user": "me"}
    told = problems({**given, "ssl.key.location": "/key", "index.settings": "{}"})
    assert told.keys() == {"index", "delete.enabled", "method", "ssl.key.location", "index.settings", "user"}
    assert told["index"] == "has ' ', which no name of an index has"
    assert "answers 401: unable to authenticate user [me]" in told["user"]


def test_a_user_whom_the_server_does_not_know_ends_the_task_and_shows_no_password(standin: StandIn) -> None:
    run = Run(standin.url, user="me", password="${env:SECRET}")
    standin.password = "right"
    with pytest.raises(PermanentError, match=r"answers 401: unable to authenticate.*Give the user and the password") as raised:
        run.write([{"n": 1}], ["a"])
    assert "wrong" not in str(raised.value)
    with pytest.raises(PermanentError, match="answers 401"):
        run.task.start()


def test_a_server_that_is_away_is_waited_for_and_one_that_is_no_search_engine_is_refused(standin: StandIn) -> None:
    sink = ElasticsearchSink()
    config = parse(sink.options, {"url": "http://127.0.0.1:1"})
    (problem,) = sink.check(config)
    assert problem.is_warning
    with pytest.raises(SystemAway, match="does not answer"):
        sink.open(config, {}, TaskContext()).start()
    assert Run(f"http://127.0.0.1:1,{standin.url}").write([{"n": 1}], ["a"]) == {}


def test_a_certificate_that_is_not_trusted_is_told_and_one_that_is_named_is_trusted(tmp_path: Path) -> None:
    certificate, key = tmp_path / "server.pem", tmp_path / "server.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=a"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with StandIn(context) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        told = problems({"url": server.url})
        assert "the certificate of the server is not trusted" in told["ssl.ca.location"]
        assert problems({"url": server.url, "ssl.ca.location": str(key)}).keys() == {"ssl.ca.location"}
        assert Run(server.url, ssl_ca_location=str(certificate)).write([{"n": 1}], ["a"]) == {}
        server.shutdown()
