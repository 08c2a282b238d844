"""Starts and stops a real RocketMQ on this machine: one name server and one broker, each a process of its own."""

import os
import shutil
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from rocketconnect_cli.embedded import java_agent, ports, probe, settings
from rocketconnect_cli.embedded.class_archive import java_options
from rocketconnect_cli.embedded.data_directory import DataDirectory
from rocketconnect_cli.embedded.errors import StartFailed
from rocketconnect_cli.embedded.java_agent import JavaAgent
from rocketconnect_cli.embedded.rocketmq_jars import rocketmq_jars
from rocketconnect_kit.java.find import find_java
from rocketconnect_kit.tethered import tethered

NAME_SERVER = "name-server"
BROKER = "broker"

_START_ATTEMPTS = 3
_POLL_SECONDS = 0.05
_LOG_TAIL_LINES = 15
_REGISTRATION_SECONDS = 1.0
_PORT_TAKEN = "Address already in use"
_OF_AGENT = "jmx-exporter.yaml"


@dataclass(frozen=True, slots=True)
class _Prepared:
    java: Path
    jars: Path
    name_server_port: int
    broker_port: int


class EmbeddedRocketMQ:
    """A name server and a broker on loopback ports, with everything that they keep under one data directory.

    Either call `start()` and `stop()` (or use it in a `with` statement), or let a supervisor run the two processes:
    `prepare()`, then `name_server_command()` and `broker_command()` with `environment`, again whenever one has ended,
    `is_ready()` to see whether they answer, and `stop()` at the end to give the directory back.

    Ports are chosen once and kept in the data directory, so that clients find a restarted broker; a kept port that
    somebody else took meanwhile is replaced, one that was asked for by number is not (PortInUse).
    Every message that the broker confirmed is there again after any death of its process.
    The processes die with the process that started them; start them from a thread that lives as long (the main one).
    Not for use by several threads at once.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        name_server_port: int = 0,
        broker_port: int = 0,
        promised_ports: Collection[int] = (),
        jars: Path | None = None,
        broker_settings: Mapping[str, str] | None = None,
        system_properties: Mapping[str, str] | None = None,
        name_server_heap: str = "256m",
        broker_heap: str = "1g",
        broker_options: Sequence[str] = (),
        agent: JavaAgent | None = None,
    ) -> None:
        """Touch nothing yet. Port 0 means a free one; no `jars`: the user's cache, filled first when it is empty.

        Promised ports are left to others, who need not listen yet.
        `broker_settings` are RocketMQ's own (its broker.conf), `system_properties` Java's for both processes
        (RocketMQ's TLS is set by them); both win over those of settings.py. `broker_options` are further ones of Java for the
        broker. The agent is for those that its ports name.
        """
        self._directory = DataDirectory(data_dir.absolute())
        self._wanted_name_server_port = name_server_port
        self._wanted_broker_port = broker_port
        self._promised_ports = frozenset(promised_ports)
        self._wanted_jars = jars
        self._broker_settings = dict(broker_settings or {})
        self._system_properties = dict(system_properties or {})
        self._name_server_heap = name_server_heap
        self._broker_heap = broker_heap
        self._broker_options = tuple(broker_options)
        self._agent = agent
        self._prepared: _Prepared | None = None
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._ask_at: float | None = None

    @property
    def data_dir(self) -> Path:
        """The folder with everything that they keep."""
        return self._directory.path

    @property
    def name_server(self) -> str:
        """The name server's address, "127.0.0.1:port"; known from `prepare()` on."""
        return f"127.0.0.1:{self._known.name_server_port}"

    @property
    def broker(self) -> str:
        """The broker's address, "127.0.0.1:port"; known from `prepare()` on."""
        return f"127.0.0.1:{self._known.broker_port}"

    @property
    def ports(self) -> tuple[int, ...]:
        """All ports on which the two listen, also those that a broker takes beside its own; known from `prepare()` on."""
        broker = (self._known.broker_port + offset for offset in ports.BROKER_OFFSETS)
        return (self._known.name_server_port, *broker)

    @property
    def jars(self) -> Path:
        """The folder with RocketMQ's jars; known from `prepare()` on."""
        return self._known.jars

    @property
    def processes(self) -> dict[str, subprocess.Popen[bytes]]:
        """What `start()` started, by name: NAME_SERVER and BROKER."""
        return dict(self._processes)

    @property
    def environment(self) -> dict[str, str]:
        """The environment for both commands."""
        # Both read this one, and it would win over the configuration file.
        inherited = {key: value for key, value in os.environ.items() if key != "NAMESRV_ADDR"}
        return {**inherited, "ROCKETMQ_HOME": str(self.data_dir)}

    def prepare(self) -> None:
        """Lock the data directory, choose the ports and write the configuration files; start nothing.

        Raises JavaMissing, JarsUnavailable, DataDirectoryInUse, DataDirectoryUnusable or PortInUse. Called again it does nothing.
        """
        if self._prepared is not None:
            return
        java = find_java()
        jars = self._wanted_jars or rocketmq_jars()
        self._directory.acquire()
        try:
            for folder in (NAME_SERVER, BROKER, "logs", "store"):
                self._directory.folder(folder)
            kept = self._directory.kept_ports()
            promised = self._promised_ports
            name_server_port = ports.settle(
                "name server", self._wanted_name_server_port, kept.get(NAME_SERVER, 0), ports.NAME_SERVER_OFFSETS, promised
            )
            promised |= {name_server_port}
            broker_port = ports.settle("broker", self._wanted_broker_port, kept.get(BROKER, 0), ports.BROKER_OFFSETS, promised)
            self._prepared = _Prepared(java, jars, name_server_port, broker_port)
            self._write_configuration()
        except BaseException:
            self.kill()
            raise

    def name_server_command(self) -> list[str]:
        """Return the command line of the name server, to be started by this very process, with which it dies."""
        flags = settings.name_server_flags(self._name_server_heap)
        return tethered(self._java(NAME_SERVER, flags, settings.NAME_SERVER_MAIN))

    def broker_command(self) -> list[str]:
        """Return the command line of the broker, to be started by this very process, with which it dies.

        It may be started together with the name server, for which it waits a while.
        """
        flags = [*settings.broker_flags(self._broker_heap), *self._broker_options]
        java = self._java(BROKER, flags, settings.BROKER_MAIN)
        # A broker that can't reach it at its start registers only after 10 s.
        return tethered(java, once_listening=self._known.name_server_port)

    def start(self, timeout_seconds: float = 60) -> None:
        """Start both and return when the broker is registered and answers.

        Raises StartFailed with the end of the log, and what `prepare()` raises; nothing is left running then.
        """
        deadline = time.monotonic() + timeout_seconds
        for attempts_left in reversed(range(_START_ATTEMPTS)):
            self.prepare()
            try:
                self._spawn(NAME_SERVER, self.name_server_command())
                self._spawn(BROKER, self.broker_command())
                self._wait_until_ready(deadline)
            except StartFailed:
                # Another program may take a port between our choice and the start; then we choose again.
                try_again = attempts_left > 0 and self._lost_a_port()
                self.stop()
                if not try_again:
                    raise
            except BaseException:
                self.stop()
                raise
            else:
                return

    def is_ready(self, timeout_seconds: float = 1) -> bool:
        """Return whether the name server answers, knows the broker, and the broker accepts connections.

        A broker that listens and is not known after a second is asked to register, once a second: when it has not found
        the name server in the first tenths of a second of its service, it would try again only after 10 s.
        """
        known = self._known
        if not probe.listens(known.broker_port, timeout_seconds):
            return False
        if probe.knows_broker(known.name_server_port, known.broker_port, timeout_seconds):
            self._ask_at = None
            return True
        now = time.monotonic()
        if self._ask_at is not None and now >= self._ask_at:
            probe.ask_to_register(known.broker_port, timeout_seconds)
        if self._ask_at is None or now >= self._ask_at:
            self._ask_at = now + _REGISTRATION_SECONDS
        return False

    def stop(self, timeout_seconds: float = 20) -> None:
        """Ask both to end (SIGTERM), wait until the broker has closed its store, end what is left, free the directory.

        After it `start()` works again. Nothing happens when nothing runs.
        """
        for process in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + timeout_seconds
        broker = self._processes.get(BROKER)
        while broker is not None and broker.poll() is None and not self.is_closed() and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        self.kill()

    def kill(self) -> None:
        """End both at once (SIGKILL) and free the directory. No confirmed message is lost; the next start checks the store."""
        for process in self._processes.values():
            process.kill()
            process.wait()
        self._processes.clear()
        self._prepared = None
        self._directory.release()

    def is_closed(self) -> bool:
        """Return whether the broker has closed its store; ended from then on it loses nothing, though it takes 3 s more."""
        # RocketMQ's own mark of a store in use.
        return not (self.data_dir / "store" / "abort").exists()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Stop."""
        self.stop()

    @property
    def _known(self) -> _Prepared:
        if self._prepared is None:
            message = "nothing is chosen yet: call prepare() or start() first"
            raise RuntimeError(message)
        return self._prepared

    def _write_configuration(self) -> None:
        known = self._known
        self._directory.keep_ports({NAME_SERVER: known.name_server_port, BROKER: known.broker_port})
        name_server = settings.name_server_settings(known.name_server_port, self.data_dir)
        broker = settings.broker_settings(known.broker_port, self.name_server, self.data_dir)
        self._directory.write(f"{NAME_SERVER}.conf", settings.properties(name_server))
        self._directory.write(f"{BROKER}.conf", settings.properties({**broker, **self._broker_settings}))
        if self._agent is not None:
            self._directory.write(_OF_AGENT, java_agent.CONFIGURATION)

    def _java(self, name: str, flags: list[str], main: str) -> list[str]:
        home = self.data_dir / name
        # RocksDB unpacks a library of 13 MB at each start; a process that was killed leaves it behind.
        temporary = home / "tmp"
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(exist_ok=True)
        system = {"user.home": str(home), "java.io.tmpdir": str(temporary), **settings.SYSTEM_PROPERTIES, **self._system_properties}
        properties = [f"-D{key}={value}" for key, value in system.items()]
        # By their names: what Java has archived of their classes is of jars in this order.
        class_path = ["-cp", os.pathsep.join(map(str, sorted(self._known.jars.glob("*.jar"))))]
        agent = self._agent.flags(name, self.data_dir / _OF_AGENT) if self._agent is not None else []
        archived = java_options(self._known.java, self._known.jars)
        return [str(self._known.java), *archived, *flags, *agent, *properties, *class_path, main, "-c", f"{home}.conf"]

    def _spawn(self, name: str, command: list[str]) -> None:
        with self._directory.log_file(name).open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self.environment,
                # Ctrl-C goes to the foreground group: whoever owns these processes drains first and then stops them.
                start_new_session=True,
            )

    def _wait_until_ready(self, deadline: float) -> None:
        while not self.is_ready():
            ended = [name for name, process in self._processes.items() if process.poll() is not None]
            if ended or time.monotonic() > deadline:
                what = f"ended ({ended[0]})" if ended else "did not answer in time"
                message = f"the embedded RocketMQ {what}. Its log {self._directory.log_file((ended or [BROKER])[0])} ends:\n"
                raise StartFailed(message + self._directory.log_tail((ended or [BROKER])[0], _LOG_TAIL_LINES))
            time.sleep(_POLL_SECONDS)

    def _lost_a_port(self) -> bool:
        return any(_PORT_TAKEN in self._directory.log_tail(name, 200) for name in (NAME_SERVER, BROKER))
