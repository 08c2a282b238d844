"""python calls functions of users, whatever they do."""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import ClassVar

import psutil
import pytest

from rocketconnect_sdk.conformance.transform import Example, TransformSuite
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.schema import STRING, Schema, Type
from rocketconnect_sdk.transforms import Record, Records
from rocketconnect_sdk.transforms.chain import make
from rocketconnect_sdk.transforms.processes.function import FunctionProcess

NUMBER = Schema(Type.INT64)
_MODULE = """
import os, signal, threading, time
from dataclasses import replace
from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.schema import STRING

value = 1

def double(record):
    return replace(record, value=record.value * 2)

def text(record):
    print("told")
    return replace(record, value=str(record.value), schema=STRING)

def wicked(record):
    match record.value:
        case "raise": raise LookupError("not there")
        case "drop": return None
        case "for ever":
            while True: pass
        case "asleep": time.sleep(1000)
        case "exit": os._exit(3)
        case "kill": os.kill(os.getpid(), signal.SIGKILL)
        case "strange": return 5
        case "not plain": return replace(record, value=threading.Lock())
        case "away": raise SystemAway("they are away", wait=0.5)
        case "later": raise RetriableError("later")
        case "never": raise PermanentError("never")
        case "pid": return replace(record, value=os.getpid())
    return replace(record, value=record.value.upper())
"""


@pytest.fixture(autouse=True, scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "users_functions.py").write_text(_MODULE)
    sys.path.insert(0, str(folder))
    yield
    sys.path.remove(str(folder))


@pytest.fixture
def wicked() -> Iterator[FunctionProcess]:
    process = FunctionProcess("users_functions:wicked", 1.0)
    yield process
    process.close()


def call(process: FunctionProcess, *values: str) -> list[object]:
    done = process.call([Record(value, STRING) for value in values])
    return [each.value if isinstance(each, Record) else each for each in done]


class TestPython(TransformSuite):
    transform: ClassVar[str] = "python"
    wrong: ClassVar = [
        ({}, "transforms.x.function"),
        ({"function": "users_functions"}, "is not MODULE:FUNCTION"),
        ({"function": "no_such_module:f"}, "could not be loaded: ModuleNotFoundError"),
        ({"function": "users_functions:nothing"}, "could not be loaded: AttributeError"),
        ({"function": "users_functions:value"}, "is no function, but int"),
        ({"function": "users_functions:double", "timeout": "0"}, "must be at least"),
    ]

    def examples(self) -> Sequence[Example]:
        ada = Record(21, NUMBER, "k", STRING, "t", 5, {"h": "1"})
        return [
            Example({"function": "users_functions:double"}, ada, Record(42, NUMBER, "k", STRING, "t", 5, {"h": "1"})),
            Example({"function": "users_functions:text"}, Record(1, NUMBER), Record("1", STRING)),
            Example({"function": "users_functions:double"}, Record({}, None), "unsupported operand"),
        ]


@pytest.mark.parametrize(
    ("poison", "why"),
    [
        ("raise", "LookupError: not there"),
        ("for ever", "has not ended after 1 s"),
        pytest.param("asleep", "has not ended after 1 s", marks=pytest.mark.slow),
        pytest.param("exit", "has ended its process", marks=pytest.mark.slow),
        ("kill", "has ended its process"),
        ("strange", "gave int instead of a Record or None"),
        ("not plain", "a value that is no plain one"),
    ],
)
def test_whatever_a_function_does_costs_that_record_and_no_other(wicked: FunctionProcess, poison: str, why: str) -> None:
    values = [f"a{number}" for number in range(300)]
    done = call(wicked, *values, poison, "drop", *values)
    upper = [value.upper() for value in values]
    bad = done[300]
    assert isinstance(bad, Exception)
    assert why in f"{type(bad).__name__}: {bad}"
    assert (done[:300], done[301:]) == (upper, [None, *upper])


@pytest.mark.slow
def test_two_records_at_which_it_never_ends_cost_two(wicked: FunctionProcess) -> None:
    done = call(wicked, "a", "for ever", "b", "asleep", "c")
    assert [each if isinstance(each, str) else "bad" for each in done] == ["A", "bad", "B", "bad", "C"]


def test_the_reason_says_where_in_the_function_it_was(wicked: FunctionProcess) -> None:
    (error,) = call(wicked, "raise")
    assert "users_functions.py, line " in str(error)
    assert "in wicked" in str(error)


@pytest.mark.parametrize(
    ("value", "kind", "wait"), [("away", SystemAway, 0.5), ("later", RetriableError, None), ("never", PermanentError, None)]
)
def test_what_is_beyond_one_record_is_raised_and_the_next_call_works(
    wicked: FunctionProcess, value: str, kind: type[Exception], wait: float | None
) -> None:
    with pytest.raises(kind, match=r"they are away|later|never") as raised:
        call(wicked, "a", value, "b")
    assert getattr(raised.value, "wait", None) == wait
    assert call(wicked, "a") == ["A"]


def test_one_process_serves_all_calls_and_ends_with_close(wicked: FunctionProcess) -> None:
    first, second = call(wicked, "pid"), call(wicked, "pid")
    assert first == second != [os.getpid()]
    wicked.close()
    assert isinstance(first[0], int)
    assert not psutil.pid_exists(first[0])


def test_a_process_that_was_killed_between_calls_costs_nothing(wicked: FunctionProcess) -> None:
    (pid,) = call(wicked, "pid")
    assert isinstance(pid, int)
    psutil.Process(pid).kill()
    time.sleep(0.1)
    assert call(wicked, "a", "b") == ["A", "B"]


def test_a_function_that_is_gone_fails_for_good() -> None:
    process = FunctionProcess("users_functions:gone", 1.0)
    with pytest.raises(PermanentError, match="users_functions:gone could not be loaded: AttributeError"):
        process.call([Record("a")])


def test_a_chain_ends_its_process() -> None:
    chain = make({"transforms": "x", "transforms.x.type": "python", "transforms.x.function": "users_functions:wicked"})
    (run,) = chain.run(Records(["pid"], [0], "t", STRING)).runs
    (pid,) = run.values
    assert isinstance(pid, int)
    chain.close()
    assert not psutil.pid_exists(pid)
