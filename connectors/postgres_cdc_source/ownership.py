"""Whose a slot and a publication are. The comment of the publication says it, so every connector of the database can know.

A connector that was deleted drops what is its own: not what people made, and not what another connector has taken over meanwhile.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import LiteralString

import psycopg
from psycopg.errors import InsufficientPrivilege
from psycopg.rows import TupleRow
from psycopg.sql import SQL, Identifier, Literal

from connectors.databases import sessions
from connectors.postgres_cdc_source.logical.connection import ask, failure, run
from connectors.postgres_cdc_source.logical.publications import (
    Table,
    add_tables,
    create_publication,
    drop_publication,
    inspect_publication,
)
from connectors.postgres_cdc_source.logical.requirements import keyless
from connectors.postgres_cdc_source.logical.slots import drop_slot, inspect_slot
from rocketconnect_sdk.errors import PermanentError, RetriableError

_COMMENT: LiteralString = "SELECT obj_description(oid, 'pg_publication') FROM pg_publication WHERE pubname = %s"
_LOCK: LiteralString = "SELECT pg_advisory_xact_lock(hashtextextended('rocketconnect slot ' || %s, 0))"
_LOCK_SECONDS = 5
_TEXT = re.compile(r"RocketConnect: used by the connector (\S+)((?:, which made (?:the publication|the slot \w+))*)")


@dataclass(frozen=True, slots=True)
class Owner:
    """Who uses a slot and its publication.

    Attributes:
        connector: The uid of the connector.
        publication: A connector made the publication.
        slot: The slot that a connector made; empty: none.
    """

    connector: str
    publication: bool = False
    slot: str = ""

    def __str__(self) -> str:
        """The comment."""
        made = [*(["the publication"] if self.publication else []), *([f"the slot {self.slot}"] if self.slot else [])]
        return "".join([f"RocketConnect: used by the connector {self.connector}", *(f", which made {what}" for what in made)])

    @classmethod
    def of(cls, comment: str | None) -> "Owner | None":
        """What a comment says; None: it is not one of these."""
        match = _TEXT.fullmatch(comment or "")
        if match is None:
            return None
        slot = re.search(r"the slot (\w+)", match[2])
        return cls(match[1], "the publication" in match[2], slot[1] if slot else "")


@dataclass(frozen=True, slots=True)
class Taken:
    """What came of taking.

    Attributes:
        added: Tables that the publication lacked.
        keyless: Those that it goes on to lack: the server would refuse to update and delete their rows.
        is_marked: The publication says whose it is. Else the role may not comment on it.
    """

    added: Sequence[Table]
    keyless: Sequence[Table]
    is_marked: bool


def take(connection: psycopg.Connection[TupleRow], slot: str, publication: str, tables: Sequence[Table], connector: str) -> Taken:
    """Makes the publication or gives it what it lacks, and says that it and the slot are this connector's from now on.

    A slot that is not there is to be made by the caller, and counts as its own.

    Args:
        connection: Commits each statement.
        slot: Its name.
        publication: Its name.
        tables: Which the publication has to have, but for those that it must not have.
        connector: The uid.

    Raises:
        RetriableError: another connector reads the slot now.
        ConnectorError: see connection.failure.
    """
    with _locked(connection, slot):
        found, there = inspect_publication(connection, publication), inspect_slot(connection, slot)
        owner = _owner(connection, publication)
        if owner is not None and owner.connector != connector and there is not None and there.active_pid:
            msg = (
                f"the slot {slot} is read by another connector now (uid {owner.connector}): stop or delete that one, or "
                "choose another slot.name and publication.name"
            )
            raise RetriableError(msg)
        there_already = () if found is None else tables if found.all_tables else found.tables
        without = keyless(connection, [table for table in tables if table not in there_already])
        missing = [table for table in tables if table not in there_already and table not in without]
        if found is None:
            create_publication(connection, publication, missing)
        elif missing:
            add_tables(connection, publication, missing)
        owner = replace(owner or Owner(connector), connector=connector)
        is_ours = there is None or owner.slot == slot
        owner = replace(owner, publication=found is None or owner.publication, slot=slot if is_ours else "")
        return Taken(() if found is None else missing, without, _mark(connection, publication, str(owner)))


def release(connection: psycopg.Connection[TupleRow], slot: str, publication: str, connector: str) -> None:
    """Drops what connectors made and this one used last. May be called again, also at the same time.

    Raises:
        RetriableError: the slot is in use.
        PermanentError: the slot is there, and it is not known whose it is; says what to do.
        ConnectorError: see connection.failure.
    """
    with _locked(connection, slot):
        owner = _owner(connection, publication)
        if owner is not None and owner.connector != connector:
            return
        if owner is None or owner.slot != slot:
            if inspect_slot(connection, slot) is not None:
                msg = (
                    f"the slot {slot} was not made by this connector, and stays: PostgreSQL keeps its log for it. "
                    f"If nobody needs it, run SELECT pg_drop_replication_slot('{slot}')"
                )
                raise PermanentError(msg)
        else:
            # First, since the mark is gone with the publication.
            drop_slot(connection, slot)
        if owner is not None and owner.publication:
            drop_publication(connection, publication)


def _owner(connection: psycopg.Connection[TupleRow], publication: str) -> Owner | None:
    rows = ask(connection, _COMMENT, [publication])
    return Owner.of(rows[0][0]) if rows else None


def _mark(connection: psycopg.Connection[TupleRow], publication: str, text: str) -> bool:
    try:
        with connection.transaction():
            statement = SQL("COMMENT ON PUBLICATION {} IS {}").format(Identifier(publication), Literal(text))
            connection.execute(statement)
    except InsufficientPrivilege:
        return False
    except psycopg.Error as error:
        raise failure(error.sqlstate, str(error)) from None
    return True


@contextmanager
def _locked(connection: psycopg.Connection[TupleRow], slot: str) -> Iterator[None]:
    """Nobody else takes or releases it meanwhile; what is done, is done as a whole but for the slot itself."""
    run(connection, b"BEGIN")
    try:
        # Who waits may be about to take over from a machine that is gone.
        ask(connection, "SELECT set_config('lock_timeout', %s, true)", [f"{_LOCK_SECONDS}s"])
        ask(connection, "SELECT set_config('idle_in_transaction_session_timeout', %s, true)", [f"{sessions.ABANDONED_SECONDS}s"])
        ask(connection, _LOCK, [slot])
        yield
    except BaseException:
        with suppress(psycopg.Error):
            connection.rollback()
        raise
    run(connection, b"COMMIT")
