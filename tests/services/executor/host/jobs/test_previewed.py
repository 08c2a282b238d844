"""What steps make of records, one by one."""

from rocketconnect_sdk.schema import Schema, Type
from rocketconnect_sdk.transforms import Records
from rocketconnect_sdk.transforms.chain import make
from services.executor.host.jobs.previewed import trace

NUMBER = Schema(Type.INT64)


def seen(raw: dict[str, str], *values: object) -> list[list[tuple[str, object]]]:
    chain = make(raw)
    try:
        found = trace(chain, Records(list(values), range(len(values)), "t", NUMBER))
    finally:
        chain.close()
    return [
        [(each.step, each.problem.partition(":")[0] or (each.record and each.record.value)) for each in found[index]]
        for index in range(len(values))
    ]


def test_a_record_has_no_steps_behind_the_one_that_left_it_out() -> None:
    raw = {
        "transforms": "cast,drop,wrap",
        "transforms.cast.type": "cast",
        "transforms.cast.spec": "int8",
        "transforms.drop.type": "filter",
        "transforms.drop.predicate": "seven",
        "transforms.wrap.type": "hoist_field",
        "transforms.wrap.field": "n",
        "predicates": "seven",
        "predicates.seven.type": "topic_matches",
        "predicates.seven.pattern": "other",
    }
    assert seen(raw, 1, 1000) == [[("cast", 1), ("drop", 1), ("wrap", {"n": 1})], [("cast", "RecordError")]]
    dropped = {**raw, "predicates.seven.pattern": "t"}
    assert seen(dropped, 1, 2) == [[("cast", 1), ("drop", None)], [("cast", 2), ("drop", None)]]


def test_what_a_step_changes_in_place_is_seen_as_it_was_before() -> None:
    raw = {"transforms": "a,b"}
    for name, field in (("a", "x"), ("b", "y")):
        raw |= {f"transforms.{name}.type": "hoist_field", f"transforms.{name}.field": field}
    assert seen(raw, 1) == [[("a", {"x": 1}), ("b", {"y": {"x": 1}})]]


def test_without_transforms_there_are_no_steps() -> None:
    assert seen({}, 1) == [[]]
