from pathlib import Path

import pytest

from rocketconnect_kit.settings import ServiceSettings, StoreSettings, load, parse_addresses


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in StoreSettings.model_fields:
        monkeypatch.delenv(f"ROCKETCONNECT_{name.upper()}", raising=False)


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
    for name in StoreSettings.model_fields:
        assert f"ROCKETCONNECT_{name.upper()}" in "".join(text.split())


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
