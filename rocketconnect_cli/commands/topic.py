"""The commands `rocketconnect topic ...`: what topics there are, what is in them, new ones, and the end of some."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Annotated, Any
from urllib.parse import quote

import typer

from rocketconnect_cli import moments
from rocketconnect_cli.api import Api, ApiError, Exit, checked_name
from rocketconnect_cli.commands.dead_letters.unreplayed import NOT_REPLAYED, is_asked
from rocketconnect_cli.documents import configuration
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.names import completion
from rocketconnect_cli.names.senders import Senders
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, table_of, with_api
from rocketconnect_cli.shown import local_time
from rocketconnect_cli.signed import author
from rocketconnect_cli.tables import traces
from rocketconnect_sdk.wording.counts import counted

app = typer.Typer(cls=Commands, no_args_is_help=True, help="List topics, look at their messages, create and delete some.")

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The name of the topic.", autocompletion=completion.topics)]
NewTopic = Annotated[str, typer.Argument(metavar="TOPIC", help="The name of the topic.")]
ConverterOption = Annotated[
    str,
    typer.Option(
        "--converter",
        "-c",
        help="How values are read: json, string, avro, protobuf, ... Without it: packed messages as their rows, others as text, or "
        "base64 where they are none.",
    ),
]
KeyConverterOption = Annotated[str, typer.Option("--key-converter", help="How keys are read. Without it: as values without one.")]
PairsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        metavar="KEY=VALUE",
        help="As in the configuration of a sink: value.converter.OPTION, key.converter.OPTION, rocketmq.access.key; "
        "again for more. Secrets are references.",
    ),
]
QueueOption = Annotated[
    str, typer.Option("--queue", "-q", metavar="QUEUE", help="Only this queue: its number, or BROKER/NUMBER. Default: all.")
]
OffsetOption = Annotated[int | None, typer.Option("--offset", help="Begin with the message of this offset, in each queue.", min=0)]
SinceOption = Annotated[
    str,
    typer.Option(
        "--since", metavar="TIME", help="Begin with what was stored at this time, 2026-01-31T10:00:00Z, or so long ago: 10m."
    ),
]
KeyOption = Annotated[
    str, typer.Option("--key", help="Only messages with this key, the newest, by RocketMQ's index; with --since from there on.")
]
TraceTopicOption = Annotated[
    str, typer.Option("--trace-topic", metavar="TOPIC", help="The topic with the trace, where it is not RMQ_SYS_TRACE_TOPIC.")
]
PropertiesOption = Annotated[bool, typer.Option("--properties", help="Show all properties of each message, RocketMQ's own too.")]
MOST = 100
FOLLOW_SECONDS = 1.0
_REMEMBERED = (
    "A sink remembers what it had read there, and a source what it had sent: let each begin anew (`rocketconnect position reset "
    "NAME --restart`), delete it, or set on.gap=skip in what is to go on from where it is"
)
_PEEKED = {"problems": [{}], "records": [{"queue": "", "offset": ""}]}
_OWN_PROPERTIES = re.compile(r"[A-Z0-9_]+|connect\.timestamp|connect-.*")
"""Those that are shown another way, or are RocketMQ's."""
_OF_BROKER = "MQ-SYS-"
"""Begins the headers that say what RocketMQ's own properties say."""


