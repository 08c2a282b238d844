"""The names that a gateway tells quickly: what shells complete with."""

import os
import threading
from dataclasses import dataclass

import typer

from rocketconnect_cli.access.profile import current
from rocketconnect_cli.api import DEFAULT_URL, PAGE, Api, ApiError

_SECONDS = 1.0
"""Whoever presses the key waits no longer."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What a list of the API has on its first page.

    Attributes:
        path: Of the list.
        field: Of its answer.
    """

    path: str
    field: str

    def names(self, url: str) -> list[str]:
        """Their names; none where nobody answers within a second.

        Each read of an answer has a time limit of its own, so that none of them is one for all.
        """
        found: list[str] = []
        asking = threading.Thread(target=lambda: found.extend(self._asked(url)), daemon=True)
        asking.start()
        asking.join(_SECONDS)
        return list(found)

    def complete(self, context: typer.Context, incomplete: str) -> list[str]:
        """Those that begin like this, and are not given yet where a command takes several."""
        url = str(context.params.get("url") or os.environ.get("ROCKETCONNECT_URL") or DEFAULT_URL)
        given = set(context.params.get("names") or ())
        return [name for name in self.names(url) if name.startswith(incomplete) and name not in given]

    def _asked(self, url: str) -> list[str]:
        try:
            with Api(url, current().access()) as client:
                rows = client.request("GET", self.path, query={"pageSize": PAGE}, like={self.field: [{"name": ""}]})[self.field]
        except ApiError:
            # A line that is being typed is no place for errors.
            return []
        return [row["name"] for row in rows]


CONNECTORS = Listed("/v1/connectors", "connectors")
TOPICS = Listed("/v1/topics", "topics")
PLUGINS = Listed("/v1/plugins", "plugins")


def connectors(context: typer.Context, incomplete: str) -> list[str]:
    """See Listed.complete."""
    return CONNECTORS.complete(context, incomplete)


def topics(context: typer.Context, incomplete: str) -> list[str]:
    """See Listed.complete."""
    return TOPICS.complete(context, incomplete)


def plugins(context: typer.Context, incomplete: str) -> list[str]:
    """See Listed.complete."""
    return PLUGINS.complete(context, incomplete)
