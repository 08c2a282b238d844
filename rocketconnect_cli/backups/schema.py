"""Which tables a service has at a revision of its schema, and how they are made: by the migrations of the service."""

import importlib.util
from functools import cache
from pathlib import Path

import sqlalchemy as sa

from rocketconnect_kit.store.schema import Applied
from rocketconnect_kit.store.versions import upgrade


@cache
def revisions(service: str) -> tuple[str, ...]:
    """Return all revisions that are known here, the oldest first."""
    return tuple(sorted(path.stem[1:].partition("_")[0] for path in _folder(service).glob("v[0-9]*.py")))


@cache
def tables(service: str, revision: str) -> frozenset[str]:
    """Return the names of all tables at a revision, with those that keep the revision itself."""
    scratch = sa.create_engine("sqlite://")
    try:
        with scratch.begin() as connection:
            make(connection, service, revision)
            return frozenset(sa.inspect(connection).get_table_names())
    finally:
        scratch.dispose()


def keeps_rows(service: str, table: str) -> bool:
    """Whether a table has what the service keeps, and not the revision of its tables, which making them writes."""
    return not table.startswith(f"{service}_schema")


def revision_of(connection: sa.Connection, service: str) -> str:
    """Return the revision of the tables that are there; empty: there are none."""
    last = Applied(service).last(connection)
    return last.number if last is not None else Applied(service).mark(connection)


def make(connection: sa.Connection, service: str, revision: str) -> None:
    """Make the empty tables of a revision, in the transaction of the connection, where there are none."""
    upgrade(connection, _folder(service), service, revision)


def _folder(service: str) -> Path:
    spec = importlib.util.find_spec(f"services.{service}")
    if spec is None or spec.origin is None:
        msg = f"no package services.{service}"
        raise ModuleNotFoundError(msg)
    return Path(spec.origin).parent / "migrations"
