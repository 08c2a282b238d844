"""Which requests records become by rules, and what goes wrong there."""

import pickle
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import pytest

from connectors.eventbridge.sink import EventBridgeSink
from rocketconnect_sdk.configuration.connector_options import Checked, check_connector
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.options import parse
from rocketconnect_sdk.record import SinkBatch
from tests.connectors.eventbridge.driven import running
from tests.connectors.http.receiver import Receiver, Sent, answers

SMALL = '{"total": [{"numeric": ["<", 100]}]}'
LARGE = '{"total": [{"numeric": [">=", 100]}]}'


@pytest.fixture
def receivers() -> Iterator[list[Receiver]]:
    with ExitStack() as stack:
        yield [stack.enter_context(Receiver().running()) for _ in range(2)]


def options(receivers: list[Receiver], rules: Mapping[str, str], **more: str) -> dict[str, str]:
    """Two targets, and rules by their names: each has a pattern, and goes to the target of its name, or to both."""
    made = {"targets": "crm,audit", "rules": ",".join(rules)}
    made |= {f"targets.{name}.url": f"{each.url}/{name}" for name, each in zip(("crm", "audit"), receivers, strict=True)}
    for name, pattern in rules.items():
        made |= {f"rules.{name}.pattern": pattern, f"rules.{name}.targets": name if name in ("crm", "audit") else "crm,audit"}
    return {**made, **{key.replace("__", "."): text for key, text in more.items()}}


def bodies(receiver: Receiver) -> list[Any]:
    return [each.json for each in receiver.seen]


def test_a_record_goes_to_the_targets_of_all_rules_that_match_it(receivers: list[Receiver]) -> None:
    with running(options(receivers, {"crm": SMALL, "both": LARGE})) as run:
        values = [{"total": 5}, '{"total":100.50}', {"other": 1}, None, {"total": 7}]
        assert run.write(values) == {}
    crm, audit = receivers
    assert [(each.path, each.body) for each in crm.seen] == [
        ("/crm", b'{"total":5}'),
        ("/crm", b'{"total":100.50}'),
        ("/crm", b'{"total":7}'),
    ]
    assert bodies(audit) == [{"total": 100.5}]


def test_rules_travel_to_where_records_are(receivers: list[Receiver]) -> None:
    given = {**options(receivers, {"crm": SMALL, "both": LARGE}), "targets.crm.headers": "X-N=${value.total}"}
    with running(given) as run:
        writer = pickle.loads(pickle.dumps(run.task.writer()))
        staged = writer.stage(SinkBatch("orders/b/0", "orders", [{"total": 5}, {"total": 100}, {}], range(3)), "part")
    assert [(each.record, each.target) for each in staged.operations] == [(0, "/crm"), (1, "/crm"), (1, "/audit"), (2, "")]


def test_an_event_of_cloudevents_is_matched_by_its_attributes_and_its_data(receivers: list[Receiver]) -> None:
    pattern = '{"type": [{"prefix": "com.example.order."}], "data": {"shop": ["north"]}}'
    event = {"specversion": "1.0", "id": "7", "source": "/shops", "type": "com.example.order.placed", "data": {"shop": "north"}}
    more = {"targets__crm__content__type": "application/cloudevents+json"}
    with running(options(receivers, {"crm": pattern, "audit": SMALL}, **more)) as run:
        assert run.write([event, {**event, "type": "com.example.refund"}, {**event, "data": {"shop": "south"}}]) == {}
    (sent,) = receivers[0].seen
    assert (sent.json, sent.headers["content-type"]) == (event, "application/cloudevents+json")


def test_a_rule_sends_what_its_input_says(receivers: list[Receiver]) -> None:
    given = options(
        receivers,
        {"crm": SMALL, "audit": "{}", "constant": SMALL},
        rules__crm__input__paths="id=$.id,first=$.items[0].n",
        rules__crm__input__template='{"id": <id>, "text": "<id> by <aws.events.rule-name>", "first": <first>}',
        rules__audit__input__path="$.items",
        rules__constant__input='{"ping": true}',
        rules__constant__targets="crm",
    )
    with running(given) as run:
        refused = run.write([{"id": "o-1", "total": 5, "items": [{"n": 1}]}, {"id": "o-2", "total": 6}])
    assert refused == {1: "rule audit, target audit: the event has nothing at $.items"}
    assert bodies(receivers[0]) == [
        {"id": "o-1", "text": "o-1 by crm", "first": 1},
        {"ping": True},
        {"id": "o-2", "text": "o-2 by crm", "first": None},
        {"ping": True},
    ]
    assert bodies(receivers[1]) == [[{"n": 1}]]


