"""Connectors in Java, in a process of their own: `python -m tests.connectors.kafka_connect.child '{"do": ..., ...}'` prints JSON.

Java can't be started beside pytest, which sets handlers of signals that Java needs, and never ends before its process.
"""

import json
import logging
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rocketconnect_sdk.configuration.connector_options import check_connector, parse_sink, parse_source
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import ConnectorError, RecordRefused
from rocketconnect_sdk.plugins.loader import find, plugins
from rocketconnect_sdk.record import Position, Rejected, SinkBatch, SourceBatch
from rocketconnect_sdk.sink import BufferedSink, Sink
from rocketconnect_sdk.source import Source
from services.executor.secrets.resolving import resolve, resolve_known

SECONDS = 60.0


def offered(order: dict[str, Any]) -> Any:
    """The plugin of a name, as executors tell of it."""
    (found,) = (plugin for plugin in plugins() if order["name"] in (plugin.name, *plugin.aliases))
    return [found.name, found.type.value, found.package.version, found.guarantee, [option.key for option in found.options]]


def check(order: dict[str, Any]) -> Any:
    """The problems of a configuration, and the keys of secrets."""
    found = check_connector(order["config"], resolve_known)
    return [[asdict(problem) for problem in found.problems], list(found.secret_keys)]


def left(order: dict[str, Any]) -> Any:
    """Whether Java leaves the socket by which debuggers attach, where this process ends without it."""
    check(order)
    return Path(f"/tmp/.java_pid{os.getpid()}").exists()


def source(order: dict[str, Any]) -> Any:
    """The batches of a source, until it has given so many records, from positions."""
    return [_batch(batch) for batch in batches_of(order)]


def logged(order: dict[str, Any]) -> Any:
    """The lines of the log of a source while Java logs an error with its causes, and writes something else."""
    connector = find(order["config"]["connector.class"])
    assert isinstance(connector, Source)
    config = resolve(parse_source(connector, order["config"]))
    lines: list[tuple[str, str]] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append((record.levelname, record.getMessage()))  # type: ignore[method-assign]
    log = logging.getLogger("task")
    log.setLevel(logging.DEBUG)
    log.addHandler(handler)
    task = connector.open(config, connector.plan(config, 1, {}).tasks[0], TaskContext(log=log, stores=True))
    task.start({})
    import jpype

    exception = jpype.JClass("java.lang.IllegalStateException")
    said = jpype.JClass("org.slf4j.LoggerFactory").getLogger("some.Reader")
    said.info("nothing that is logged")
    said.warn("Grüße, 😀")
    said.error("it fails", exception("the reason", exception("of it")))
    jpype.java.lang.System.err.println("x" * 15_000)
    jpype.java.lang.System.err.println("the end")
    deadline = time.monotonic() + SECONDS
    while not any("the end" in message for _, message in lines) and time.monotonic() < deadline:
        time.sleep(0.01)
    task.close()
    return lines


def batches_of(order: dict[str, Any]) -> list[SourceBatch]:
    """Them, as the source gave them."""
    connector = find(order["config"]["connector.class"])
    assert isinstance(connector, Source)
    config = resolve(parse_source(connector, order["config"]))
    positions = {name: Position(tuple(offset), resume) for name, (offset, resume) in order.get("positions", {}).items()}
    plan = connector.plan(config, 1, positions)
    task = connector.open(config, plan.tasks[0], TaskContext(epoch=order.get("epoch", 1), stores=True))
    task.start(positions)
    batches: list[SourceBatch] = []
    deadline = time.monotonic() + SECONDS
    while sum(map(len, batches)) < order["records"] and time.monotonic() < deadline:
        polled = task.poll()
        batches += polled if isinstance(polled, list) else []
    task.committed({batch.partition: Position(batch.end or batch.offsets[-1], batch.resume or {}) for batch in batches})
    task.close()
    return batches


def _batch(batch: SourceBatch) -> dict[str, Any]:
    values = [each.decode() if isinstance(each, bytes) else None if each is None else f"{_kind(each)}" for each in batch.values]
    return {
        "partition": batch.partition,
        "values": values,
        "topics": batch.topics,
        "headers": batch.headers,
        "offsets": batch.offsets,
        "end": batch.end,
        "resume": batch.resume,
    }


def _kind(value: object) -> str:
    return f"Rejected {value.error}" if isinstance(value, Rejected) else repr(value)


def sink(order: dict[str, Any]) -> Any:
    """What a sink says of each batch, and what is durable in the end."""
    connector = find(order["config"]["connector.class"])
    assert isinstance(connector, Sink)
    config = resolve(parse_sink(connector, order["config"]))
    assert isinstance(connector, BufferedSink)
    task = connector.open(config, connector.plan(config, 1).tasks[0], TaskContext())
    with ExitStack() as ended:
        ended.callback(task.close)
        task.start()
        ended.pop_all()
    said: list[object] = []
    for queue, offset, values in order["batches"]:
        bodies = [None if text is None else text.encode() for text in values]
        try:
            task.put(SinkBatch(queue, queue.partition("/")[0], bodies, range(offset, offset + len(bodies))))
            said.append("")
        except RecordRefused as refusal:
            said.append({str(index): why for index, why in refusal.refused.items()})
        except ConnectorError as error:
            said.append(f"{type(error).__name__}: {error}")
    durable: list[object] = []
    for flush in (False, True):
        try:
            durable.append(dict(task.durable(flush)))
        except ConnectorError as error:
            durable.append(f"{type(error).__name__}: {error}")
    task.close()
    return [said, *durable]


DO: dict[str, Callable[[dict[str, Any]], Any]] = {
    "offered": offered,
    "check": check,
    "left": left,
    "logged": logged,
    "source": source,
    "sink": sink,
}


def main(do_of: Mapping[str, Callable[[dict[str, Any]], Any]] = DO) -> None:
    order = json.loads(sys.argv[1])
    do = do_of[order["do"]]
    try:
        answer = do(order)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.write(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
