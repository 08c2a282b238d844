"""Looks at a server before anything is read there."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pymongo import MongoClient

from connectors.mongodb.client import client_of, own_errors
from connectors.mongodb.reading.events import Lost
from connectors.mongodb.reading.oplog import Oplog
from connectors.mongodb.reading.records import Records
from connectors.mongodb.reading.settings import Settings
from connectors.mongodb.reading.snapshot import collections
from connectors.mongodb.reading.streams import Stream
from rocketconnect_sdk.changes.topics import shared_topic
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem

_MODE = "capture.mode"


@contextmanager
def opened_log(settings: Settings, seconds: float) -> Iterator[tuple[MongoClient[Any], Oplog | Stream]]:
    """A log that is not read yet, and its client.

    Args:
        settings: As configured.
        seconds: How long an answer may take.
    """
    with client_of(settings.config, seconds=seconds, raw=True) as client:
        log = (Oplog if settings.oplog else Stream)(client, settings, TaskContext())
        try:
            yield client, log
        finally:
            log.close()


def log_problems(settings: Settings, seconds: float) -> Iterator[Problem]:
    """Whether the server has the log that is to be read.

    Raises:
        SystemAway, PermanentError: see own_errors.
    """
    if settings.mode == "only":
        return
    shown = "oplog" if settings.oplog else "change_streams"
    with opened_log(settings, seconds) as (client, log):
        with own_errors(settings.place):
            told = client.admin.command("hello")
        if settings.oplog and told.get("msg") == "isdbgrid":
            yield Problem(_MODE, shown, "is that of one replica set, and this is a sharded cluster", "Set change_streams.")
        elif not told.get("setName") and told.get("msg") != "isdbgrid":
            reason = "needs a replica set, and this server is none: it has neither change streams nor an oplog"
            yield Problem(_MODE, shown, reason, "Start it with --replSet NAME and initiate that, or set snapshot.mode=only.")
        else:
            yield from _unreadable(settings, log, shown)


def _unreadable(settings: Settings, log: Oplog | Stream, shown: str) -> Iterator[Problem]:
    try:
        log.open(log.end())
    except Lost as error:
        yield Problem(_MODE, shown, str(error), "Look at the log of the server.")
    except PermanentError as error:
        if "refuses the user" in str(error):
            raise
        key = "pipeline" if settings.pipeline else _MODE
        fix = "Correct the stages." if settings.pipeline else "Set capture.mode=oplog where the server has no change streams."
        yield Problem(key, settings.config.raw.get(key, shown), str(error), fix)


def collection_problems(settings: Settings, seconds: float) -> Iterator[Problem]:
    """Collections that would share a topic, and a warning where there is none that is captured.

    Raises:
        SystemAway, PermanentError: see own_errors.
    """
    with client_of(settings.config, seconds=seconds, raw=True) as client:
        found = collections(client, settings.place, settings.chosen)
        topics = Records(settings, "")
        if shared := shared_topic(topics.named(name) for name in found):
            yield Problem("collection.topic", *shared, "Name ${database} and ${collection} in it, or leave one of them out.")
        if not found:
            fix = "Correct database.include, collection.include or collection.exclude, or wait: those that come are captured."
            yield Problem("collection.include", "", "takes no collection that is there", fix, is_warning=True)