def test_targets_have_urls_headers_and_secrets_of_their_own(receivers: list[Receiver]) -> None:
    given = options(
        receivers,
        {"both": "{}", "crm": SMALL},
        targets__crm__url=f"{receivers[0].url}/shops/${{value.shop}}?k=${{key}}",
        targets__crm__headers="X-Total=${value.total},X-Fixed=yes",
        targets__crm__token="${env:SECRET}",
        targets__crm__method="PUT",
        targets__crm__idempotency__header="Idempotency-Key",
        targets__audit__user="me",
        targets__audit__password="${env:SECRET}",
        targets__audit__hmac__secret="${env:SECRET}",
    )
    with running(given) as run:
        refused = run.write([{"shop": "a b", "total": 5}, {"total": 6}], ["k1", "k2"])
    why = "the record has no shop there, which ${value.shop} stands for"
    assert refused == {1: f"rule both, target crm: {why}; rule crm, target crm: {why}"}
    first, second = receivers[0].seen
    assert (first.method, first.path, first.headers["authorization"]) == ("PUT", "/shops/a%20b?k=k1", "Bearer geheim")
    assert (first.headers["x-total"], first.headers["x-fixed"]) == ("5", "yes")
    assert first.headers["idempotency-key"] != second.headers["idempotency-key"]
    assert len(receivers[1].seen) == 2
    assert receivers[1].seen[0].headers.keys() >= {"x-signature", "authorization"}


def test_a_record_that_a_target_refuses_holds_up_no_other_rule(receivers: list[Receiver]) -> None:
    receivers[0].always = answers(422, {"error": "no such shop"})
    with running(options(receivers, {"crm": "{}", "audit": "{}", "both": LARGE})) as run:
        refused = run.write([{"total": 1}, {"total": 100}, "no object", ["neither"], {"total": 2}])
    why = "target crm: the server refuses it: 422: no such shop"
    assert refused == {
        0: f"rule crm, {why}",
        1: f"rule crm, {why}; rule both, {why}",
        2: "the value is no event: it is neither a row nor a JSON object",
        3: "the value is no event: it is neither a row nor a JSON object",
        4: f"rule crm, {why}",
    }
    assert [each["total"] for each in bodies(receivers[1])] == [1, 100, 100, 2]


def test_a_target_that_is_away_is_tried_again_and_what_others_have_is_not_sent_again(receivers: list[Receiver]) -> None:
    receivers[0].faults = [answers(503, Retry_After="0"), answers(401)]
    with running(options(receivers, {"both": "{}"})) as run:
        assert run.write([{"n": 1}, {"n": 2}]) == {}
        assert len(run.away) == 2
        assert str(run.away[0]).startswith("2 requests to be sent again: target crm: http://127.0.0.1:")
        assert "answers 401" in str(run.away[1])
    assert bodies(receivers[0]) == bodies(receivers[1]) == [{"n": 1}, {"n": 2}]


def test_a_record_is_given_up_by_the_policy_of_its_rule(receivers: list[Receiver]) -> None:
    receivers[0].always = answers(503)
    more = {"rules__crm__maximum__attempts": "2", "rules__both__maximum__age": "0s"}
    with running(options(receivers, {"crm": SMALL, "both": LARGE}, **more)) as run:
        refused = run.write([{"total": 1}, {"total": 100}])
        assert len(run.away) == 1
        assert refused[0].startswith("rule crm, target crm: given up after 2 attempts in 0 s: http://127.0.0.1:")
        assert refused[1].startswith("rule both, target crm: given up after 1 attempt in 0 s: http://127.0.0.1:")
        # Of a target that is away all the time nothing is waited for anew.
        assert list(run.write([{"total": 2}])) == [0]
        assert len(run.away) == 1
        receivers[0].always = None
        assert run.write([{"total": 3}]) == {}
    assert bodies(receivers[0]) == [{"total": 3}]
    assert bodies(receivers[1]) == [{"total": 100}]


def test_records_with_which_a_target_fails_are_given_up_and_the_others_go(receivers: list[Receiver]) -> None:
    def fails(handler: Any, sent: Sent) -> bool:
        return sent.json["total"] < 5 and answers(500, "bug")(handler, sent)

    receivers[0].always = fails
    with running(options(receivers, {"crm": "{}", "audit": LARGE}, rules__crm__maximum__attempts="3")) as run:
        refused = run.write([{"total": number} for number in range(8)])
    assert list(refused) == [0, 1, 2, 3, 4]
    assert refused[4].startswith("rule crm, target crm: given up after ")
    assert refused[4].endswith("the server fails with it: 500: bug")
    assert [each["total"] for each in bodies(receivers[0])] == [5, 6, 7]


