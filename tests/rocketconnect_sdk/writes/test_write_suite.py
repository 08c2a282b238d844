"""The conformance suite sees what is wrong with a sink of keys."""

from collections.abc import Mapping, Sequence
from functools import partial

import pytest

from rocketconnect_sdk.conformance import SinkCase, SinkSuite
from rocketconnect_sdk.conformance.write import WriteSuite
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import DELETE_ENABLED, Addressing, Connection, Op, Operation, Template, WriteSink, template_option

_TESTS = [name for name in vars(WriteSuite) if name.startswith("test_")]


class Kept(WriteSink):
    """Values by key, in memory."""

    name = "kept_sink"
    guarantee = Guarantee.IDEMPOTENT
    options = (template_option("key", "The key.", "${key}"), DELETE_ENABLED, *WriteSink.options)

    def __init__(self, kept: dict[str, str], fault: str) -> None:
        self._kept = kept
        self._fault = fault

    def addressing(self, config: Config) -> Addressing:
        return Addressing(key=Template.of(config["key"]), deletes=config["delete.enabled"])

    def connect(self, config: Config, context: TaskContext) -> Connection:
        del config, context
        return Memory(self._kept, self._fault)


class Memory(Connection):
    def __init__(self, kept: dict[str, str], fault: str) -> None:
        self._kept = kept
        self._fault = fault

    def ping(self) -> None:
        pass

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        refused: dict[int, str] = {}
        puts_first = self._fault == "deletions come last"
        for index, operation in sorted(enumerate(operations), key=lambda each: puts_first and each[1].op is Op.DELETE):
            if operation.op is Op.PUT:
                if self._fault == "the first value stays":
                    self._kept.setdefault(operation.key, operation.value.decode())
                else:
                    self._kept[operation.key] = operation.value.decode()
            elif self._fault == "what is gone cannot be deleted" and operation.key not in self._kept:
                refused[index] = "there is no such key"
            elif self._fault == "a deletion takes all":
                self._kept.clear()
            elif self._fault != "deletions are left out":
                self._kept.pop(operation.key, None)
        return refused

    def close(self) -> None:
        pass


def failed(fault: str, keyed: Mapping[str, str] | None) -> list[str]:
    """The tests of the suite that fail."""
    wrong: list[str] = []
    for name in _TESTS:
        kept: dict[str, str] = {}
        try:
            case = SinkCase(Kept(kept, fault), {"key": "${queue}-${offset}"}, partial(list, kept.values()), keyed=keyed)
            getattr(WriteSuite(), name)(case)
        except Exception:  # whatever it is, pytest would call it a failure
            wrong.append(name)
    return wrong


KEYED = {"key": "${key}", "delete.enabled": "true"}


def test_a_sink_that_keeps_the_newest_value_of_each_key_passes() -> None:
    assert failed("", KEYED) == []


@pytest.mark.parametrize(
    ("fault", "test"),
    [
        ("the first value stays", "test_of_each_key_the_newest_value_is_there"),
        ("deletions are left out", "test_a_record_without_a_value_deletes_what_its_key_names"),
        ("a deletion takes all", "test_a_record_without_a_value_deletes_what_its_key_names"),
        ("deletions come last", "test_changes_of_a_key_are_made_in_their_order"),
        ("what is gone cannot be deleted", "test_what_is_not_there_can_be_deleted"),
        ("what is gone cannot be deleted", "test_changes_that_the_next_owner_makes_again_are_there_as_if_made_once"),
    ],
)
def test_a_sink_with_a_fault_fails_the_test_of_it(fault: str, test: str) -> None:
    assert test in failed(fault, KEYED)


def test_a_sink_of_which_no_call_is_known_is_not_said_to_survive_its_death() -> None:
    kept: dict[str, str] = {}
    case = SinkCase(Kept(kept, ""), {"key": "${queue}-${offset}"}, partial(list, kept.values()))
    with pytest.raises(pytest.skip.Exception, match="never killed: name in `calls`"):
        SinkSuite().killed_at_steps(case)


def test_a_sink_whose_records_have_no_keys_is_not_asked_for_them() -> None:
    with pytest.raises(pytest.skip.Exception, match="keyed"):
        WriteSuite().test_what_is_not_there_can_be_deleted(SinkCase(Kept({}, ""), {}, list))
