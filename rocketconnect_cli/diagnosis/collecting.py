"""Everything that a diagnosis has, part by part: what goes wrong with one is told, and the others follow."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rocketconnect_cli.api import Access
from rocketconnect_cli.diagnosis import machine, metrics
from rocketconnect_cli.diagnosis.asking import Asking
from rocketconnect_cli.diagnosis.bundle import Bundle
from rocketconnect_cli.diagnosis.gateway import Gateway
from rocketconnect_cli.diagnosis.hiding import in_urls
from rocketconnect_cli.diagnosis.processes import Processes
from rocketconnect_cli.embedded.data_directory import DataDirectory
from rocketconnect_cli.embedded.rocketmq import NAME_SERVER
from rocketconnect_cli.extras import advice
from rocketconnect_sdk.version import __version__
from rocketconnect_sdk.wording.counts import counted


@dataclass(frozen=True, slots=True)
class DiagnoseSettings:
    """What is to be looked at.

    Attributes:
        url: Of the gateway.
        access: How it lets somebody in.
        data: The data directory of `rocketconnect up`, or of the stores.
        connectors: Only these are asked for one by one; none: all.
        metrics: Where further metrics are, "HOST:PORT" or "NAME=HOST:PORT".
        logs: Further logs.
        name_server: Of RocketMQ; empty: as the data directory or the environment says.
        store_url: Of all stores; empty: files in the data directory.
        stores: Of one store each, "SERVICE=URL".
    """

    url: str
    access: Access
    data: Path
    connectors: Sequence[str] = ()
    metrics: Sequence[str] = ()
    logs: Sequence[Path] = ()
    name_server: str = ""
    store_url: str = ""
    stores: Sequence[str] = ()


def collect(bundle: Bundle, wanted: DiagnoseSettings, tell: Callable[[str], None]) -> None:
    """Fill the bundle, the summary included; `tell` is called with what is done now."""
    environment, data = dict(os.environ), wanted.data
    hider = bundle.hider
    hider.know([wanted.access.token, *in_urls(" ".join((wanted.url, wanted.store_url, *wanted.stores)))])
    asking = Asking(wanted.access, bundle.deadline)
    gateway = Gateway(bundle, asking, wanted.url, wanted.connectors, tell)
    skew: list[float | None] = [None]
    # Under a folder that is no data directory nothing is kept, and the environment says where RocketMQ is.
    kept = DataDirectory(data / "rocketmq").kept_ports().get(NAME_SERVER)
    usual = f"127.0.0.1:{kept}" if kept else environment.get("ROCKETCONNECT_NAME_SERVER", "")
    name_server = wanted.name_server or usual
    found: list[Processes] = []

    def processes() -> None:
        found.append(Processes(bundle, data, environment))
        found[0].describe()

    def brokers() -> None:
        from rocketconnect_cli.diagnosis import broker

        broker.facts(bundle, name_server, environment)

    def revisions() -> None:
        from rocketconnect_cli.diagnosis import stores

        stores.revisions(bundle, data, wanted.store_url, list(wanted.stores))

    # What others say is hidden by what processes know, so they are first; what takes longest is last.
    parts: list[tuple[str, Callable[[], None]]] = [
        ("processes", processes),
        ("versions", lambda: machine.versions(bundle)),
        ("health", lambda: skew.__setitem__(0, gateway.health())),
        ("host", lambda: machine.facts(bundle, data, environment, skew[0])),
        ("doctor", lambda: machine.doctor(bundle, data)),
        ("connectors", lambda: gateway.lists(found[0].referenced)),
        ("logs", lambda: machine.logs(bundle, data, wanted.logs)),
        ("metrics", lambda: metrics.metrics(bundle, asking, metrics.places(data, wanted.metrics))),
        ("RocketMQ", brokers),
        ("stores", revisions),
        ("stacks", lambda: found[0].stacks(tell)),
    ]
    try:
        for name, part in parts:
            if not bundle.left:
                bundle.miss(name, "the time was over; give more with --timeout")
                continue
            tell(name)
            try:
                part()
            except ModuleNotFoundError as error:
                bundle.miss(name, f"the package {error.name} is not here: {advice('up')}")
            except Exception as error:  # whatever it is, the rest is worth having
                bundle.miss(name, f"a defect of this command: {type(error).__name__}: {error}")
    finally:
        asking.close()
    bundle.summary(_summary(bundle, wanted))


def _summary(bundle: Bundle, wanted: DiagnoseSettings) -> str:
    """What to read first."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    seen = [f"- {line}" for line in bundle.seen] or ["- nothing that was asked says that it is unwell"]
    missing = [f"- {what}: {why}" for what, why in bundle.missing] or ["- nothing"]
    return "\n".join(
        [
            "# Diagnosis of RocketConnect",
            "",
            f"Made by RocketConnect {__version__} at {now}, of {wanted.url} and {wanted.data}.",
            "Secrets are hidden (`***`). Names, addresses, configurations, and what error messages quote of records, are in it.",
            "",
            "## Look at first",
            "",
            *seen,
            "",
            "## What could not be asked",
            "",
            *missing,
            "",
            f"## What is here ({counted(bundle.files, 'file')} and this one)",
            "",
            *(f"- {name}" for name in sorted(bundle.files)),
            "",
        ]
    )
