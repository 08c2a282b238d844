import os
import pwd
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.connectors.databases.certificates import Authority
from tests.servers.mariadb import Mariadb
from tests.servers.postgres import Postgres

PASSWORD = "the-secret-of-safe"
_RULES = """
hostssl all shows all trust clientcert=verify-ca
hostssl all safe all scram-sha-256
hostnossl all safe,shows all reject
host all all all trust
"""


@dataclass
class Secured:
    """A server that speaks TLS, with the users `safe`, only over TLS, and `shows`, who has to show a certificate besides.

    Attributes:
        port: Of 127.0.0.1.
        authority: Who signs the certificates that it takes, and its own.
        shows: Gives it a certificate and its key.
    """

    port: int
    authority: Authority
    shows: Callable[[tuple[Path, Path]], None]


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """One that servers of other users read."""
    made = Path(tempfile.mkdtemp(prefix="rocketconnect-tls-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_tls(folder: Path) -> Iterator[Secured]:
    authority = Authority(folder / "postgres")
    certificate, key, rules = (folder / name for name in ("postgres.pem", "postgres.key", "rules"))
    rules.write_text(_RULES)

    def place(files: tuple[Path, Path]) -> None:
        _place(files, (certificate, key), "nobody")

    place(authority.sign("127.0.0.1"))
    settings = {"ssl": "on", "ssl_cert_file": certificate, "ssl_key_file": key, "ssl_ca_file": authority.certificate}
    given = {name: str(value) for name, value in settings.items()}
    server = Postgres(fsync="off", wal_level="logical", hba_file=str(rules), **given)
    with server.running("test") as url:
        plain = url.replace("+psycopg", "")
        with psycopg.connect(plain, autocommit=True) as database:
            for user in ("safe", "shows"):
                database.execute(f"CREATE ROLE {user} SUPERUSER LOGIN PASSWORD '{PASSWORD}'".encode())
            database.execute("CREATE TABLE t (id int PRIMARY KEY)")

        def shows(files: tuple[Path, Path]) -> None:
            place(files)
            with psycopg.connect(plain, autocommit=True) as database:
                (before,) = database.execute("SELECT pg_conf_load_time()").fetchone() or (None,)
                database.execute("SELECT pg_reload_conf()")
                while database.execute("SELECT pg_conf_load_time() = %s", (before,)).fetchone() == (True,):
                    pass

        yield Secured(server.port, authority, shows)


@pytest.fixture(scope="session")
def mariadb_tls(folder: Path) -> Iterator[Secured]:
    authority = Authority(folder / "mariadb")
    files = folder / "mariadb.pem", folder / "mariadb.key"
    _place(authority.sign("127.0.0.1"), files, "")
    with Mariadb(ssl_cert=str(files[0]), ssl_key=str(files[1]), ssl_ca=str(authority.certificate)).running() as server:
        with server.connect() as connection, connection.cursor() as cursor:
            for user, needs in (("safe", "SSL"), ("shows", "X509")):
                cursor.execute(f"CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}' REQUIRE {needs}")
                cursor.execute(f"GRANT ALL ON *.* TO {user}@'%'")
            cursor.execute("CREATE DATABASE test")
            cursor.execute("CREATE TABLE test.t (id int PRIMARY KEY)")

        def shows(given: tuple[Path, Path]) -> None:
            _place(given, files, "")
            with server.connect() as connection, connection.cursor() as cursor:
                cursor.execute("FLUSH SSL")

        yield Secured(server.port, authority, shows)


@pytest.fixture(params=[pytest.param(name, marks=pytest.mark.slow) for name in ("postgres", "mariadb")])
def secured(request: pytest.FixtureRequest) -> Iterator[Secured]:
    """Each of them, with a good certificate at the end."""
    made: Secured = request.getfixturevalue(f"{request.param}_tls")
    yield made
    made.shows(made.authority.sign("127.0.0.1"))


def _place(files: tuple[Path, Path], into: tuple[Path, Path], owner: str) -> None:
    for source, target in zip(files, into, strict=True):
        made = target.with_suffix(".new")
        shutil.copyfile(source, made)
        made.chmod(0o600)
        if owner and os.geteuid() == 0:
            os.chown(made, pwd.getpwnam(owner).pw_uid, -1)
        made.replace(target)
