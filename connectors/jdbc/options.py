"""How a connector is told of a database and of who it is there."""

from connectors.jdbc.place import url_problem
from rocketconnect_sdk.options import Option
from rocketconnect_sdk.permissions.hosts import of_urls

_FIX = "Write postgresql://host:5432/database, mysql://host:3306/database or sqlite:////absolute/path; a jdbc: before it is taken."

CONNECTION = (
    Option(
        "connection.url",
        "The database: postgresql://host:5432/database, mysql://host:3306/database (MariaDB, too) or "
        "sqlite:////absolute/path. A jdbc: before it is taken.",
        required=True,
        aliases=("jdbcUrl", "jdbc.url"),
        check=url_problem,
        fix=_FIX,
        reaches=of_urls,
    ),
    Option(
        "user",
        "The user of the database; SQLite has none.",
        default="",
        references=True,
        aliases=("connection.user", "username"),
    ),
    Option("password", "The password of the user.", secret=True, aliases=("connection.password",)),
)
"""The options of a connection: `connection.url`, `user`, `password`."""
