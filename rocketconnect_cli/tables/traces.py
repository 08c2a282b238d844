"""The message trace, as people see it."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from rich.table import Table

from rocketconnect_cli.output import table_of, without_prefix
from rocketconnect_cli.shown import local_time
from rocketconnect_sdk.wording.counts import counted

_COLUMNS = ("TIME", "WHAT", "GROUP", "CLIENT", "TOOK", "RESULT", "MORE")


def shown(answer: Mapping[str, Any]) -> Iterator[Table | str]:
    """What is known of each message of an answer of TraceMessages: a line about it, and a table of what happened to it."""
    if not answer["messages"]:
        yield "No message with a trace is there. The brokers' index knows a message some moments after it was stored."
    for message in answer["messages"]:
        yield _head(message)
        if steps := message.get("steps", []):
            yield table_of(_COLUMNS, map(_cells, steps))
        else:
            yield "  no trace: neither its producer nor a consumer has it switched on, or the topic no longer holds it"
    if garbled := int(answer.get("garbled", 0)):
        yield f"{counted(garbled, 'part')} of the trace can't be read, and {'is' if garbled == 1 else 'are'} left out."
    if answer.get("trouble"):
        yield f"This may not be all: {answer['trouble']}."


def _head(message: Mapping[str, Any]) -> str:
    words = [f"message {message['messageId']}"]
    if stored := message.get("stored"):
        where = f"{stored['queue']} {stored.get('offset', 0)}"
        words += [f"at {where} of {stored.get('storeHost', '')}", local_time(stored.get("storeTime", ""))]
        words.append(counted(stored.get("bytes", 0), "byte"))
    if message.get("keys"):
        words.append(f"key {json.dumps(message['keys'], ensure_ascii=False)}")
    if message.get("tags"):
        words.append(f"tag {message['tags']}")
    return "  ".join(words)


def _cells(step: Mapping[str, Any]) -> tuple[str, ...]:
    what = without_prefix(step.get("kind"), "TRACE_STEP_KIND_").lower().replace("_", " ")
    more = [f"to {step['storeHost']}"] if step.get("storeHost") else []
    if (of := step.get("messageType") or "normal") != "normal":
        more.append(of)
    if retries := int(step.get("retries", 0)):
        more.append(f"retry {retries}")
    cells = (_time(step.get("time", "")), what, step.get("group"), step.get("clientHost"), _took(step.get("took", "")))
    return (*(cell or "-" for cell in cells), step.get("result") or "not told", ", ".join(more))


def _time(text: str) -> str:
    """With milliseconds: most of a trace happens within a second."""
    if not text:
        return "-"
    told = datetime.fromisoformat(text).astimezone().isoformat(" ", "milliseconds")
    return f"{told.removesuffix('+00:00')}Z" if told.endswith("+00:00") else told


def _took(text: str) -> str:
    return f"{float(text.removesuffix('s')) * 1000:,.0f} ms" if text else ""
