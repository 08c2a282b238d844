"""The other cluster and this one: a client of each."""

import logging
from collections.abc import Callable, Mapping, Sequence
from time import time

from connectors.rocketmq.client import client_of, place_of, prove, told
from connectors.rocketmq.groups import Groups
from connectors.rocketmq.options import TARGET
from connectors.rocketmq.selection import Selection
from rocketconnect_sdk.cursors import Connection, Page, Session
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.resume import JSON
from rocketconnect_sdk.schema import Schema

Row = Mapping[str, object]


class Clusters(Connection):
    """Both clusters. See Connection.

    Args:
        config: That of the source.
        log: What can't be done is told there.
        seconds: How long an answer may take; 0: as the configuration says.

    Raises:
        PermanentError: a client can't be made.
    """

    def __init__(
        self, config: Config, log: logging.Logger | logging.LoggerAdapter[logging.Logger] | None = None, seconds: float = 0.0
    ) -> None:
        self._selection, self._groups = Selection.of(config), Groups.of(config)
        self._template: str = config["topic.template"]
        self._log = log
        self._places = place_of(config), place_of(config, TARGET)
        self._there = client_of(config, "rocketconnect-replicator", seconds)
        try:
            self._here = client_of(config, "rocketconnect-replicator", seconds, TARGET)
        except BaseException:
            self._there.close()
            raise

    def ping(self) -> None:
        """Returns when both clusters answer and take who we are."""
        for client, place in zip((self._there, self._here), self._places, strict=True):
            with told(place):
                prove(client)

    def close(self) -> None:
        """See Connection."""
        self._there.close()
        self._here.close()


class Round(Session):
    """What has become new, once.

    Args:
        ask: Gives the rows.
        schema: Theirs.
        key: Of these columns the key of a record is made; empty ones are left out.
    """

    def __init__(self, ask: Callable[[], Sequence[Row]], schema: Schema, key: Sequence[str]) -> None:
        self._ask, self._schema, self._key = ask, schema, key

    def page(self, cursor: JSON, limit: int) -> Page:
        """See Session."""
        del cursor, limit
        rows = self._ask()
        keys = ["/".join(filter(None, (str(row[name]) for name in self._key))) for row in rows]
        return Page(rows, keys=keys, timestamps_ms=[round(time() * 1000)] * len(rows), schema=self._schema)
