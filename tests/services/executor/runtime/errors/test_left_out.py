"""What is known of a record that was left out."""

from rocketconnect_sdk.stages import Stage
from services.executor.contract.metrics import TaskMetrics
from services.executor.contract.spans import Span
from services.executor.contract.task import State
from services.executor.runtime.errors.failure import Failure, place_of
from services.executor.runtime.errors.left_out import leave_out
from services.executor.runtime.errors.policy import ErrorPolicy
from services.executor.secrets.resolving import remember
from services.executor.wire import metrics


class Told:
    """A reporter that keeps what is logged."""

    def __init__(self) -> None:
        self.metrics = TaskMetrics()
        self.logged: list[str] = []

    def state(self, state: State, trace: str = "") -> None: ...

    def doing(self, what: str) -> None: ...

    def progress(self) -> None: ...

    def work(self, has_work: bool) -> None: ...

    def ask_for_plan(self) -> None: ...

    def span(self, span: Span) -> None: ...

    def log(self, level: str, message: str) -> None:
        self.logged.append(f"{level}: {message}")


def left_out(dead_letters: str, text: str = "bad", *, log: bool = True) -> Told:
    told = Told()
    policy = ErrorPolicy(tolerant=True, dead_letter_topic=dead_letters, properties=True, log=log, log_values=True)
    for number in (7, 8):
        leave_out(policy, told, Failure.of_value(Stage.CONVERT, ValueError(text), "content", object), place_of("p", (number,)))
    return told


def test_the_last_one_is_known_with_its_place_its_reason_and_where_it_went_also_where_nothing_is_logged() -> None:
    told = left_out("dead", log=False)
    last = "source partition p, record before offset 8: convert: ValueError: bad; it goes to the topic dead"
    assert metrics(told.metrics).last_left_out == last
    assert (told.metrics.errors, told.metrics.records_skipped, told.logged) == (2, 0, [])
    assert left_out("").metrics.last_left_out.endswith("; it is dropped")
    assert left_out("").metrics.records_skipped == 2


def test_neither_its_content_nor_a_secret_is_in_it_and_it_is_short() -> None:
    remember("tr0ub4dor")
    last = left_out("dead", "tr0ub4dor " * 1_000).metrics.last_left_out
    assert "tr0ub4dor" not in last
    assert "content" not in last
    assert len(last) <= 1_000
