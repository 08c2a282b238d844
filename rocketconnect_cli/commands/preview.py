"""`rocketconnect preview`: what a configuration would do with a few live records."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.commands.connector import Pairs
from rocketconnect_cli.documents.given import read_all
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, show_notes, show_warnings, with_api
from rocketconnect_cli.terminal import printable
from rocketconnect_sdk.wording.counts import counted

_SHOWN = 400
_READ = ("topics", "connect.topicnames")
_SENT = ("topic", "connect.topicname")
"""Options of a sink and of a source, and their other names."""
_ABOUT = ("topic", "key", "time", "headers")


@with_api
def preview(
    file: Annotated[
        Path | None,
        typer.Option("--file", "-f", help="A JSON object, .properties, or YAML with several connectors; - is standard input."),
    ] = None,
    pairs: Pairs = None,
    records: Annotated[int, typer.Option("--records", "-n", help="So many records of each.", min=1, max=100)] = 5,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run a configuration on a few live records, and show what each step makes of them.

    They are the first of a source, or the last of a sink's topics; where these have none, what the source of the same file would
    send. Nothing is written, and no position moves. Exit code 2 when
    something is wrong with a configuration.
    """
    answers = []
    with api(url) as client:
        configurations = read_all(file, pairs or [])
        for name, config in configurations:
            body = {"name": name, "config": config, "records": records, **_source_of(config, configurations)}
            like = {"problems": [{}], "records": [{"steps": [{}]}]}
            answers.append({"name": name, **client.request("POST", "/v1/connectors:preview", body=body, like=like)})
    warned = {kind: [each for answer in answers for each in answer.get(kind, [])] for kind in ("warnings", "notes")}
    if problems := [problem for answer in answers for problem in answer["problems"]]:
        show_warnings(warned)
        raise ApiError(Exit.WRONG, {"detail": "nothing can be shown: the configuration is wrong", "problems": problems})
    emit(output, answers[0] if len(answers) == 1 else answers, lambda: [part for answer in answers for part in _shown(answer)])
    show_warnings(warned)
    show_notes(warned)


def _source_of(config: Mapping[str, str], others: Sequence[tuple[str, Mapping[str, str]]]) -> dict[str, Mapping[str, str]]:
    """The first source of the file that is to send to a topic of this sink, whose topics may have nothing yet."""
    topics = {each.strip() for key in _READ for each in config.get(key, "").split(",")} - {""}
    for _, other in others:
        if any(other.get(key, "").strip() in topics for key in _SENT):
            return {"source": other}
    return {}


def _shown(answer: Mapping[str, Any]) -> Iterator[Table | str]:
    if answer["name"]:
        yield f"{answer['name']} ({answer.get('plugin', '')})"
    for record in answer["records"]:
        yield record.get("position", "")
        yield _table(record["steps"])
    if trouble := answer.get("trouble"):
        yield f"There are no more: {trouble}"
    elif not answer["records"]:
        yield "There are no records to show: nothing came in time, or there is nothing."


def _table(steps: Sequence[Mapping[str, Any]]) -> Table:
    table = Table("STEP", "BEFORE", "AFTER", show_lines=True, header_style="bold")
    before: Mapping[str, Any] | None = None
    for step in steps:
        name, plugin = step.get("name", ""), step.get("plugin", "")
        title = name if plugin in ("", name) else f"{name}\n{plugin}"
        after = step.get("record")
        if step.get("problem"):
            result = f"can't be done: {step['problem']}"
        else:
            result = "dropped" if after is None else _lines(after, before)
        cells = title, "" if before is None else _lines(before, before), result
        table.add_row(*(Text(printable(cell)) for cell in cells))
        before = after
    return table


def _lines(record: Mapping[str, Any], before: Mapping[str, Any] | None) -> str:
    """The value with its types, and of the rest what is not as it was before."""
    lines = _value_lines(record)
    for key in _ABOUT:
        value = record.get(key)
        if value and (before is None or before.get(key) != value):
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            lines.append(f"[{key}] {text}")
    return "\n".join(lines)


def _value_lines(record: Mapping[str, Any]) -> list[str]:
    if not record.get("hasValue"):
        return ["(no value: a tombstone)"]
    text, schema = record.get("value", ""), _json(record.get("schema", "")) or {}
    types = {field.get("field"): _type(field) for field in schema.get("fields") or ()} if isinstance(schema, dict) else {}
    value = _json(text) if types else None
    if not isinstance(value, dict):
        kind = _type(schema) if schema else ""
        return [f"{_cut(text)}  : {kind}" if kind else _cut(text)]
    return [f"{name} = {_cut(json.dumps(each, ensure_ascii=False))}  : {types.get(name, '')}" for name, each in value.items()]


def _cut(text: str) -> str:
    """What of it stands in a table; `-o json` has all of it."""
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({counted(len(text), 'character')}; -o json has all)"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _type(schema: Mapping[str, Any]) -> str:
    name = str(schema.get("name") or "").rpartition(".")[2]
    kind = str(schema.get("type", ""))
    shown = f"{kind} {name}" if name else kind
    return f"{shown}?" if schema.get("optional") else shown
