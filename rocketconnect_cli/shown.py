"""Connectors and their history as the command line shows them."""

from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from rocketconnect_cli.output import Output, emit, table_of, without_prefix

Name = Annotated[str, typer.Argument(help="The name of the connector.")]
CONNECTOR = {"connector": {"name": "", "uid": "", "wantedState": ""}}
"""What is read of an answer that holds a connector, by example."""
STORED = {"connector": {"config": {}, "etag": "", "revision": "", "wantedState": ""}}


def show_connector(connector: dict[str, Any], output: Output) -> None:
    """Prints a connector."""

    def facts() -> Iterator[tuple[str, str]]:
        yield "name", connector["name"]
        yield "uid", connector["uid"]
        yield "type", without_prefix(connector.get("type"), "CONNECTOR_TYPE_")
        yield "revision", connector.get("revision", "")
        yield "wanted", wanted_state(connector)
        yield "etag", connector.get("etag", "")
        if connector.get("applySet"):
            yield "apply set", connector["applySet"]

    def table() -> Table:
        config = sorted(connector.get("config", {}).items())
        return table_of(("FIELD", "VALUE"), [*facts(), *((f"config {key}", value) for key, value in config)])

    emit(output, connector, table)


def wanted_state(connector: dict[str, Any]) -> str:
    """RUNNING, PAUSED or STOPPED."""
    return without_prefix(connector.get("wantedState"), "WANTED_STATE_")


def who(change: dict[str, Any]) -> str:
    """Who made a change: "alice", or "alice via gateway" when only the gateway has proved its name."""
    author, behalf = change.get("author", ""), change.get("onBehalfOf", "")
    return f"{behalf} via {author}" if behalf else author or "-"


def local_time(text: str) -> str:
    """A time of the API in the zone of the reader."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M:%S") if text else "-"
