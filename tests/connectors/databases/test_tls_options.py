"""What options say of TLS, and what checks say of them."""

from pathlib import Path

import pytest

from connectors.databases.tls import TLS, tls_of, tls_problems
from connectors.mysql_cdc_source import MysqlCdcSource
from connectors.mysql_cdc_source.settings import login_of
from connectors.postgres_cdc_source import PostgresCdcSource
from connectors.postgres_cdc_source.settings import address_of
from rocketconnect_sdk.options import Kind, Option, parse
from tests.connectors.databases.certificates import Authority

OPTIONS = (*TLS, Option("password", "The password.", Kind.STRING))


def told(host: str = "db.example", **options: str) -> list[tuple[str, bool]]:
    config = parse(OPTIONS, {name.replace("_", "."): text for name, text in options.items()})
    return [(each.key, each.is_warning) for each in tls_problems(config, host)]


@pytest.mark.parametrize(
    ("host", "mode", "warned"),
    [
        ("db.example", "disable", True),
        ("db.example", "prefer", True),
        ("db.example", "require", True),
        ("db.example", "verify-full", False),
        ("localhost", "disable", False),
        ("127.0.0.7", "prefer", False),
        ("[::1]", "prefer", False),
        ("/run/postgresql", "prefer", False),
        ("localhost,10.0.0.1", "prefer", True),
    ],
)
def test_a_password_for_whoever_answers_beyond_this_machine_is_a_warning(host: str, mode: str, *, warned: bool) -> None:
    assert told(host, ssl_mode=mode, password="secret") == [("ssl.mode", True)] * warned
    assert told(host, ssl_mode=mode) == []


def test_options_that_mean_nothing_are_told(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    certificate, key = map(str, authority.sign("client"))
    ca = str(authority.certificate)
    assert told(ssl_mode="verify-ca") == [("ssl.ca.location", False)]
    assert told(ssl_mode="prefer", ssl_ca_location=ca) == [("ssl.ca.location", True)]
    assert told(ssl_mode="disable", ssl_certificate_location=certificate, ssl_key_location=key) == [
        ("ssl.certificate.location", False)
    ]
    assert told(ssl_key_location=key) == [("ssl.key.location", False)]
    assert told(ssl_mode="verify-full", ssl_ca_location=f"{ca}.not") == [("ssl.ca.location", False)]
    assert told(ssl_mode="verify-full", ssl_certificate_location=certificate) == [("ssl.certificate.location", False)]
    good = {"ssl_certificate_location": certificate, "ssl_key_location": key, "ssl_ca_location": ca}
    assert told(ssl_mode="verify-full", **good) == []


def test_a_certificate_of_our_own_is_never_offered_without_encryption(tmp_path: Path) -> None:
    certificate, key = map(str, Authority(tmp_path).sign("client"))
    config = parse(OPTIONS, {"ssl.certificate.location": certificate, "ssl.key.location": key})
    assert tls_of(config).libpq() == {"sslmode": "require", "sslcert": certificate, "sslkey": key}
    assert "ssl" in tls_of(config).pymysql()


def test_without_an_authority_the_name_is_verified_by_those_that_the_system_trusts() -> None:
    found = tls_of(parse(OPTIONS, {"ssl.mode": "verify-full"})).libpq()
    assert found["sslmode"] == "verify-full"
    assert found["sslrootcert"] == "system" or Path(found["sslrootcert"]).is_file()


def test_the_older_names_of_the_sources_of_changes_say_the_same() -> None:
    postgres = {"hostname": "h", "database": "d", "username": "u", "sslmode": "verify-ca", "sslrootcert": "/ca"}
    options = address_of(parse(PostgresCdcSource().options, postgres)).options
    assert options == {"sslmode": "verify-ca", "sslrootcert": "/ca"}
    mysql = {"hostname": "h", "username": "u"}
    for given, mode in (
        ({}, "prefer"),
        ({"tls": "false"}, "disable"),
        ({"tls": "true"}, "require"),
        ({"tls": "true", "tls.ca": "/ca"}, "verify-full"),
        ({"ssl.mode": "verify-ca", "tls.ca": "/ca"}, "verify-ca"),
    ):
        found = login_of(parse(MysqlCdcSource().options, {**mysql, **given})).tls
        assert (found.mode, found.files.ca) == (mode, given.get("tls.ca", ""))
