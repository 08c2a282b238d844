"""What workers offer, in SQL."""

import json

import sqlalchemy as sa

from rocketconnect_kit.store.database import upsert
from services.config import tables
from services.config.domain import Worker
from services.config.requests import MICROSECONDS_A_DAY
from services.config.rows import dump_config


def report(connection: sa.Connection, worker: Worker) -> None:
    """Store what a worker offers, in place of what it said before; forget workers that were silent for a day."""
    connection.execute(tables.workers.delete().where(tables.workers.c.update_time < worker.update_time - MICROSECONDS_A_DAY))
    values = {
        "worker_id": worker.worker_id,
        "address": worker.address,
        "plugins": dump_config(worker.plugins),
        "aliases": dump_config(worker.aliases),
        "update_time": worker.update_time,
    }
    upsert(connection, tables.workers, [values])


def newer_than(connection: sa.Connection, since: int) -> list[Worker]:
    """Return the workers that reported since then, the latest report first."""
    query = sa.select(tables.workers).where(tables.workers.c.update_time > since).order_by(tables.workers.c.update_time.desc())
    return [
        Worker(row.worker_id, row.address, json.loads(row.plugins), json.loads(row.aliases), row.update_time)
        for row in connection.execute(query)
    ]