@app.command(name="list")
@with_api
def list_topics(
    every: Annotated[
        bool, typer.Option("--all", help="Also those that RocketMQ and RocketConnect made for themselves, and for consumer groups.")
    ] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """List topics with their queues and how many messages they hold. A packed message is one, however many rows are in it."""
    query = {"internal": "true"} if every else {}
    with api(url) as client:
        rows = list(client.pages("/v1/topics", "topics", {"name": ""}, query=query))

    def cells(row: Mapping[str, Any]) -> tuple[object, ...]:
        queues = row.get("queues", [])
        if row.get("trouble"):
            return row["name"], "-", "-", row["trouble"]
        brokers = sorted({queue["queue"].rsplit("/", 2)[1] for queue in queues})
        messages = sum(int(queue.get("latest", 0)) - int(queue.get("earliest", 0)) for queue in queues)
        return row["name"], len(queues), messages, ", ".join(brokers)

    emit(output, {"topics": rows}, lambda: table_of(("TOPIC", "QUEUES", "MESSAGES", "BROKERS"), map(cells, rows)))


@app.command()
@with_api
def create(
    topic: NewTopic,
    queues: Annotated[int, typer.Option("--queues", help="How many, on each broker.", min=1, max=1024)] = 8,
    batch: Annotated[
        bool, typer.Option("--batch", help="A batch topic: many times faster, and read by RocketMQ's clients since 5.0 alone.")
    ] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Create a topic. Exit code 4 when there is another one of this name, with other queues or of another type."""
    body = {"queues": queues, "batch": batch, "author": author()}
    with api(url) as client:
        answer = client.request("PUT", _path(topic), body=body, like={"topic": {"name": ""}, "existed": False})
    made = answer["topic"]
    done = "is there already, with" if answer["existed"] else "created with"
    emit(output, answer, lambda: f"{made['name']} {done} {counted(made.get('queues', []), 'queue')}")


@app.command()
@with_api
def delete(
    topic: Topic,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Delete a topic with all of its messages, for good. A topic that a running connector reads or writes is left as it is."""
    if not yes:
        _confirm(topic)
    with api(url) as client:
        answer = _deleted(client, topic, is_sure=yes)
    queues = answer["topic"].get("queues", [])
    messages = sum(int(queue.get("latest", 0)) - int(queue.get("earliest", 0)) for queue in queues)
    lines = [f"{topic} deleted, with {messages} message{'' if messages == 1 else 's'}"]
    if letters := int(answer.get("letters", 0)):
        lines[0] += f", among them {counted(letters, 'dead letter')} that nobody had replayed"
    if names := answer.get("connectors", []):
        verb = "names" if len(names) == 1 else "name"
        lines.append(f"{', '.join(names)} {verb} it. {_REMEMBERED}")
    emit(output, answer, lambda: lines)


def _deleted(client: Api, topic: str, *, is_sure: bool) -> dict[str, Any]:
    """What was deleted; asks once more where dead letters would go that nobody has replayed.

    Raises:
        ApiError: also, WRONG, when somebody says no.
    """
    query = {"author": author(), **({"letters": "true"} if is_sure else {})}
    try:
        return client.request("DELETE", _path(topic), query=query, like={"topic": {"name": ""}})
    except ApiError as error:
        if error.problem.get("reason") != NOT_REPLAYED:
            raise
        if not typer.confirm(f"{str(error).rstrip('.')}. Delete it all the same?", err=True):
            raise ApiError(Exit.WRONG, {"detail": f"{topic} was not deleted"}) from None
    return _deleted(client, topic, is_sure=True)


def _confirm(topic: str) -> None:
    """Asks whether it is meant.

    Raises:
        ApiError: WRONG, when nobody can be asked, or says no.
    """
    if not is_asked():
        raise ApiError(
            Exit.WRONG, {"detail": f"{topic} was not deleted: it would be gone for good, and nobody can be asked here; say --yes"}
        )
    if not typer.confirm(f"Delete {topic} with all of its messages, for good?", err=True):
        raise ApiError(Exit.WRONG, {"detail": f"{topic} was not deleted"})


@app.command()
@with_api
def peek(
    topic: Topic,
    messages: Annotated[
        int, typer.Option("--messages", "-n", help="So many messages, and so many rows of each packed one.", min=1, max=MOST)
    ] = 10,
    converter: ConverterOption = "",
    key_converter: KeyConverterOption = "",
    pairs: PairsOption = None,
    queue: QueueOption = "",
    offset: OffsetOption = None,
    since: SinceOption = "",
    key: KeyOption = "",
    properties: PropertiesOption = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show messages of a topic: the last ones, those from an offset or a time on, or those with a key. No position moves."""
    start = _start(offset, since) | ({"key": key} if key else {})
    asked = {**_asked(converter, key_converter, pairs or [], queue), **start, "messages": messages}
    with api(url) as client:
        answer = _peek(client, topic, asked)
        Senders(client).name(answer["records"])
    none = "There are no messages to show."
    if key:
        none = f"No message has the key {key}. Give it whole, as `rocketconnect topic peek {topic} --properties` shows it at KEYS."
    emit(output, answer, lambda: _peeked(answer["records"], all_properties=properties) or [none])
    _check_trouble(answer)


@app.command()
@with_api
def tail(
    topic: Topic,
    messages: Annotated[int, typer.Option("--messages", "-n", help="So many of the last messages first.", min=1, max=MOST)] = 10,
    converter: ConverterOption = "",
    key_converter: KeyConverterOption = "",
    pairs: PairsOption = None,
    queue: QueueOption = "",
    offset: OffsetOption = None,
    since: SinceOption = "",
    properties: PropertiesOption = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show the last messages of a topic, or those from an offset or a time on, and go on with what comes, until Ctrl-C.

    With -o json each record is a line.
    """
    asked = _asked(converter, key_converter, pairs or [], queue)
    start = _start(offset, since)
    with api(url) as client:
        senders = Senders(client)
        answer = _peek(client, topic, {**asked, **start, "messages": MOST if start else messages})
        try:
            while True:
                senders.name(answer["records"])
                _print(answer["records"], output, all_properties=properties)
                _check_trouble(answer)
                # What is full may have more behind it already.
                if len(answer["records"]) < MOST:
                    time.sleep(FOLLOW_SECONDS)
                answer = _peek(client, topic, {**asked, "places": answer["next"], "messages": MOST})
        except KeyboardInterrupt:
            raise typer.Exit(int(Exit.OK)) from None


@app.command()
@with_api
def trace(
    topic: Topic,
    key: Annotated[str, typer.Option("--key", help="The messages with this key, the newest 10.")] = "",
    message_id: Annotated[str, typer.Option("--id", metavar="ID", help="The message with this id: its UNIQ_KEY.")] = "",
    since: SinceOption = "",
    trace_topic: TraceTopicOption = "",
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show who sent messages, where they are, and which consumer groups got them, as RocketMQ's message trace tells it."""
    if bool(key) == bool(message_id):
        raise ApiError(Exit.WRONG, {"detail": "give --key KEY or --id ID: messages are looked for by one of them"})
    asked = {"key": key, "messageId": message_id, "traceTopic": trace_topic, **_start(None, since)}
    query = {name: value for name, value in asked.items() if value}
    with api(url) as client:
        answer = client.request("GET", f"{_path(topic)}/traces", query=query, like={"messages": [{"messageId": ""}]})
    emit(output, answer, lambda: list(traces.shown(answer)))


def _path(topic: str) -> str:
    return f"/v1/topics/{quote(checked_name(topic, 'a topic'), safe='')}"


def _asked(converter: str, key_converter: str, pairs: Sequence[str], queue: str) -> dict[str, Any]:
    config = configuration.changed({}, pairs, [])
    config |= {key: name for key, name in (("value.converter", converter), ("key.converter", key_converter)) if name}
    return {"config": config, "queue": queue}


def _start(offset: int | None, since: str) -> dict[str, Any]:
    """Where to begin, as the request says it; nothing: with the last messages.

    Raises:
        ApiError: WRONG, when it can't be read, or both are given.
    """
    if offset is not None and since:
        raise ApiError(Exit.WRONG, {"detail": "--offset and --since are two places to begin: give one of them"})
    if offset is not None:
        return {"offset": offset}
    return {"since": moments.moment(since, datetime.now(UTC)).isoformat()} if since else {}


def _peek(client: Api, topic: str, body: Mapping[str, Any]) -> dict[str, Any]:
    answer = client.request("POST", f"{_path(topic)}:peek", body=body, like=_PEEKED)
    if answer["problems"]:
        raise ApiError(Exit.WRONG, {"detail": "nothing can be shown", "problems": answer["problems"]})
    return answer


def _check_trouble(answer: Mapping[str, Any]) -> None:
    if answer.get("trouble"):
        raise ApiError(Exit.FAILED, {"detail": f"there are no more: {answer['trouble']}"})


def _peeked(records: Sequence[Mapping[str, Any]], *, all_properties: bool) -> list[str]:
    """All of it, and below it how many messages it is where some of them hold rows."""
    rows = {(each["queue"], each["offset"]): held for each in records if (held := int(each.get("rows", 0)))}
    found = list(_lines(records, all_properties=all_properties))
    if rows:
        shown = sum((each["queue"], each["offset"]) in rows for each in records)
        all_rows, messages = counted(sum(rows.values()), "row"), counted(rows, "packed message")
        found.append(f"Shown: {shown:,} of the {all_rows} of {messages}.")
    return found


def _print(records: Sequence[Mapping[str, Any]], output: Output, *, all_properties: bool) -> None:
    for record in records:
        emit(output, record, lambda record=record: list(_lines([record], all_properties=all_properties)))  # type: ignore[misc]


def _lines(records: Sequence[Mapping[str, Any]], *, all_properties: bool) -> Iterator[str]:
    """What people see: a line about each message, and below it what is in it."""
    for record in records:
        yield _head(record)
        if record.get("problem"):
            yield f"  can't be read: {record['problem']}"
            yield f"  {record.get('body', '')}"
        else:
            shown = record.get("record", {})
            yield f"  {shown.get('value', '')}" if shown.get("hasValue") else "  (no value: a tombstone)"
        named = record.get("properties", {})
        for name, value in sorted(named.items()):
            if all_properties:
                yield f"  property {name}: {value}"
            elif not _OWN_PROPERTIES.fullmatch(name):
                yield f"  {name}: {value}"
        if not all_properties:
            headers = sorted(record.get("record", {}).get("headers", {}).items())
            yield from (f"  header {name}: {value}" for name, value in headers if not name.startswith(_OF_BROKER))
        if source := record.get("source"):
            place = f"{source.get('partition', '')} {source.get('offset', '')}, epoch {source.get('epoch', 0)}"
            yield f"  from {_sender(source, with_uid=all_properties)}: {place}"


def _sender(source: Mapping[str, Any], *, with_uid: bool) -> str:
    name, uid = source.get("connectorName"), source.get("connectorUid", "")
    if not name:
        return f"connector with uid {uid}" if name is None else f"a connector that is gone (uid {uid})"
    return f"connector {name} (uid {uid})" if with_uid else f"connector {name}"


def _head(record: Mapping[str, Any]) -> str:
    shown = record.get("record", {})
    rows = int(record.get("rows", 0))
    row = f" row {int(record.get('row', 0)) + 1} of {rows}" if rows else ""
    key = f"  key {json.dumps(shown['key'], ensure_ascii=False)}" if shown.get("hasKey") else ""
    tags = record.get("properties", {}).get("TAGS", "")
    tag = f"  tag {tags}" if tags else ""
    size = counted(record.get("bytes", 0), "byte")
    return f"{record['queue']} {record['offset']}{row}  {local_time(record.get('storeTime', ''))}  {size}{key}{tag}"
