"""References to secrets: resolved, reported when they stand for nothing, and hidden in texts."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rocketconnect_sdk.errors import ConfigError, SystemAway
from rocketconnect_sdk.options import Config, Option, parse
from rocketconnect_sdk.permissions.roots import OWN_FILES
from services.executor.environment import FOLDERS, VARIABLES
from services.executor.secrets.resolving import Redactor, hide, resolve, resolve_known, resolve_values, unread
from tests.services.executor.secrets.providers.answering import answering, told

ANY = {VARIABLES: "*", FOLDERS: "/"}
"""Connectors may read whatever this process may."""

OPTIONS = (Option("url", "Where."), Option("password", "A secret.", secret=True))


def config(**raw: str) -> Config:
    return parse(OPTIONS, raw, known_prefixes=("value.converter.",))


def test_references_to_the_environment_and_to_files_are_resolved_in_parsed_and_raw_values(tmp_path: Path) -> None:
    secrets = tmp_path / "with:colon.properties"
    secrets.write_text("# comment = x\nother=1\npass word = fr0m=file \n")
    resolved = resolve(config(url="jdbc://${env:HOST}/x", password=f"${{file:{secrets}:pass word}}"), {"HOST": "db-host", **ANY})
    assert (resolved["url"], resolved["password"]) == ("jdbc://db-host/x", "fr0m=file")
    assert resolved.raw == {"url": "jdbc://db-host/x", "password": "fr0m=file"}
    assert hide("to db-host with fr0m=file") == "to *** with ***"


def test_what_is_a_plugins_own_is_resolved_and_stays_its_own() -> None:
    given = config(url="x", password="${env:SECRET}").owning({"value.converter.token": "${env:SECRET}", "transforms": "one"})
    for resolved in (resolve(given, {"SECRET": "known", **ANY}), resolve_known(given, {"SECRET": "known", **ANY})):
        assert resolved.own == {"value.converter.token": "known", "transforms": "one"}
    with pytest.raises(ConfigError, match="NOTHING"):
        resolve(config(url="x").owning({"value.converter.token": "${env:NOTHING}"}), ANY)


def test_every_reference_that_stands_for_nothing_is_named_at_once_and_no_value_is_shown(tmp_path: Path) -> None:
    secrets = tmp_path / "secrets"
    secrets.write_text("known=hidden-value")
    raw = {
        "password": f"${{file:{secrets}:unknown}}",
        "url": "${env:NOT_THERE}",
        "value.converter.key": "${file:/not/there:key}",
    }
    with pytest.raises(ConfigError) as raised:
        resolve(config(**raw), ANY)
    assert {(problem.key, problem.value) for problem in raised.value.problems} == set(raw.items())
    assert "hidden-value" not in str(raised.value)
    assert all(problem.fix for problem in raised.value.problems)


@pytest.mark.parametrize("reference", ["${file:x}", "${file::key}"])
def test_a_reference_that_can_never_be_resolved_says_how_to_write_one(reference: str) -> None:
    with pytest.raises(ConfigError, match=r"\$\{file:PATH:KEY\}"):
        resolve_values({"spark.secret": reference}, ANY)


def test_values_of_a_spark_profile_are_resolved() -> None:
    assert resolve_values({"spark.key": "${env:KEY}", "spark.other": "plain"}, {"KEY": "abcdef", **ANY}) == {
        "spark.key": "abcdef",
        "spark.other": "plain",
    }


@given(secret=st.text(min_size=3, max_size=20), before=st.text(max_size=5), after=st.text(max_size=5))
def test_a_secret_is_hidden_wherever_it_stands(secret: str, before: str, after: str) -> None:
    redactor = Redactor()
    redactor.add(secret)
    assert secret not in redactor.hide(before + secret + after).replace("***", "\0") or secret in "***"


def test_the_forms_in_which_errors_quote_a_secret_are_hidden_too() -> None:
    redactor = Redactor()
    redactor.add("p@ss/w'ord\nsecond line")
    text = "https://u:p%40ss%2Fw%27ord%0Asecond%20line@host " + repr("p@ss/w'ord\nsecond line") + " second line"
    hidden = redactor.hide(text)
    assert not any(part in hidden for part in ("ss/w", "ss%2F", "second"))


def test_a_secret_that_begins_with_another_one_is_hidden_whole() -> None:
    redactor = Redactor()
    redactor.add("secret")
    redactor.add("secret-longer")
    assert redactor.hide("secret-longer") == "***"


def test_what_is_no_text_is_shown_in_a_form_that_can_be_sent() -> None:
    assert hide(os.fsdecode(b"caf\xe9.txt")) == "caf\\udce9.txt"


def test_for_a_check_what_stands_for_nothing_here_stays_a_reference_and_what_is_known_is_hidden() -> None:
    found = resolve_known(config(url="${env:KNOWN_PLACE}", password="${env:NOT_THERE}"), {"KNOWN_PLACE": "the-known-place", **ANY})
    assert (found["url"], found["password"]) == ("the-known-place", "${env:NOT_THERE}")
    assert hide("at the-known-place") == "at ***"


def refusal(reference: str, environment: dict[str, str]) -> str:
    with pytest.raises(ConfigError) as raised:
        resolve(config(url="x", password=reference), environment)
    (problem,) = raised.value.problems
    assert problem.value == reference
    return f"{problem.reason}. {problem.fix}"


def test_a_variable_is_read_only_when_the_operator_allows_it_by_name_or_by_its_beginning() -> None:
    environment = {VARIABLES: "DB_PASSWORD, KAFKA_*", "DB_PASSWORD": "aaaa", "KAFKA_PASSWORD": "bbbb", "DB_PASSWORD_2": "cccc"}
    assert resolve(config(url="x", password="${env:DB_PASSWORD}"), environment)["password"] == "aaaa"
    assert resolve(config(url="x", password="${env:KAFKA_PASSWORD}"), environment)["password"] == "bbbb"
    assert "lets no connector read. Add DB_PASSWORD_2 to" in refusal("${env:DB_PASSWORD_2}", environment)
    assert "lets no connector read" in refusal("${env:DB_PASSWORD}", {"DB_PASSWORD": "aaaa"})


def test_what_services_are_told_is_read_by_no_connector_whatever_is_allowed() -> None:
    environment = {**ANY, "ROCKETCONNECT_ROCKETMQ_SECRET_KEY": "aaaa"}
    assert "lets no connector read" in refusal("${env:ROCKETCONNECT_ROCKETMQ_SECRET_KEY}", environment)


def test_a_file_is_read_only_in_a_folder_that_the_operator_allows_wherever_links_lead(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file").write_text("key=value-of-it")
    (inside / "link").symlink_to(outside / "file")
    (outside / "link").symlink_to(inside / "file")
    (tmp_path / "inside-too").symlink_to(inside)
    environment = {FOLDERS: f"/nowhere:{inside}"}
    for path in (inside / "file", outside / "link", tmp_path / "inside-too" / "file", inside / ".." / "inside" / "file"):
        assert resolve(config(url="x", password=f"${{file:{path}:key}}"), environment)["password"] == "value-of-it"
    for path in (outside / "file", inside / "link", inside / ".." / "outside" / "file", outside / "not-there"):
        assert "lets no connector read" in refusal(f"${{file:{path}:key}}", environment)
    assert "lets no connector read" in refusal(f"${{file:{inside / 'file'}:key}}", {})


def test_what_is_the_executors_own_is_no_file_of_secrets_wherever_it_is(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("key=the-token")
    (tmp_path / "link").symlink_to(tmp_path / "token")
    assert resolve(config(url="x", password=f"${{file:{tmp_path}/link:key}}"), ANY)["password"] == "the-token"
    for path in (tmp_path / "token", tmp_path / "link"):
        assert "lets no connector read" in refusal(f"${{file:{path}:key}}", {**ANY, OWN_FILES: str(tmp_path / "link")})


def test_while_vault_can_not_tell_what_is_looked_up_is_away_and_what_is_checked_stays_a_reference(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s.token")
    with answering(lambda _: (503, {}, b"")) as server:
        given, environment = config(url="x", password="${vault:secret/team/db:key}"), told(server.address, tmp_path / "token")
        with pytest.raises(SystemAway, match="sealed or starting"):
            resolve(given, environment)
        assert resolve_known(given, environment)["password"] == "${vault:secret/team/db:key}"


def test_what_cannot_be_read_is_told_under_its_option_as_a_warning_and_who_is_away_is_asked_once(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("s.token")
    asked: list[object] = []

    def away(request: object) -> tuple[int, dict[str, str], bytes]:
        asked.append(request)
        return 503, {}, b""

    with answering(away) as server:
        raw = {
            "url": "${env:KNOWN_PLACE}/${env:NOT_THERE}",
            "password": "${vault:secret/team/db:key}",
            "value.converter.key": "${vault:secret/team/db:other}",
            "topic": "plain",
        }
        environment = {**told(server.address, tmp_path / "token"), "KNOWN_PLACE": "the-known-place", VARIABLES: "*"}
        problems = unread(raw, environment)
    assert [(each.key, each.value) for each in problems] == [
        ("url", "${env:NOT_THERE}"),
        ("password", "${vault:secret/team/db:key}"),
        ("value.converter.key", "${vault:secret/team/db:other}"),
    ]
    assert all(each.is_warning and each.fix for each in problems)
    assert "sealed or starting" in problems[2].reason
    once = len(asked)
    with answering(away) as server:
        unread({"password": "${vault:secret/team/db:key}"}, told(server.address, tmp_path / "token"))
    assert once == len(asked) - once


@pytest.mark.parametrize(
    "path", ["/proc/self/environ", "/sys/kernel/uevent_seqnum", "/dev/stdin", "/proc/self/root/proc/self/environ"]
)
def test_what_the_kernel_tells_is_no_file_of_secrets_whatever_is_allowed(path: str) -> None:
    assert "lets no connector read" in refusal(f"${{file:{path}:key}}", ANY)


def test_a_pipe_in_the_place_of_a_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert "lets no connector read" in refusal(f"${{file:{tmp_path / 'pipe'}:key}}", ANY)
