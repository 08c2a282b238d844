"""Connectors and their history as the command line shows them."""

import shlex
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Annotated, Any

import typer
from rich.table import Table

from rocketconnect_cli.api import Api, ApiError, connector_path
from rocketconnect_cli.names import completion
from rocketconnect_cli.output import Output, emit, err, show_notes, show_warnings, table_of, without_prefix

Name = Annotated[str, typer.Argument(metavar="NAME", help="The name of the connector.", autocompletion=completion.connectors)]
Names = Annotated[
    list[str], typer.Argument(metavar="NAME", help="The names of the connectors.", autocompletion=completion.connectors)
]
NewName = Annotated[str, typer.Argument(metavar="NAME", help="The name of the connector.")]
CONNECTOR = {"connector": {"name": "", "uid": "", "wantedState": ""}}
"""What is read of an answer that holds a connector, by example."""
STORED = {"connector": {"config": {}, "etag": "", "revision": "", "wantedState": ""}}
_UNITS = (("d", 86_400), ("h", 3_600), ("m", 60), ("s", 1))


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


def show_stored(answer: dict[str, Any], output: Output) -> None:
    """Prints the connector of an answer, and behind it what the answer warns of and what is to be expected."""
    show_connector(answer["connector"], output)
    show_warnings(answer)
    show_notes(answer)


def changed_or_same(client: Api, name: str, change: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """The answer to a change of a connector's configuration. When that is the one it has, nothing is to be done, and that is said.

    Raises:
        ApiError: the change was refused for another reason.
    """
    try:
        return change()
    except ApiError as error:
        if error.problem.get("reason") != "SAME_CONFIG":
            raise
    err.print(f"{name} is unchanged: it has this configuration already", markup=False)
    return client.request("GET", connector_path(name), like=CONNECTOR)


def bring_back(name: str, uid: str) -> str:
    """How to bring a deleted connector back, for people."""
    return (
        f"`rocketconnect connector create {shlex.quote(name)} --adopt-uid {uid}` brings it back, with its positions and revisions"
    )


def who(change: dict[str, Any]) -> str:
    """Who made a change: "alice", or "alice via gateway" when only the gateway has proved its name."""
    author, behalf = change.get("author", ""), change.get("onBehalfOf", "")
    return f"{behalf} via {author}" if behalf else author or "-"


def local_time(text: str) -> str:
    """A time of the API in the zone of the reader, which it names."""
    if not text:
        return "-"
    shown = datetime.fromisoformat(text).astimezone().isoformat(" ", "seconds")
    return f"{shown.removesuffix('+00:00')}Z" if shown.endswith("+00:00") else shown


def age(text: str, now: datetime) -> str:
    """How long ago that was, in its largest unit: 12s, 3m, 2h, 5d."""
    if not text:
        return "-"
    # The clocks of two machines differ.
    return duration(max(0.0, (now - datetime.fromisoformat(text)).total_seconds()))


def duration(seconds: float) -> str:
    """Some time in its largest unit: 12s, 3m, 2h, 5d."""
    unit, length = next((each for each in _UNITS if seconds >= each[1]), _UNITS[-1])
    return f"{int(seconds) // length}{unit}"


def instant(text: str) -> datetime:
    """A time of the API, to sort by; one that is not told is before all."""
    return datetime.fromisoformat(text) if text else datetime.min.replace(tzinfo=UTC)


def offset_alone(partition: str) -> str:
    """Say what it means that a position of a source has no map any more."""
    return (
        f"{partition}: what the source kept beside the old offset does not go with the new one: "
        "the source must find its way from the offset alone"
    )
