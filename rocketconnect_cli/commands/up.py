"""`rocketconnect up`: everything on one machine."""

import importlib.util
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import httpx
import typer

from rocketconnect_cli.api import Exit
from rocketconnect_cli.embedded import probe
from rocketconnect_cli.embedded.data_directory import DataDirectory
from rocketconnect_cli.embedded.download import show_download
from rocketconnect_cli.embedded.errors import EmbeddedRocketMQError
from rocketconnect_cli.embedded.java_agent import JMX_EXPORTER
from rocketconnect_cli.embedded.rocketmq import BROKER, NAME_SERVER, EmbeddedRocketMQ
from rocketconnect_cli.embedded.spark import prepare_spark
from rocketconnect_cli.extras import advice
from rocketconnect_cli.instance import choosing, topology, watching
from rocketconnect_cli.instance.conf import ConfOption, settings
from rocketconnect_cli.instance.process import Process
from rocketconnect_cli.instance.rotation import MIB, Rotation
from rocketconnect_cli.instance.running import START_SECONDS
from rocketconnect_cli.instance.supervisor import Supervisor
from rocketconnect_cli.output import URL, Output, OutputOption, err
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.access.tokens import line, new_token
from rocketconnect_kit.java.errors import JarsUnavailable, JavaError
from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.settings import is_loopback
from rocketconnect_kit.tethered import tethered

NEEDED = ("grpc", "msgspec", "pyspark", "sqlalchemy", "starlette", "uvicorn")
MOST_FAILURES = 4
"""So often a process may end right after its start before it is given up."""
LOG_TAIL_BYTES = 4000
PROBE_SECONDS = 2.0
"""How long a name server of somebody else's may take to accept a connection before it is said that none answers."""


class LogFormat(StrEnum):
    """A form of logs; see ServiceSettings.log_format."""

    TEXT = "text"
    JSON = "json"


class StartFailed(Exception):
    """It can't start; the text says why and what to do."""


def up(
    ctx: typer.Context,
    data: Annotated[Path, typer.Option(help="Keeps everything that must outlive a stop.")] = Path("rocketconnect-data"),
    rest_port: Annotated[
        int, typer.Option(help="Where REST answers; 0: the port of the last time, or any free one.", min=0, max=65535)
    ] = 8082,
    metrics_port: Annotated[
        int, typer.Option(help="Where Prometheus finds /metrics; 0: the one of the last time, or any free port.", min=0, max=65535)
    ] = 0,
    port: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=PORT",
            help="Where an inner one listens: config, position, state, cluster, executor-1, ..., name-server, broker. "
            "The port of the last time, or any free one, where none is given.",
        ),
    ] = None,
    executors: Annotated[int, typer.Option(help="How many executors.", min=1, max=64)] = 1,
    namesrv: Annotated[str, typer.Option(help="Use this RocketMQ (HOST:PORT, several with ;) instead of an embedded one.")] = "",
    host: Annotated[
        str,
        typer.Option(help="Where REST and metrics listen. Beyond this machine with --tokens-file and --tls-cert, or --insecure."),
    ] = "127.0.0.1",
    tokens_file: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="Who may ask REST: see `rocketconnect token`. Without it everybody may."),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="REST speaks TLS: its certificate (PEM).")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="The key of that certificate (PEM).")] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Listen beyond this machine though nobody is asked, or it is in the clear.")
    ] = False,
    log_level: Annotated[str, typer.Option(help="DEBUG, INFO, WARNING or ERROR, for the logs in DATA/logs.")] = "INFO",
    log_format: Annotated[
        LogFormat | None,
        typer.Option(help="The form of those logs, json for machines; text, unless the environment tells."),
    ] = None,
    log_size: Annotated[
        int, typer.Option(metavar="MIB", help="A log in DATA/logs that is larger goes on without what is older.", min=1)
    ] = 16,
    log_count: Annotated[
        int, typer.Option(help="So many files with what is older are kept of each log: NAME.log.1, ...", min=1, max=1000)
    ] = 4,
    conf: ConfOption = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Also run a Prometheus with alerts for all of it, if the program is on this machine.")
    ] = False,
    output: OutputOption = Output.TABLE,
) -> None:
    """Run everything on this machine: RocketMQ, the services, executors with local Spark. Ctrl-C drains and stops all."""
    try:
        _check_installation()
        rest_port, namesrv, more = settings(ctx, conf, rest_port, namesrv)
        inner = _inner_ports(port or [], executors, embedded=not namesrv)
        files = tuple(path.absolute() for path in (tokens_file,) if path is not None)
        cert, key = (None if path is None else path.absolute() for path in (tls_cert, tls_key))
        rest = topology.Rest(host, files, cert, key, insecure)
        _check_exposure(rest)
        logs = {**_logs(log_level, log_format), **more}
        rotation = Rotation(log_size * MIB, log_count)
        instance = _Instance(data.absolute(), rest_port, metrics_port, inner, executors, namesrv, rest, logs, rotation, watch=watch)
        code = instance.run(output)
    except (StartFailed, EmbeddedRocketMQError, JavaError) as error:
        err.print(f"Error: {error}", style="red", markup=False)
        raise typer.Exit(int(Exit.FAILED)) from None
    raise typer.Exit(code)


