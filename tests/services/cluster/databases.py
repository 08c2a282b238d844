"""Empty databases for tests."""

import uuid

import sqlalchemy as sa


def fresh_database(server_url: str) -> str:
    """Return the URL of a new database on the PostgreSQL server."""
    name = f"t{uuid.uuid4().hex}"
    admin = sa.create_engine(server_url, isolation_level="AUTOCOMMIT")
    with admin.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    admin.dispose()
    return sa.make_url(server_url).set(database=name).render_as_string(hide_password=False)