def test_several_requests_of_a_target_are_under_way_and_those_of_a_key_in_order(receivers: list[Receiver]) -> None:
    with running(options(receivers, {"both": "{}"}, targets__crm__request__parallel="3")) as run:
        values = [{"key": number % 7, "n": number} for number in range(60)]
        assert run.write(values, [str(value["key"]) for value in values]) == {}
    assert bodies(receivers[1]) == values
    for key in range(7):
        assert [each for each in bodies(receivers[0]) if each["key"] == key] == [each for each in values if each["key"] == key]


def test_it_starts_while_one_target_answers(receivers: list[Receiver]) -> None:
    away = options(receivers, {"both": "{}"}, targets__crm__url="http://127.0.0.1:1/")
    with running({**away, "rules.both.maximum.attempts": "1"}) as run:
        assert list(run.write([{"n": 1}])) == [0]
    assert bodies(receivers[1]) == [{"n": 1}]
    with (
        pytest.raises(SystemAway, match=r"target crm: .*; target audit: "),
        running({**away, "targets.audit.url": "http://127.0.0.1:1/"}),
    ):
        pass


def checked(given: Mapping[str, str]) -> Checked:
    return check_connector({"connector.class": "eventbridge_sink", "topics": "orders", **given})


def test_all_that_is_wrong_is_told_with_its_rule_its_place_and_what_to_do(receivers: list[Receiver]) -> None:
    given = options(
        receivers,
        {"crm": '{"a": [{"like": 1}], "b": "c"}', "audit": "{}", "x": "{}"},
        targets__crm__token="literal",
        targets__crm__user="me",
        targets__audit__ulr="http://h",
        targets__other__url="http://h",
        rules__crm__input="{}",
        rules__crm__input__path="a",
        rules__crm__input__template="{}",
        rules__audit__input__template="hello <name>",
        rules__audit__maximum__age="long",
        rules__x__targets="crm,elsewhere",
        rules__x__input="hello",
    )
    problems = [(each.key, each.reason) for each in checked(given).problems]
    assert sorted(problems) == [
        ("rules.audit.input.template", "has <name>, which is no variable"),
        ("rules.audit.maximum.age", "is not a duration such as 500ms, 10s or 5m"),
        ("rules.crm.input.path", "does not begin with $"),
        ("rules.crm.pattern", "a[0].like is no operator"),
        ("rules.crm.pattern", "b is neither an array nor an object, and values of a pattern stand in arrays"),
        ("rules.x.input", "is no JSON, which targets.crm.content.type says"),
        ("rules.x.targets", "is no target"),
        ("targets.audit.ulr", "is not an option of this connector"),
        ("targets.crm.token", "is a secret and was given as a literal value"),
        ("targets.other.url", "is of other, which targets does not name"),
    ]
    assert "targets.crm.token" in checked(given).secret_keys
    assert "literal" not in str([str(each) for each in checked(given).problems]).replace("a literal value", "")


def test_names_and_inputs_that_contradict_each_other_are_told(receivers: list[Receiver]) -> None:
    given = options(
        receivers,
        {"crm": "{}"},
        rules__crm__input="{}",
        rules__crm__input__template="{}",
        targets__crm__user="me",
        targets__crm__api__key="${env:KEY}",
    )
    problems = {each.key: each.reason for each in checked(given).problems}
    assert problems == {
        "rules.crm.input.template": "says what is sent, and so does input",
        "targets": "is a target that no rule uses",
        "targets.crm.api.key": "says who we are, and so does user",
    }
    for names, reason in (("a.b", "has 'a.b', and names are letters, digits, - and _"), ("a,a", "names a twice")):
        assert reason in [each.reason for each in checked({**given, "rules": names}).problems]


def test_a_target_that_is_away_now_is_a_warning(receivers: list[Receiver]) -> None:
    given = options(receivers, {"both": "{}"}, targets__crm__url="http://127.0.0.1:1/${value.a}?secret=1")
    (problem,) = checked(given).problems
    assert (problem.key, problem.value, problem.is_warning) == ("targets.crm.url", "http://127.0.0.1:1", True)


def test_references_stand_in_urls_and_secrets_of_each_target(receivers: list[Receiver]) -> None:
    given = options(receivers, {"both": "{}"}, targets__crm__url="https://hooks.example.com/${env:HOOK}")
    assert checked(given).problems == []
    reasons = [each.key for each in checked({**given, "rules.both.input": '"${env:X}"'}).problems]
    assert reasons == ["rules.both.input"]
    config = parse(EventBridgeSink().options, {**given, "targets.crm.username": "${env:ME}"})
    assert config["targets.crm.user"] == "${env:ME}"
