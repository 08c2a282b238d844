"""What holds for the secrets of every kind, wherever they are."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from rocketconnect_kit.sealing import Keys, new_key
from rocketconnect_sdk.configuration.references import FORMS, REFERENCE, REFERENCE_FIX, wrong_reference
from services.executor.environment import FOLDERS, VARIABLES
from services.executor.secrets.providers import Provider, Unresolved, providers
from tests.services.executor.secrets.providers.answering import TOKEN, answering, as_vault, told
from tests.services.executor.secrets.providers.sealed import serving
from tests.services.executor.secrets.providers.sealed import told as sealed_told

VALUE = "the-value-of-it"
OTHER = "what-stands-beside-it"
"""Another secret in the same place."""


@dataclass(frozen=True)
class Case:
    """A provider with a secret, VALUE.

    Attributes:
        environment: With it the secret may be read.
        forbidding: The same when the operator has allowed something else.
        known: The name of the secret.
        absent: Names of secrets that may be read and are not there.
        broken: Names that can't be one.
    """

    environment: Mapping[str, str]
    forbidding: Mapping[str, str]
    known: str
    absent: tuple[str, ...]
    broken: tuple[str, ...] = ()


@contextmanager
def variables(_: Path) -> Iterator[Case]:
    there = {"DB_PASSWORD": VALUE, "DB_USER": OTHER}
    yield Case({**there, VARIABLES: "DB_*"}, {**there, VARIABLES: "DB_USER"}, "DB_PASSWORD", ("DB_NAME",))


@contextmanager
def files(folder: Path) -> Iterator[Case]:
    (folder / "db").write_text(f"user={OTHER}\npassword = {VALUE}\n")
    (folder / "binary").write_bytes(f"password={OTHER}".encode() + b"\xff")
    absent = tuple(f"{folder}/{name}" for name in ("db:name", "none:password", "binary:password"))
    yield Case({FOLDERS: str(folder)}, {FOLDERS: "/run/secrets"}, f"{folder}/db:password", absent, (str(folder), ":key", "/db:"))


@contextmanager
def vault(folder: Path) -> Iterator[Case]:
    (folder / "token").write_text(TOKEN)
    with answering(as_vault({"secret/team/db": {"password": VALUE, "user": OTHER}})) as server:
        yield Case(
            told(server.address, folder / "token"),
            told(server.address, folder / "token", paths="secret/other"),
            "secret/team/db:password",
            ("secret/team/db:name", "secret/team/none:password"),
            ("secret/team/db", ":password", "secret/team/db:"),
        )


@contextmanager
def keystore(folder: Path) -> Iterator[Case]:
    file = folder / "keys"
    file.write_text(new_key())
    file.chmod(0o600)
    keys = Keys.read(file)
    with serving({"db.password": keys.seal("db.password", VALUE), "db.broken": keys.seal("db.user", OTHER)}) as (address, _):
        yield Case(
            sealed_told(address, file), sealed_told(address, file, "db.user"), "db.password", ("db.name", "db.broken", "a/b")
        )


CASES: dict[str, Callable[[Path], AbstractContextManager[Case]]] = {
    "env": variables,
    "file": files,
    "vault": vault,
    "keystore": keystore,
}


@pytest.fixture(params=sorted(FORMS))
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def case(kind: str, tmp_path: Path) -> Iterator[Case]:
    with CASES[kind](tmp_path) as made:
        yield made


def refused(provider: Provider, name: str) -> Unresolved:
    """How it is refused: with a reason and a fix, and without anything that is there, also in what led to it."""
    with pytest.raises(Unresolved) as raised:
        provider.look_up(name)
    shown = "".join(traceback.format_exception(raised.value)) + raised.value.reason + raised.value.fix
    assert VALUE not in shown
    assert OTHER not in shown
    assert raised.value.reason
    assert raised.value.fix.endswith(".")
    return raised.value


def test_every_form_of_a_reference_has_a_provider() -> None:
    assert providers({}).keys() == FORMS.keys()
    assert all(str(form) in REFERENCE_FIX for form in FORMS.values())


def test_a_secret_is_found_as_often_as_it_is_asked_for(kind: str, case: Case) -> None:
    assert wrong_reference(f"${{{kind}:{case.known}}}") is None
    provider = providers(case.environment)[kind]
    assert [provider.look_up(case.known), provider.look_up(case.known)] == [VALUE, VALUE]


def test_what_is_not_there_is_said_with_what_to_do_and_shows_nothing_that_is(kind: str, case: Case) -> None:
    for name in case.absent:
        refused(providers(case.environment)[kind], name)


def test_nothing_is_read_that_the_operator_has_not_allowed_and_whether_it_is_there_is_not_told(kind: str, case: Case) -> None:
    for environment in ({}, case.forbidding):
        provider = providers(environment)[kind]
        known, absent = refused(provider, case.known), refused(provider, case.absent[0])
        assert "lets no connector read" in known.reason
        assert known.reason == absent.reason


def test_a_name_that_can_be_none_is_refused_before_and_where_it_is_looked_up(kind: str, case: Case) -> None:
    for name in case.broken:
        text = f"${{{kind}:{name}}}"
        assert REFERENCE.fullmatch(text)
        assert (wrong_reference(text) or "").startswith("does not name a ")
        assert str(FORMS[kind]) in refused(providers(case.environment)[kind], name).fix
