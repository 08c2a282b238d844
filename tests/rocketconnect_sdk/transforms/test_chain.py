"""Chains as configurations name them, and what they do to batches."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

import pytest

from rocketconnect_sdk.columns.compact import Texts
from rocketconnect_sdk.errors import ConfigError, PermanentError, RecordError, SystemAway
from rocketconnect_sdk.schema import STRING, Schema, Type
from rocketconnect_sdk.transforms import Predicate, Record, Records, Transform
from rocketconnect_sdk.transforms.base import one_by_one
from rocketconnect_sdk.transforms.chain import Chain, Step, make, problems

NUMBER = Schema(Type.INT64)


class Doubling(Transform):
    """Doubles numbers below 100; others are bad. -1: the other side is away."""

    name: ClassVar[str] = "doubling"

    def apply(self, record: Record) -> Record | None:
        if record.value == -1:
            raise SystemAway("away")
        if record.value == -2:
            raise PermanentError("never")
        if record.value == 0:
            return None
        if not isinstance(record.value, int) or record.value >= 100:
            raise ValueError(record.value)
        return replace(record, value=record.value * 2, schema=STRING if record.value == 7 else record.schema)


class Even(Predicate):
    name: ClassVar[str] = "even"

    def test(self, record: Record) -> bool:
        if record.value == 13:
            raise RecordError("unlucky")
        return record.value in (2, 4, 6, 200)


def numbers(*values: int) -> Records:
    return Records(list(values), list(range(len(values))), "t", NUMBER)


def chain(*, predicate: bool = False, negate: bool = False) -> Chain:
    return Chain([Step("double", Doubling({}), Even({}) if predicate else None, negate)])  # type: ignore[arg-type]


def outcome(records: Records, of: Chain) -> tuple[list[tuple[int, object]], dict[int, str]]:
    done = of.run(records)
    pairs = [(index, record.value) for index, record in one_by_one(done.runs)]
    return pairs, {index: type(each.error).__name__ for index, each in done.failed.items()}


def test_one_bad_record_of_ten_thousand_costs_that_record() -> None:
    found, failed = outcome(numbers(*[1] * 5_000, 500, *[1] * 4_999), chain())
    assert failed == {5_000: "ValueError"}
    assert [index for index, _ in found] == [*range(5_000), *range(5_001, 10_000)]
    assert {value for _, value in found} == {2}


def test_records_that_are_dropped_are_neither_in_the_runs_nor_among_the_failed() -> None:
    assert outcome(numbers(1, 0, 2), chain()) == ([(0, 2), (2, 4)], {})
    assert outcome(numbers(0, 0), chain()) == ([], {})


def test_what_becomes_another_schema_is_a_run_of_its_own_and_the_order_stays() -> None:
    done = chain().run(numbers(1, 7, 7, 2))
    assert [(list(run.indexes), run.schema) for run in done.runs] == [([0], NUMBER), ([1, 2], STRING), ([3], NUMBER)]


@pytest.mark.parametrize(
    ("negate", "found"),
    [(False, [(0, 1), (1, 4), (2, 3), (3, 12)]), (True, [(0, 2), (1, 2), (2, 6), (3, 6)])],
)
def test_a_predicate_chooses_and_negate_turns_it_round(negate: bool, found: list[tuple[int, int]]) -> None:
    assert outcome(numbers(1, 2, 3, 6), chain(predicate=True, negate=negate)) == (found, {})


def test_a_record_at_which_the_predicate_fails_is_bad_and_the_others_go_on() -> None:
    for negate in (False, True):
        found, failed = outcome(numbers(2, 13, 3, 200), chain(predicate=True, negate=negate))
        assert failed.pop(1) == "RecordError"
        assert 1 not in [index for index, _ in found]
        assert failed == ({} if negate else {3: "ValueError"})


@pytest.mark.parametrize(("value", "error"), [(-1, SystemAway), (-2, PermanentError)])
def test_what_is_beyond_one_record_is_raised(value: int, error: type[Exception]) -> None:
    with pytest.raises(error):
        chain().run(numbers(1, value))


def test_a_failure_keeps_the_value_as_it_came_to_the_step() -> None:
    done = Chain([*chain().steps, *chain().steps]).run(numbers(60))
    (failed,) = done.failed.values()
    assert (failed.step, failed.value, done.runs) == ("double", 120, [])


def test_what_no_step_changes_is_not_made_anew() -> None:
    texts = Records(Texts([b"a", b"b"]), range(2), "other")
    made = make(
        {
            "transforms": "r",
            "transforms.r.type": "regex_router",
            "transforms.r.regex": "x",
            "transforms.r.replacement": "y",
        }
    )
    assert made.run(texts).runs[0].values is texts.values


RIGHT = {
    "transforms": "keep, route",
    "transforms.keep.type": "replace_field",
    "transforms.keep.include": "a",
    "transforms.route.class": "org.apache.kafka.connect.transforms.RegexRouter",
    "transforms.route.regex": "a",
    "transforms.route.replacement": "b",
    "transforms.route.predicate": "topic",
    "predicates": "topic",
    "predicates.topic.type": "topic_matches",
    "predicates.topic.pattern": "a.*",
}


def test_a_right_configuration_is_made_in_its_order() -> None:
    assert problems(RIGHT) == []
    made = make(RIGHT)
    assert [(step.name, step.transform.name, step.predicate is not None) for step in made.steps] == [
        ("keep", "replace_field", False),
        ("route", "regex_router", True),
    ]
    assert not make({})


def test_the_names_of_kafka_connect_and_rocketmq_connect_say_key_or_value() -> None:
    for name, on in (("ReplaceField$Key", "key"), ("ReplaceField$Value", "value"), ("ReplaceField", "value")):
        raw = {**RIGHT, "transforms.keep.type": f"org.apache.kafka.connect.transforms.{name}"}
        assert make(raw).steps[0].transform.config["on"] == on


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"transforms.keep.type": "nothing"}, "transforms.keep.type: is not a transform"),
        ({"transforms.keep.type": ""}, "transforms.keep.type: is missing"),
        ({"transforms.keep.class": "filter"}, "transforms.keep.class: means the same as type"),
        ({"transforms.keep.includ": "x"}, "transforms.keep.includ: is not an option"),
        ({"transforms.keep.include": ""}, "transforms.keep: says neither"),
        ({"transforms.other.include": "x"}, "transforms.other: has options and is not named in transforms"),
        ({"transforms": "keep,route,keep"}, "transforms: names keep twice"),
        ({"transforms.keep.negate": "true"}, "transforms.keep.negate: turns round a predicate, and there is none"),
        ({"transforms.route.negate": "perhaps"}, "transforms.route.negate: is neither true nor false"),
        ({"transforms.route.predicate": "topics"}, "transforms.route.predicate: is not named in predicates"),
        ({"transforms.route.predicate": ""}, "predicates: is a predicate that no transform uses"),
        ({"predicates.topic.type": "nothing"}, "predicates.topic.type: is not a predicate"),
        ({"predicates.topic.pattern": "("}, "predicates.topic.pattern: is no regular expression"),
        ({"predicates.other.pattern": "("}, "predicates.other: has options and is not named in predicates"),
    ],
)
def test_what_is_wrong_is_told_with_its_key(change: Mapping[str, str], told: str) -> None:
    assert any(str(problem).startswith(told) for problem in problems({**RIGHT, **change})), problems({**RIGHT, **change})
    with pytest.raises(ConfigError):
        make({**RIGHT, **change})


def test_all_that_is_wrong_is_told_at_once() -> None:
    wrong = {**RIGHT, "transforms.keep.include": "", "transforms.route.regex": "(", "predicates.topic.pattern": "("}
    assert len(problems(wrong)) == 3


def test_each_transform_and_predicate_that_comes_with_the_sdk_says_what_it_does_and_documents_its_options() -> None:
    from rocketconnect_sdk.transforms import built_in_predicates, built_in_transforms

    kinds: Sequence[Any] = [*built_in_transforms().values(), *built_in_predicates().values()]
    assert len({kind.name for kind in kinds}) == len(kinds) > 0
    for kind in kinds:
        assert kind.__doc__
        assert all(option.doc for option in kind.options)