def _logs(level: str, form: LogFormat | None) -> dict[str, str]:
    """What services are told of their logs."""
    return {"ROCKETCONNECT_LOG_LEVEL": level} | ({} if form is None else {"ROCKETCONNECT_LOG_FORMAT": form.value})


def _check_installation() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        msg = f"`rocketconnect up` runs every service and needs {', '.join(missing)}: {advice('up')}"
        raise StartFailed(msg)


def _inner_ports(texts: list[str], executors: int, *, embedded: bool) -> dict[str, int]:
    try:
        return topology.inner_ports(texts, executors, (NAME_SERVER, BROKER) if embedded else ())
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--port") from None


class _Instance:
    """One running `rocketconnect up`."""

    def __init__(
        self,
        data: Path,
        rest_port: int,
        metrics_port: int,
        inner: Mapping[str, int],
        executors: int,
        namesrv: str,
        rest: topology.Rest,
        logs: Mapping[str, str],
        rotation: Rotation,
        *,
        watch: bool,
    ) -> None:
        self._inner, self._rotation = inner, rotation
        self._data, self._rest, self._logs, self._namesrv = data, rest, logs, namesrv
        self._token = new_token()
        self._wants_watch = watch
        self._watch: watching.Watch | None = None
        self._wanted = rest_port, metrics_port, executors
        self._rocketmq: EmbeddedRocketMQ | None = None

    def run(self, output: Output) -> int:
        java = find_java()
        os.environ.setdefault("JAVA_HOME", str(java.resolve().parent.parent))
        directory = DataDirectory(self._data)
        directory.acquire()
        try:
            directory.folder("logs")
            return self._run(output, directory)
        finally:
            if self._rocketmq is not None:
                self._rocketmq.stop()
            directory.release()

    def _run(self, output: Output, directory: DataDirectory) -> int:
        kept = directory.kept_ports()
        rest, metrics, executors = self._wanted
        chosen = choosing.choose(rest, metrics, executors, self._inner, kept)
        if self._wants_watch and (program := watching.find()) is not None:
            agent = self._asked_of_java()
            self._watch = watching.Watch.choose(program, chosen, self._inner.values(), kept, agent)
        # Prometheus has its address in a file, people and programs have those of REST and of services in theirs.
        own = self._watch.kept if self._watch is not None else {}
        directory.keep_ports({**chosen.kept, **own})
        processes: list[Process] = []
        what, logs = "the services" if self._namesrv else "RocketMQ and the services", directory.path / "logs"
        err.print(f"Starting {what}, which takes some ten seconds; logs are in {logs}", style="dim", markup=False)
        if self._wants_watch and self._watch is None:
            err.print(f"Without --watch: {watching.MISSING}.", style="yellow", markup=False)
        if not self._namesrv:
            processes += self._embedded_rocketmq(chosen)
        name_server = self._namesrv or self._embedded.name_server
        services = topology.services(
            chosen,
            data=self._data,
            name_server=name_server,
            spark_classes=prepare_spark(err),
            rest=self._let_in(directory),
            extra=self._logs,
            metrics=None if self._watch is None else self._watch.metrics,
        )
        processes += [self._process(service) for service in services]
        if self._watch is not None:
            folder, log = directory.folder(watching.NAME), self._log(watching.NAME)
            processes.append(self._watch.process(folder, log, services, self._rest.reachable))
        supervisor = Supervisor(processes, lambda line: err.print(line, style="yellow", markup=False), self._rotation)
        supervisor.catch_signals()
        try:
            supervisor.start()
            if self._await_ready(supervisor, chosen):
                self._say_ready(output, chosen, name_server, supervisor)
                if self._namesrv and not any(probe.answers(each, PROBE_SECONDS) for each in self._namesrv.split(";")):
                    line = f"No RocketMQ answers at {self._namesrv} yet; connectors say WAITING until one does."
                    err.print(line, style="yellow", markup=False)
                supervisor.run()
                err.print("Draining and stopping; Ctrl-C again to stop at once.", style="dim")
        finally:
            supervisor.stop()
        return int(Exit.OK)

    def _let_in(self, directory: DataDirectory) -> topology.Rest:
        """What the gateway is told; where callers are asked, this process is one of them."""
        if not self._rest.tokens_files:
            return self._rest
        own = directory.folder("access") / "callers"
        own.write_text(line("up", Role.READ, self._token), encoding="utf-8")
        return replace(self._rest, tokens_files=(*self._rest.tokens_files, own))

    @property
    def _embedded(self) -> EmbeddedRocketMQ:
        if self._rocketmq is None:
            msg = "no embedded RocketMQ"
            raise RuntimeError(msg)
        return self._rocketmq

    def _asked_of_java(self) -> Path | None:
        """The folder with what has the Java of RocketMQ tell of its memory; None: it is not watched, or can't be."""
        if self._namesrv:
            return None
        try:
            return show_download(err, JMX_EXPORTER)
        except JarsUnavailable as error:
            err.print(f"Nothing watches the memory of RocketMQ's Java: {error}", style="yellow", markup=False)
        return None

    def _embedded_rocketmq(self, others: topology.Ports) -> list[Process]:
        own = () if self._watch is None else (self._watch.port, *self._watch.metrics.values())
        rocketmq = EmbeddedRocketMQ(
            self._data / "rocketmq",
            jars=show_download(err),
            name_server_port=self._inner.get(NAME_SERVER, 0),
            broker_port=self._inner.get(BROKER, 0),
            promised_ports={others.rest, others.metrics, *others.stores.values(), *others.executors, *own},
            agent=None if self._watch is None else self._watch.agent,
        )
        rocketmq.prepare()
        self._rocketmq = rocketmq
        return [
            Process(
                NAME_SERVER,
                rocketmq.name_server_command,
                rocketmq.environment,
                self._log(NAME_SERVER),
                topology.NAME_SERVER_STAGE,
                topology.NAME_SERVER_SECONDS,
            ),
            Process(
                BROKER,
                rocketmq.broker_command,
                rocketmq.environment,
                self._log(BROKER),
                topology.BROKER_STAGE,
                topology.BROKER_SECONDS,
                rocketmq.is_closed,
                "close its store",
            ),
        ]

    def _process(self, service: topology.Service) -> Process:
        drain = topology.EXECUTOR_DRAIN_SECONDS if service.kind == "executor" else topology.SERVICE_DRAIN_SECONDS
        return Process(
            service.name,
            lambda: tethered(service.command),
            {**topology.UNLESS_TOLD, **topology.handed_on(os.environ), **service.environment},
            self._log(service.name),
            topology.STAGES[service.kind],
            drain,
            ending="finish its batches and commit" if service.kind == "executor" else "end",
        )

    def _log(self, name: str) -> Path:
        return self._data / "logs" / f"{name}.log"

    def _await_ready(self, supervisor: Supervisor, chosen: topology.Ports) -> bool:
        """True when everything answers, False when the end was asked for before."""
        starts, deadline = 0, 0.0
        url, headers = f"{self._rest.scheme}://{self._rest.reachable}:{chosen.rest}", {"Authorization": f"Bearer {self._token}"}
        # It asks a process of its own, on this machine, whose certificate is for another name.
        with httpx.Client(base_url=url, timeout=2.0, headers=headers, verify=False) as client:  # noqa: S501
            while not supervisor.stopping:
                supervisor.look_after()
                if starts < (starts := sum(process.starts for process in supervisor.processes)):
                    # Whatever was ended by somebody gets the whole time again.
                    deadline = time.monotonic() + START_SECONDS
                broken = [process for process in supervisor.processes if process.failures > MOST_FAILURES]
                if broken or time.monotonic() > deadline:
                    raise StartFailed(self._why(broken))
                if self._servers_ready() and _ready(client, len(chosen.executors)):
                    return True
        return False

    def _servers_ready(self) -> bool:
        return (self._rocketmq is None or self._rocketmq.is_ready()) and (self._watch is None or self._watch.is_ready())

    def _why(self, broken: list[Process]) -> str:
        if not broken:
            return f"it was not ready within {START_SECONDS:g} s; see the logs in {self._data / 'logs'}"
        log = broken[0].log
        tail = log.read_bytes()[-LOG_TAIL_BYTES:].decode(errors="replace") if log.exists() else ""
        return f"{broken[0].name} does not stay up. Its log {log} ends:\n{tail}"

    def _say_ready(self, output: Output, chosen: topology.Ports, name_server: str, supervisor: Supervisor) -> None:
        prometheus = None if self._watch is None else self._watch.address
        facts: dict[str, Any] = {
            "console": f"{self._rest.scheme}://{self._rest.reachable}:{chosen.rest}/",
            "rest": f"{self._rest.scheme}://{self._rest.reachable}:{chosen.rest}",
            "metrics": f"http://{self._rest.reachable}:{chosen.metrics}/metrics",
            **({"prometheus": prometheus} if self._wants_watch else {}),
            "nameServer": name_server,
            "data": str(self._data),
            "logs": str(self._data / "logs"),
            "services": {
                **{kind: f"127.0.0.1:{port}" for kind, port in chosen.stores.items()},
                **{f"executor-{number}": f"127.0.0.1:{port}" for number, port in enumerate(chosen.executors, 1)},
            },
            "pids": {process.name: process.pid for process in supervisor.processes},
        }
        if output is Output.JSON:
            sys.stdout.write(json.dumps(facts) + "\n")
        else:
            services = ", ".join(f"{name} {address.rpartition(':')[2]}" for name, address in facts["services"].items())
            sys.stdout.write(
                "RocketConnect is ready.\n"
                f"  Console      {facts['console']}\n  REST         {facts['rest']}\n  Metrics      {facts['metrics']}\n"
                + (f"  Prometheus   {prometheus}, alerts at /alerts\n" if prometheus else "")
                + f"  Name server  {name_server}\n"
                f"  Services     ports of 127.0.0.1: {services}\n"
                f"  Data         {facts['data']}\n  Logs         {facts['logs']}\n"
                + ("" if facts["rest"] == URL else f"  Commands     export ROCKETCONNECT_URL={facts['rest']}\n")
                + f"  Files        {topology.files_said(os.environ)}\nCtrl-C drains and stops everything.\n"
            )
        sys.stdout.flush()


