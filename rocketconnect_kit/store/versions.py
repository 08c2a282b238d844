"""Migrations, applied with the operations of Alembic. Apart from the stores, so that no service has to load it."""

from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import sqlalchemy as sa
from alembic.migration import MigrationContext
from alembic.operations import Operations

from rocketconnect_kit.store.schema import Applied, Revision, known, too_new


def upgrade(connection: sa.Connection, folder: Path, service: str, until: str = "") -> None:
    """Apply, in the transaction of the connection, the migrations of `service` in `folder` that its tables do not have.

    Tables that have more than is in the folder are left as they are. With `until` the migrations end with that revision.

    Raises:
        FailedPrecondition: STORE_TOO_NEW, for tables of before 0.1.0 was followed that have a revision which nobody knows.
    """
    applied, revisions = Applied(service), known(folder)
    last = applied.last(connection)
    reached = last.number if last is not None else _adopted(connection, applied, list(revisions), service)
    context = MigrationContext.configure(connection)
    for revision, path in revisions.items():
        if reached < revision.number <= (until or revision.number):
            with Operations.context(context):
                _run(path)
            applied.add(connection, revision)


def _adopted(connection: sa.Connection, applied: Applied, revisions: list[Revision], service: str) -> str:
    """What 0.1.0 has applied, remembered as later versions do; empty where the tables are new."""
    reached = applied.mark(connection)
    if reached > revisions[-1].number:
        raise too_new(service, reached, revisions[-1], "the version that made it")
    applied.make(connection)
    for revision in revisions:
        if revision.number <= reached:
            applied.add(connection, revision)
    return reached


def _run(path: Path) -> None:
    spec = spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        msg = f"{path} is no migration"
        raise ImportError(msg)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    module.upgrade()
