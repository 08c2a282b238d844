"""`rocketconnect verify`: what it asks, what people see, and how it ends."""

import json
from typing import Any

import pytest
from typer.testing import CliRunner

from rocketconnect_cli.commands.root import app
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
    assert set(rest.asked) == {"POST /v1/connectors/orders:verify"}
    return [json.loads(each) for each in rest.sent]


def test_tables_that_are_equal_end_well(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, EQUAL)
    code, out, err = run("copy", "-t", "shop.t=public.t", "-t", "shop.u", "--url", rest.url)
    assert code == 0, err
    assert asked(rest) == [{"sink": "copy", "tables": {"shop.t": "public.t", "shop.u": ""}, "pageToken": ""}]
    assert "shop.t  copy  public.t  1500  0" in out
    assert "shop.t: not compared: note: not in public.t" in out
    assert "shop.t: 1,500 rows" in err


def test_what_stays_different_is_counted_and_shown_and_ends_in_1(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {**EQUAL, "differences": [MISSING, CHANGED]})
    code, out, _ = run("--show", "1", "-o", "json", "--url", rest.url)
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


def test_comparing_ends_when_too_many_rows_differ_and_says_so(rest_factory: RestFactory) -> None:
    rest = rest_factory(200, {**EQUAL, "differences": [MISSING, CHANGED], "nextPageToken": "more"})
    code, out, _ = run("--limit", "2", "--url", rest.url)
    assert code == 1
    assert "Comparing ended early: too many rows differ. See --limit." in out


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
