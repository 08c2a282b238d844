"""Secrets that are changed while tasks run with them."""

import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rocketconnect_kit.clock import boot_seconds
from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.options import Config, Option, parse
from services.executor.contract.endpoints import Endpoints
from services.executor.contract.task import Kind, TaskSpec
from services.executor.environment import FOLDERS, RELOAD_SECONDS, VARIABLES
from services.executor.host.reporter import TaskReporter
from services.executor.runtime import run
from services.executor.runtime.task.control import TaskControl
from services.executor.runtime.task.lease import Lease
from services.executor.secrets.renewal import BegunWith, Renewals
from services.executor.secrets.resolving import Finder
from tests.services.executor.secrets.providers.answering import TOKEN, answering, as_vault, told

Executor = Any
Plane = Any

PASSWORD = Option("password", "A secret.", secret=True)


def begun(raw: Mapping[str, str], environment: Mapping[str, str]) -> BegunWith:
    made = BegunWith(raw, environment)
    made.resolved([parse((PASSWORD,), raw, known_prefixes=("value.",))])
    return made


@pytest.fixture
def secrets(tmp_path: Path) -> Path:
    path = tmp_path / "secrets"
    path.write_text("db=first-password\nother=kept-as-it-is")
    return path


@pytest.fixture
def environment(secrets: Path) -> dict[str, str]:
    return {FOLDERS: str(secrets.parent), VARIABLES: "*", "HOST": "h", RELOAD_SECONDS: "0.1"}


def test_the_options_of_a_changed_secret_are_named_and_no_value_is(secrets: Path, environment: dict[str, str]) -> None:
    reference = f"${{file:{secrets}:db}}"
    raw = {"password": reference, "value.url": f"x://u:{reference}@${{env:HOST}}", "value.key": f"${{file:{secrets}:other}}"}
    task = begun(raw, environment)
    assert task.changed() == ""
    secrets.write_text("db=second-password\nother=kept-as-it-is")
    assert task.changed() == "password, value.url"
    assert "password" not in repr(vars(task)).replace("'password'", "").replace("value.url", "")


def test_a_secret_that_can_not_be_read_now_counts_as_it_was(secrets: Path, environment: dict[str, str]) -> None:
    task = begun({"password": f"${{file:{secrets}:db}}"}, environment)
    secrets.unlink()
    assert task.changed() == ""


def test_a_secret_of_vault_is_asked_for_once_for_all_tasks_that_have_it(tmp_path: Path) -> None:
    (tmp_path / "token").write_text(TOKEN)
    stored = {"secret/team/db": {"password": "first-password"}}
    with answering(as_vault(stored)) as vault:
        environment = told(vault.address, tmp_path / "token")
        tasks = [begun({"password": "${vault:secret/team/db:password}"}, environment) for _ in range(5)]
        vault.requests.clear()
        stored["secret/team/db"]["password"] = "second-password"
        finder = Finder(environment)
        assert [task.changed(finder) for task in tasks] == ["password"] * 5
        assert len(vault.requests) == 1
    assert tasks[0].changed() == ""


def test_what_follows_is_told_once_and_after_its_rest(secrets: Path, environment: dict[str, str]) -> None:
    told_of: dict[str, list[float]] = {"now": [], "later": [], "over": []}
    renewals = Renewals(environment)
    raw = {"password": f"${{file:{secrets}:db}}"}

    def note(who: str) -> Callable[[str], None]:
        def noted(why: str) -> None:
            assert why == "restarted for a changed secret: option password"
            told_of[who].append(time.monotonic())

        return noted

    with renewals.following(begun(raw, environment), 0, note("over")):
        pass
    with renewals.following(begun(raw, environment), 0, note("now")), renewals.following(begun(raw, environment), 1, note("later")):
        secrets.write_text("db=second-password")
        deadline = time.monotonic() + 60
        while not told_of["later"] and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.3)
    assert {who: len(times) for who, times in told_of.items()} == {"now": 1, "later": 1, "over": 0}
    assert told_of["later"][0] > told_of["now"][0] + 0.5


def test_nothing_is_looked_at_where_nothing_can_change_or_nobody_wants_it(secrets: Path, environment: dict[str, str]) -> None:
    before = threading.active_count()
    fixed, changing = begun({"password": "${env:HOST}"}, environment), begun({"password": f"${{file:{secrets}:db}}"}, environment)
    with Renewals(environment).following(fixed, 0, pytest.fail):
        assert threading.active_count() == before
    with Renewals(environment | {RELOAD_SECONDS: "0"}).following(changing, 0, pytest.fail):
        assert threading.active_count() == before


@pytest.mark.parametrize("reload", ["restart", "none"])
def test_a_task_that_fails_with_a_secret_that_has_changed_begins_anew_with_the_other_one(
    reload: str, secrets: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: object, **_: object) -> None:
        (with_old,) = [one for one in given if isinstance(one, BegunWith)]
        (config,) = with_old.resolved([parse((PASSWORD,), {"password": f"${{file:{secrets}:db}}"})])
        secrets.write_text("db=second-password")
        _refuse(config)

    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(run, "_run", fails)
    raw = {"connector.class": "x", "password": f"${{file:{secrets}:db}}", "config.action.reload": reload}
    spec = TaskSpec(Kind.SOURCE, "orders", "uid", 1, 1, 0, 1, 1, raw)
    lease = Lease()
    lease.renew(boot_seconds() + 60)
    reporter = TaskReporter(1, threading.Event())
    outcome = run.run_task(spec, TaskControl(), lease, reporter, Endpoints("", ""), renewals=Renewals(environment))
    assert outcome.failed
    said = "restarted for a changed secret: option password; with the one before it failed: *** was refused"
    assert outcome.anew == (said if reload == "restart" else "")


def _refuse(config: Config) -> None:
    msg = f"{config['password']} was refused"
    raise PermanentError(msg)


def test_a_task_begins_anew_when_its_secret_is_changed_and_no_other_does(
    start_executor: Callable[..., Executor], plane: Plane, secrets: Path
) -> None:
    executor = start_executor(secret_folders=str(secrets.parent), secret_reload_seconds="1")
    plane.wait_for(lambda: plane.registrations)
    of_db, of_other = f"${{file:{secrets}:db}}", f"${{file:{secrets}:other}}"
    plane.assign("changed", password=of_db)
    plane.assign("other", password=of_other)
    plane.assign("let-be", password=of_db, config_action_reload="none")
    plane.wait_for(lambda: all(plane.state(uid) == "WAITING" for uid in ("changed", "other", "let-be")))
    secrets.write_text("db=second-password\nother=kept-as-it-is")
    plane.wait_for(lambda: ("changed", 0, "RESTARTING") in plane.history)
    plane.wait_for(lambda: plane.state("changed") == "WAITING" and plane.reports["changed", 0].restarts == 1)
    assert "restarted for a changed secret: option password" in plane.logs
    assert plane.reports["changed", 0].metrics.errors == 0
    time.sleep(2.5)
    assert {uid: plane.reports[uid, 0].restarts for uid in ("changed", "other", "let-be")} == {
        "changed": 1,
        "other": 0,
        "let-be": 0,
    }
    assert not plane.releases
    assert not [text for text in (executor.log, *plane.logs) if "first-password" in text or "second-password" in text]
