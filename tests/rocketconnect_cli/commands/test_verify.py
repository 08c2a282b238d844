"""`rocketconnect verify`: what it asks, what people see, and how it ends."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands import verify as command
from rocketconnect_cli.commands.root import app
from rocketconnect_cli.tables import passage
from tests.rocketconnect_cli.conftest import Rest, RestFactory

TABLE = {
    "table": "shop.t",
    "sink": "copy",
    "target": "public.t",
    "rows": "1500",
    "done": True,
    "leftOut": ["note: not in public.t"],
}
EQUAL = {
    "problems": [],
    "tables": [
        {
            "table": "shop.t",
            "sink": "copy",
            "target": "public.t",
            "rows": "1500",
            "done": True,
            "leftOut": ["note: not in public.t"],
        }
    ],
    "differences": [],
    "nextPageToken": "",
    "trouble": "",
}
MISSING = {
    "table": "shop.t",
    "sink": "copy",
    "target": "public.t",
    "key": "[7]",
    "kind": "DIFFERENCE_KIND_MISSING",
    "about": "",
    "sourceDigest": "a",
    "sinkDigest": "",
}
CHANGED = {**MISSING, "key": "[8]", "kind": "DIFFERENCE_KIND_DIFFERENT", "about": "price", "sinkDigest": "b"}


def run(*words: str) -> tuple[int, str, str]:
    answer = CliRunner().invoke(app, ["verify", "orders", "--wait", "0.1", *words])
    return answer.exit_code, answer.stdout, answer.stderr


def asked(rest: Rest) -> list[dict[str, Any]]:
    """What was to be compared."""
    pairs = zip(rest.asked, rest.sent, strict=True)
    return [json.loads(sent) for path, sent in pairs if path == "POST /v1/connectors/orders:verify"]


def pipeline(rest: Rest, source: str, sink: str, position: int) -> None:
    """A pipeline in these states, whose topic ends at 100."""
    answers: dict[str, object] = {
        "/v1/connectors/orders/state": {"state": {"state": f"STATE_{source}"}},
        "/v1/connectors/copy/state": {"state": {"state": f"STATE_{sink}"}},
        "/v1/connectors/copy": {"connector": {"config": {"topics": "shop"}, "etag": "", "revision": "1", "wantedState": ""}},
        "/v1/connectors/copy/positions": {"positions": [{"partition": "shop/b/0", "offset": f"[{position}]"}], "nextPageToken": ""},
        "/v1/topics": {
            "topics": [
                {"name": "shop", "queues": [{"queue": "shop/b/0", "earliest": "0", "latest": "100"}]},
                {"name": "other", "queues": [{"queue": "other/b/0", "earliest": "0", "latest": "7"}]},
            ],
            "nextPageToken": "",
        },
    }
    rest.bodies.update({path: json.dumps(answer).encode() for path, answer in answers.items()})


def test_tables_that_are_equal_end_well(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, EQUAL)
    code, out, err = run("copy", "-t", "shop.t=public.t", "-t", "shop.u", "--url", rest.url)
    assert code == 0, err
    assert asked(rest) == [{"sink": "copy", "tables": {"shop.t": "public.t", "shop.u": ""}, "pageToken": ""}]
    assert "shop.t  copy  public.t  1500  0" in out
    assert "shop.t: not compared: note: not in public.t" in out
    assert err.splitlines() == ["orders: comparing its tables with what its sinks have made of them", "shop.t: 1,500 rows"]


def test_what_stays_different_is_counted_and_shown_and_ends_in_1(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {**EQUAL, "differences": [MISSING, CHANGED]})
    pipeline(rest, "PAUSED", "RUNNING", 100)
    code, out, err = run("--show", "1", "-o", "json", "--url", rest.url)
    assert err.count("orders is PAUSED: what has not come through yet counts as a difference") == 1
    first, *again = asked(rest)
    (found,) = json.loads(out)["tables"]
    assert code == 1
    assert first == {"sink": "", "tables": {}, "pageToken": ""}
    assert {json.dumps(each["keys"]) for each in again} == {
        json.dumps([{"table": "shop.t", "key": "[7]"}, {"table": "shop.t", "key": "[8]"}])
    }
    assert (found["missing"], found["extra"], found["different"], found["refused"], found["unsettled"]) == (1, 0, 1, 0, 0)
    assert found["differences"] == [{"key": "[7]", "kind": "MISSING", "about": ""}]
    code, out, _ = run("--url", rest.url)
    assert "shop.t [7] MISSING\n" in out
    assert "shop.t [8] DIFFERENT: price\n" in out


def test_too_many_rows_that_differ_in_one_table_do_not_keep_others_from_being_compared(rest_factory: RestFactory) -> None:
    verify = "/v1/connectors/orders:verify"
    others = [{**TABLE, "table": "shop.u", "rows": "9"}, {**TABLE, "table": "shop.v", "rows": "5", "done": False}]
    pages = [
        {**EQUAL, "tables": [{**TABLE, "done": False}], "differences": [MISSING, CHANGED], "nextPageToken": "in t"},
        {**EQUAL, "tables": others, "differences": [{**MISSING, "table": "shop.v"}], "nextPageToken": "in v"},
        {**EQUAL, "tables": [{**others[1], "done": True}]},
    ]
    left = {**EQUAL, "differences": [MISSING, CHANGED, {**MISSING, "table": "shop.v"}]}
    rest = rest_factory(200, left)
    rest.first[verify] = [json.dumps(page).encode() for page in pages]
    pipeline(rest, "STOPPED", "FAILED", 0)
    code, out, err = run("--limit", "2", "--url", rest.url)
    assert code == 1
    assert asked(rest)[:3] == [
        {"sink": "", "tables": {}, "pageToken": ""},
        {"sink": "", "tables": {}, "pageToken": "in t", "nextTable": True},
        {"sink": "", "tables": {}, "pageToken": "in v"},
    ]
    assert "shop.t: too many rows differ; the rest of it is not compared (see --limit)\n" in err
    assert "shop.t: not compared to its end, as too many rows differ; there may be more. See --limit.\n" in out
    lines = [line.split()[:8] for line in out.splitlines() if " public.t " in line]
    assert lines == [
        ["shop.t", "copy", "public.t", "1500", "1", "0", "1", "0"],
        ["shop.u", "copy", "public.t", "9", "0", "0", "0", "0"],
        ["shop.v", "copy", "public.t", "10", "1", "0", "0", "0"],
    ]
    assert out.count("not compared to its end") == 1
    rest.first[verify] = [json.dumps(page).encode() for page in pages]
    document = json.loads(run("--limit", "2", "-o", "json", "--url", rest.url)[1])
    assert (document["complete"], [each["complete"] for each in document["tables"]]) == (False, [False, True, True])


@pytest.mark.parametrize(
    ("answer", "code", "said"),
    [
        ({"problems": [{"key": "tables", "value": "t", "reason": "has no key", "fix": "Give it one."}]}, 2, "has no key"),
        ({"trouble": "the database is away"}, 5, "the database is away"),
    ],
)
def test_what_cannot_be_compared_is_told(rest_factory: RestFactory, answer: dict[str, Any], code: int, said: str) -> None:
    rest = rest_factory(200, {**EQUAL, **answer})
    found, _, err = run("--url", rest.url)
    assert found == code
    assert said in err


def test_a_row_that_the_sink_has_not_come_to_is_not_called_missing(
    rest_factory: RestFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("STALE_SECONDS", "SENDING_SECONDS"):
        monkeypatch.setattr(passage, name, 0.05)
        monkeypatch.setattr(command, name, 0.05)
    rest = rest_factory(200, {**EQUAL, "differences": [MISSING]})
    pipeline(rest, "IDLE", "RUNNING", 40)
    code, out, err = run("--url", rest.url)
    assert code == 6, "it is unsettled"
    assert "1 row differs; 60 messages are not in the sink yet; looking again" in err
    assert "shop.t  copy  public.t  1500  0        0      0          0        1" in out
    pipeline(rest, "RUNNING", "RUNNING", 100)
    code, _, err = run("--url", rest.url)
    assert code == 6, "the source has not read all"
    assert "1 row differs; orders has not read all of its source yet; looking again" in err
    unread = {"sourceRemaining": "1234", "sourceRemainingKnown": True, "sourceRemainingUnit": "bytes"}
    task = {"state": "STATE_RUNNING", "metrics": unread}
    rest.bodies["/v1/connectors/orders/state"] = json.dumps({"state": {"state": "STATE_RUNNING", "tasks": [task]}}).encode()
    assert "; orders has not read all of its source yet (1.2 kB left); looking again" in run("--url", rest.url)[2]
    pipeline(rest, "IDLE", "RUNNING", 100)
    code, out, err = run("--url", rest.url)
    assert code == 1
    assert "1 row differs; what orders has read may not be in its topics yet; looking again" in err
    assert "1 row differs; a row counts as different after it has stayed so for 0.1 s; looking again" in err
    assert "shop.t [7] MISSING\n" in out
