"""Alembic's entry: runs the migrations of whichever service `rocketconnect_kit.store.database.migrate` was called for."""

from alembic import context

_attributes = context.config.attributes

context.configure(
    connection=_attributes["connection"],
    version_table=_attributes["version_table"],
    # SQLite's DDL is transactional too, and the whole upgrade is one transaction of the caller.
    transactional_ddl=True,
)
context.run_migrations()