def _check_exposure(rest: topology.Rest) -> None:
    if (rest.tls_cert is None) != (rest.tls_key is None):
        msg = "--tls-cert and --tls-key go together: give both or none"
        raise StartFailed(msg)
    if is_loopback(rest.host):
        return
    open_to_all = [] if rest.tokens_files else ["nobody is asked who it is: give --tokens-file"]
    open_to_all += [] if rest.tls_cert else ["what is said can be read on the way, tokens too: give --tls-cert and --tls-key"]
    missing = []
    if open_to_all and not rest.insecure:
        missing.append(f"{'; and '.join(open_to_all)}; or give --insecure on a trusted network")
    if unnamed := topology.unnamed(os.environ):
        missing.append(f"what connectors may read and write here is not said: {unnamed}")
    if missing:
        msg = f"--host {rest.host} lets in others than this machine, and {'. And '.join(missing)}"
        raise StartFailed(msg)


def _ready(client: httpx.Client, executors: int) -> bool:
    """The gateway and what it asks answer, and the executors have joined and said what they offer."""
    try:
        answers = [client.get(path) for path in ("/readyz", "/v1/workers", "/v1/plugins")]
        if not all(answer.is_success for answer in answers):
            return False
        alive = [worker for worker in answers[1].json().get("workers", []) if worker.get("alive")]
        return len(alive) >= executors and bool(answers[2].json().get("plugins"))
    except httpx.HTTPError:
        # Not there yet; whoever calls has a deadline.
        return False
