"""Connectors of other systems beside the client library of each, in turns: what ours takes above it, the broker apart."""

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager

from bench.systems import amqp, elasticsearch, files, http, kafka, mongodb, mqtt, rabbitmq, redis, sftp, solr
from bench.systems.moved import ours_above
from bench.systems.system import Compared, took
from bench.workload import Options, Sample, Workload
from rocketconnect_kit.java.errors import JarsUnavailable, JavaMissing
from tests.server_process import ServerFailed

RECORDS = 100_000
_SYSTEMS = {
    "redis": redis,
    "kafka": kafka,
    "elasticsearch": elasticsearch,
    "rabbitmq": rabbitmq,
    "mqtt": mqtt,
    "amqp": amqp,
    "mongodb": mongodb,
    "http": http,
    "sftp": sftp,
    "solr": solr,
    "files": files,
}

_MOST = {"mongodb": 5_000}
"""FerretDB writes each document by itself, which takes minutes for as many as others have."""


def run(options: Options) -> Iterator[Sample]:
    """System by system: the client alone, then ours, as often as is told. One whose server can't be had is left out, and said."""
    records = options.rows or RECORDS
    for name, system in _SYSTEMS.items():
        try:
            yield from _turns(system.compared, options.repeats, min(records, _MOST.get(name, records)))
        except (ServerFailed, JarsUnavailable, JavaMissing) as error:
            sys.stderr.write(f"systems: {name} is left out: {error}\n")


def _turns(compared: Callable[[int], AbstractContextManager[Sequence[Compared]]], repeats: int, records: int) -> Iterator[Sample]:
    with compared(records) as pairs:
        for _ in range(repeats):
            for pair in pairs:
                alone = took(pair, pair.alone, records)
                yield Sample(f"{pair.name}: {pair.client} alone", alone.figures())
                yield Sample(pair.name, ours_above(took(pair, pair.ours, records), alone))


WORKLOAD = Workload(
    "Connectors of other systems beside the clients of these",
    run,
    ("records_per_s", "cpu_us_per_record", "above_client_us", "added_mib"),
    ("cpu_us_per_record",),
    usual=False,
)
