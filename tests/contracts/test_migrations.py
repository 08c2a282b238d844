"""Migrations, by which a newer service goes on beside an older one, and back: they add, and take away one release later."""

import re
from pathlib import Path

import pytest
import sqlalchemy as sa

from rocketconnect_cli.instance.topology import STORES
from rocketconnect_kit.store import database
from rocketconnect_kit.store.schema import Revision, known
from rocketconnect_kit.store.versions import upgrade
from rocketconnect_sdk.version import __version__
from tests.contracts.schema_changes import hurts

ROOT = Path(__file__).parents[2]
FIRST_RELEASE = "0.1.0"
ID = 'sa.Column("id", sa.Integer, primary_key=True)'


def folder(service: str) -> Path:
    return ROOT / "services" / service / "migrations"


def number(release: str) -> tuple[int, ...]:
    return tuple(int(part) for part in release.split(".")[:3])


@pytest.mark.parametrize("service", STORES)
def test_revisions_are_numbered_and_each_says_its_release(service: str) -> None:
    revisions = known(folder(service))
    for index, (revision, path) in enumerate(revisions.items(), 1):
        assert revision.number == path.stem[1:5] == f"{index:04}"
        assert revision.compatible_from <= revision.number
    releases = [number(revision.release) for revision in revisions]
    assert releases == sorted(releases)
    assert releases[-1] <= number(__version__)


@pytest.mark.parametrize("service", STORES)
def test_each_release_goes_on_beside_the_next_one(service: str) -> None:
    revisions = list(known(folder(service)))
    for revision in revisions:
        assert revision.compatible_from <= oldest_beside(revision, revisions), (
            f"{service} {revision.number}: what the release before {revision.release} uses may be taken away in the next one"
        )


@pytest.mark.parametrize("service", STORES)
def test_a_migration_only_adds_unless_it_says_who_can_do_without(service: str, tmp_path: Path) -> None:
    assert misfits(folder(service), tmp_path, service) == []


@pytest.mark.parametrize(
    ("does", "seen"),
    [
        ('op.drop_table("t_b")', "table t_b is gone"),
        ('op.drop_column("t_a", "x")', "column t_a.x is gone"),
        ('op.alter_column("t_a", "x", new_column_name="y")', "column t_a.x is gone"),
        ('op.rename_table("t_a", "t_c")', "table t_a is gone"),
        ('op.add_column("t_a", sa.Column("y", sa.Integer)); op.drop_column("t_a", "x")', "column t_a.x is gone"),
        ('op.create_index("i", "t_a", ["x"], unique=True)', "t_a: unique ['x'] was added"),
        (
            'op.drop_table("t_b"); op.create_table("t_b", sa.Column("id", sa.Text, primary_key=True))',
            "column t_b.id was INTEGER and is TEXT",
        ),
        (
            f'op.drop_table("t_b"); op.create_table("t_b", {ID}, sa.Column("y", sa.Integer, nullable=False))',
            "column t_b.y must be written, and has no default of the server",
        ),
        (
            f'op.drop_table("t_a"); op.create_table("t_a", {ID}, sa.Column("x", sa.Integer, nullable=False))',
            "column t_a.x takes no NULL any more",
        ),
        ('op.add_column("t_a", sa.Column("y", sa.Integer, nullable=False, server_default="0"))', ""),
        ('op.create_table("t_c", sa.Column("x", sa.Integer, primary_key=True)); op.create_index("i", "t_a", ["x"])', ""),
        ('op.execute("INSERT INTO t_a VALUES (1, 2)")', ""),
    ],
)
def test_what_an_older_service_can_not_go_on_with_is_found(does: str, seen: str, tmp_path: Path) -> None:
    begin = f'op.create_table("t_a", {ID}, sa.Column("x", sa.Integer)); op.create_table("t_b", {ID})'
    migrations = tmp_path / "migrations"
    migrations.mkdir()
    head = "import sqlalchemy as sa\nfrom alembic import op\n"
    (migrations / "v0001_a.py").write_text(
        f'{head}revision = "0001"\nrelease = "{FIRST_RELEASE}"\ncompatible_from = "0001"\ndef upgrade():\n    {begin}\n'
    )
    (migrations / "v0002_b.py").write_text(f'{head}revision = "0002"\nrelease = "0.2.0"\ndef upgrade():\n    {does}\n')
    assert misfits(migrations, tmp_path, "t") == ([f"0002: {seen}"] if seen else [])


def oldest_beside(revision: Revision, revisions: list[Revision]) -> str:
    """The last revision of the release before, which a service may still end with while this one is applied."""
    before = [each.number for each in revisions if number(each.release) < number(revision.release)]
    return before[-1] if before else revision.number


def misfits(migrations: Path, scratch: Path, service: str) -> list[str]:
    """Of each migration after the first release that does not say that it takes away: what it takes away."""
    engine = database.engine(f"sqlite:///{scratch}/x.db")
    some = scratch / "some"
    some.mkdir()
    found, tables = [], sa.MetaData()
    for revision, path in known(migrations).items():
        (some / path.name).write_text(path.read_text())
        with database.writing(engine) as connection:
            upgrade(connection, some, service)
        after = sa.MetaData()
        after.reflect(engine)
        if revision.release != FIRST_RELEASE and not re.search("^compatible_from = ", path.read_text(), re.MULTILINE):
            found += [f"{revision.number}: {what}" for what in hurts(tables, after)]
        tables = after
    engine.dispose()
    return found
