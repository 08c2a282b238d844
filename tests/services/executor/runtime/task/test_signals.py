from collections.abc import Mapping

import pytest

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import SystemAway
from rocketconnect_sdk.testing import ScriptedSourceTask
from services.executor.host.signals import problems_of
from services.executor.runtime.task.control import ENDED, Asked, TaskControl
from services.executor.runtime.task.signals import answer_signals
from tests.services.executor.runtime.conftest import RecordingReporter


class Obedient(ScriptedSourceTask):
    def signal(self, name: str, arguments: Mapping[str, str]) -> str:
        if name == "wrong":
            msg = "there is no such table"
            raise SystemAway(msg)
        if name == "broken":
            raise KeyError(name)
        return f"{name} done with {dict(arguments)}"


def told(task: ScriptedSourceTask, *names: str) -> tuple[list[tuple[str, str]], RecordingReporter]:
    control, reporter = TaskControl(), RecordingReporter()
    answers: list[tuple[str, str]] = []
    for name in names:
        control.signal(Asked(name, {"table": "t"}, lambda text, trouble: answers.append((text, trouble))))
    answer_signals(control, task, reporter)
    return answers, reporter


def test_a_task_answers_each_signal_in_turn_and_the_log_of_the_connector_tells_it() -> None:
    answers, reporter = told(Obedient([], TaskContext()), "first", "second")
    assert answers == [("first done with {'table': 't'}", ""), ("second done with {'table': 't'}", "")]
    assert reporter.logs[0] == ("INFO", "signal first table=t: first done with {'table': 't'}")


def test_what_a_task_can_t_do_is_told_and_does_not_end_it() -> None:
    answers, reporter = told(Obedient([], TaskContext()), "wrong", "broken", "good")
    (_, wrong), (_, broken), (good, _) = answers
    assert wrong == "there is no such table"
    assert broken.startswith("a defect of the connector: ")
    assert good.startswith("good done")
    assert [level for level, _ in reporter.logs] == ["WARNING", "WARNING", "INFO"]


def test_a_task_without_signals_says_so() -> None:
    ((_, trouble),), _ = told(ScriptedSourceTask([], TaskContext()), "snapshot")
    assert trouble == "ScriptedSourceTask does not know the signal 'snapshot'"


def test_who_waits_for_a_task_that_ends_hears_that_nothing_was_done_and_so_does_who_comes_later() -> None:
    control = TaskControl()
    answers: list[str] = []
    asked = Asked("snapshot", {}, lambda _, trouble: answers.append(trouble))
    control.signal(asked)
    assert answers == []
    control.over()
    control.signal(asked)
    assert answers == [ENDED, ENDED]


@pytest.mark.parametrize("config", [{"connector.class": "file_source"}, {"connector.class": "stdout"}])
def test_a_plugin_without_signals_takes_none(config: Mapping[str, str]) -> None:
    (problem,) = problems_of(config, "snapshot", {})
    assert (problem.key, problem.fix) == ("signal", "It takes none.")
