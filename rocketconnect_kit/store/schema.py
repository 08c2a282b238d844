"""Which revisions the tables of a store have, and whether a service that does not know all of them may use it.

Each migration is one revision of the tables of one service. A store remembers, for each that was applied, the release that brought
it and how old a service may be that uses the store from then on. So an older service can tell what it meets without its migrations.
"""

import re
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from rocketconnect_kit.errors import FailedPrecondition

_SAID = re.compile(r'^(revision|release|compatible_from) = "(.+)"$', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Revision:
    """One form of the tables of a service.

    Attributes:
        number: Four digits; later ones are higher.
        release: The version of RocketConnect that brought it.
        compatible_from: The oldest revision that a service may end with which uses a store that has this one.
    """

    number: str
    release: str
    compatible_from: str


def newest(folder: Path) -> str:
    """The number of the last migration in a folder."""
    return max(path.stem for path in folder.glob("v[0-9]*.py"))[1:5]


def known(folder: Path) -> dict[Revision, Path]:
    """All revisions that the migrations in a folder make, in their order, each with its file.

    One without `compatible_from` only adds: whoever could use the store before it can go on.
    """
    found: dict[Revision, Path] = {}
    compatible_from = ""
    for path in sorted(folder.glob("v[0-9]*.py")):
        said = dict(_SAID.findall(path.read_text(encoding="utf-8")))
        compatible_from = said.get("compatible_from", compatible_from)
        found[Revision(said["revision"], said["release"], compatible_from)] = path
    return found


class Applied:
    """What was applied to the tables of one service, as the store has it.

    `SERVICE_schema` has a row for each revision. `SERVICE_schema_version` has, in its only row, the `compatible_from` of the last
    one: 0.1.0, which knows no other table, takes a store whose row is its own last revision, and none else.
    """

    def __init__(self, service: str) -> None:
        self._revisions = sa.Table(
            f"{service}_schema",
            sa.MetaData(),
            sa.Column("revision", sa.String(32), primary_key=True),
            sa.Column("release", sa.String(32), nullable=False),
            sa.Column("compatible_from", sa.String(32), nullable=False),
        )
        self._mark = sa.Table(f"{service}_schema_version", sa.MetaData(), sa.Column("version_num", sa.String(32), primary_key=True))

    def last(self, connection: sa.Connection) -> Revision | None:
        """The last one; None where there is none, or 0.1.0 made the tables."""
        if not sa.inspect(connection).has_table(self._revisions.name):
            return None
        newest_first = sa.select(self._revisions).order_by(self._revisions.c.revision.desc()).limit(1)
        row = connection.execute(newest_first).one_or_none()
        return Revision(*row) if row is not None else None

    def mark(self, connection: sa.Connection) -> str:
        """What 0.1.0 takes for the last revision; empty where the tables are not there."""
        if not sa.inspect(connection).has_table(self._mark.name):
            return ""
        return connection.scalar(sa.select(self._mark.c.version_num)) or ""

    def make(self, connection: sa.Connection) -> None:
        """Make both tables where they are not."""
        for table in (self._revisions, self._mark):
            table.create(connection, checkfirst=True)

    def add(self, connection: sa.Connection, revision: Revision) -> None:
        """Remember that one was applied, the newest so far."""
        row = {"revision": revision.number, "release": revision.release, "compatible_from": revision.compatible_from}
        connection.execute(self._revisions.insert().values(row))
        connection.execute(self._mark.delete())
        connection.execute(self._mark.insert().values(version_num=revision.compatible_from))

    def release_of(self, connection: sa.Connection, number: str) -> str:
        """Which release brought a revision that was applied."""
        wanted = sa.select(self._revisions.c.release).where(self._revisions.c.revision == number)
        return connection.scalar(wanted) or "?"


def refuse_newer(connection: sa.Connection, service: str, last: Revision, folder: Path) -> None:
    """Refuse a store whose last revision is unknown here and does without what this service needs.

    Raises:
        FailedPrecondition: STORE_TOO_NEW.
    """
    own = list(known(folder))[-1]
    if last.compatible_from <= own.number:
        return
    needed = Applied(service).release_of(connection, last.compatible_from)
    raise too_new(service, f"{last.number}, of RocketConnect {last.release}", own, f"RocketConnect {needed} or newer")


def too_new(service: str, has: str, own: Revision, needed: str) -> FailedPrecondition:
    """The refusal: what the store `has`, what is known here, which version is `needed`."""
    message = (
        f"the store of the {service} service is newer than this service: it has revision {has}, and this service knows revisions "
        f"up to {own.number}, of RocketConnect {own.release}. Start {needed} on it; or go back to the backup that was made before "
        "the upgrade (docs/upgrade.md). Nothing was changed"
    )
    return FailedPrecondition("STORE_TOO_NEW", message)
