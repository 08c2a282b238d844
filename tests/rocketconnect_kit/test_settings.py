from dataclasses import dataclass, fields
from enum import StrEnum
from functools import partial
from pathlib import Path

import pytest

from rocketconnect_kit.settings import ServiceSettings, SettingsError, StoreSettings, load, parse_addresses, setting


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for each in fields(StoreSettings):
        monkeypatch.delenv(f"ROCKETCONNECT_{each.name.upper()}", raising=False)


def test_flags_win_over_the_environment_and_the_environment_over_defaults(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROCKETCONNECT_PORT", "7001")
    monkeypatch.setenv("ROCKETCONNECT_LOG_LEVEL", "DEBUG")
    settings = load(ServiceSettings, ["--port", "7002"])
    assert (settings.port, settings.log_level, settings.host) == (7002, "DEBUG", "127.0.0.1")


def test_every_problem_is_told_at_once_with_flag_variable_and_value(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("ROCKETCONNECT_METRICS_PORT", "99999")
    argv = ["--port", "eleven", "--config-address", "nowhere", "--tls-ca", str(tmp_path / "no.pem"), "--colour", "red"]
    with pytest.raises(SystemExit) as ended:
        load(ServiceSettings, argv)
    assert ended.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert "Traceback" not in " ".join(lines)
    for part in ("--port (or ROCKETCONNECT_PORT): 'eleven'", "99999", "'nowhere' is not an address", "no.pem", "--colour: not a"):
        assert any(part in line for line in lines), (part, lines)


def test_certificate_without_key_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "cert.pem").write_text("x")
    with pytest.raises(SystemExit):
        load(ServiceSettings, ["--tls-cert", str(tmp_path / "cert.pem")])
    assert "tls_cert and tls_key go together" in capsys.readouterr().err


def test_help_names_every_setting_and_its_variable(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        load(StoreSettings, ["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    for each in fields(StoreSettings):
        assert f"ROCKETCONNECT_{each.name.upper()}" in "".join(text.split())


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, kw_only=True)
class Painted(ServiceSettings):
    """For tests."""

    colour: Colour = setting(Colour.RED, "of the walls")
    glossy: bool = setting(False, "whether they shine")
    coats: float = setting(1.0, "how often", gt=0, le=9)
    password: str = setting("", "of the painter", secret=True, check=lambda value: parse_addresses(value and "wrong"))


def test_values_have_the_types_of_their_fields() -> None:
    read = load(Painted, ["--colour", "blue", "--glossy", "Yes", "--coats", "2.5", "--announce-fd", "7", "--tls-ca", __file__])
    assert (read.colour, read.glossy, read.coats, read.announce_fd, read.tls_ca) == (Colour.BLUE, True, 2.5, 7, Path(__file__))
    assert load(Painted, ["--glossy", "0"]).glossy is False


@pytest.mark.parametrize(
    ("flag", "text", "why"),
    [
        ("--colour", "green", "must be one of red, blue"),
        ("--log-format", "xml", "must be one of json, text"),
        ("--glossy", "maybe", "must be one of true, "),
        ("--coats", "many", "is not a number"),
        ("--coats", "0", "must be more than 0"),
        ("--coats", "9.5", "must be at most 9"),
        ("--coats", "nan", "must be more than 0"),
        ("--port", "1.5", "is not a whole number"),
        ("--port", "-1", "must be at least 0"),
        ("--port", "", "is not a whole number"),
    ],
)
def test_a_wrong_value_is_told_with_what_it_may_be(flag: str, text: str, why: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load(Painted, [f"{flag}={text}"])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"{flag} (or ROCKETCONNECT_{flag[2:].replace('-', '_').upper()}): {text!r}: {why}")


def test_a_wrong_secret_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        load(Painted, ["--password", "hunter2"])
    problems = capsys.readouterr().err
    assert "--password (or ROCKETCONNECT_PASSWORD): a secret: " in problems
    assert "hunter2" not in problems


def test_settings_that_are_made_in_code_are_checked_too() -> None:
    with pytest.raises(SettingsError, match="must be at most 65535") as raised:
        Painted(port=65536, coats=0)
    assert len(raised.value.problems) == 2


def test_the_store_is_a_file_in_the_data_directory_unless_a_url_is_given() -> None:
    assert load(StoreSettings, ["--data-dir", "/var/d"]).database_url("config") == "sqlite:////var/d/config.db"
    assert load(StoreSettings, ["--store-url", "postgresql://u:p@h/d"]).database_url("config") == "postgresql://u:p@h/d"


def test_the_password_of_a_store_shows_in_no_representation() -> None:
    settings = load(StoreSettings, ["--store-url", "postgresql://u:hunter2@h/d"])
    assert "hunter2" not in repr(settings)
    assert "hunter2" not in str(settings)


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("", []),
        ("localhost:80", [("127.0.0.1", 80)]),
        ("config.local:8090", [("config.local", 8090)]),
        ("10.0.0.1:1, 10.0.0.2:2", [("10.0.0.1", 1), ("10.0.0.2", 2)]),
        ("[::1]:80", [("::1", 80)]),
    ],
)
def test_addresses_are_read(text: str, pairs: list[tuple[str, int]]) -> None:
    assert parse_addresses(text) == pairs


@pytest.mark.parametrize("text", ["x", "x:", ":80", "x:0", "x:99999", "a.example:1,b.example:2", "h:80,"])
def test_wrong_addresses_are_refused_with_how_to_write_them(text: str) -> None:
    with pytest.raises(ValueError, match=r"write|written"):
        parse_addresses(text)


def test_calls_are_told_by_reflection_unless_callers_must_show_a_certificate() -> None:
    pem = Path(__file__)
    asking = partial(ServiceSettings, tls_cert=pem, tls_key=pem, tls_ca=pem)
    assert ServiceSettings().reflects
    assert asking(tls_verify_clients=False).reflects
    assert asking(reflection=True).reflects
    assert not asking().reflects
    assert not ServiceSettings(reflection=False).reflects


def test_what_listens_beyond_this_machine_asks_who_calls_and_speaks_tls_unless_it_is_told_otherwise(tmp_path: Path) -> None:
    pem = tmp_path / "x.pem"
    pem.write_text("")
    for host in ("127.0.0.1", "::1", "[::1]", "localhost", "127.3.4.5"):
        assert ServiceSettings(host=host).host == host
    for host in ("0.0.0.0", "::", "10.0.0.5", "gateway.example.org"):
        with pytest.raises(SettingsError) as told:
            ServiceSettings(host=host)
        (problem,) = told.value.problems
        assert f"--host {host} listens beyond this machine" in problem
        assert "give --tls-cert and --tls-key; and callers are not asked who they are: give --tokens-files" in problem
        assert ServiceSettings(host=host, insecure=True).host == host
    tls = {"tls_cert": pem, "tls_key": pem}
    with pytest.raises(SettingsError, match="callers are not asked"):
        ServiceSettings(host="::", **tls)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="can be read on the way"):
        ServiceSettings(host="::", tokens_files=str(pem))
    ServiceSettings(host="::", tokens_files=str(pem), **tls)  # type: ignore[arg-type]
    ServiceSettings(host="::", tls_ca=pem, **tls)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match="callers are not asked"):
        ServiceSettings(host="::", tls_ca=pem, tls_verify_clients=False, **tls)  # type: ignore[arg-type]


def test_files_of_callers_that_are_not_there_are_all_told(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("")
    with pytest.raises(SettingsError, match=r"there is no readable file .*/b, .*/c; `rocketconnect token create` makes one"):
        ServiceSettings(tokens_files=f"{tmp_path}/a, {tmp_path}/b,{tmp_path}/c")
