"""Puts the executor together: settings, channels, hosts, worker, service."""

import asyncio
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import grpc.aio
from rocketconnect.cluster.v1.cluster_service_pb2_grpc import ClusterServiceStub
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceStub
from rocketconnect.deadletter.v1.deadletter_service_pb2_grpc import add_DeadletterServiceServicer_to_server
from rocketconnect.executor.v1.executor_service_pb2_grpc import add_ExecutorServiceServicer_to_server
from rocketconnect.position.v1.position_service_pb2_grpc import PositionServiceStub
from rocketconnect.state.v1.state_service_pb2_grpc import StateServiceStub
from rocketconnect.topic.v1.topic_service_pb2_grpc import add_TopicServiceServicer_to_server

from rocketconnect_kit.calls.channel import channel
from rocketconnect_kit.calls.in_turn import Channels
from rocketconnect_kit.calls.signals import Signals
from rocketconnect_kit.errors import Unavailable
from rocketconnect_kit.logs import say_always
from rocketconnect_kit.serving.levels import Levels, LoggingService, Told
from rocketconnect_kit.serving.server import run, serve
from rocketconnect_kit.settings import load
from rocketconnect_sdk.permissions.dead_letter_topics import DEAD_LETTER_TOPICS
from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS
from rocketconnect_sdk.permissions.quotas import QUOTAS
from rocketconnect_sdk.permissions.roots import OWN_FILES, READ_ROOTS, WRITE_ROOTS
from rocketconnect_sdk.permissions.spark_profiles import PROFILES, memory_size
from rocketconnect_sdk.permissions.spills import SPILLS
from rocketconnect_sdk.plugins.kafka import VARIABLE as KAFKA_PLUGINS
from services.executor.contract.endpoints import Endpoints, RocketMQAccess
from services.executor.contract.messages import LogLevels
from services.executor.contract.stop_limits import StopLimits
from services.executor.deadletters.check import LetterCheck
from services.executor.deadletters.journal import Journal
from services.executor.deadletters.packed import PackedLetters
from services.executor.deadletters.removal import Removal
from services.executor.deadletters.service import DeadletterService
from services.executor.environment import FOLDERS, RELOAD_SECONDS, VARIABLES, of_hosts
from services.executor.hosts.fresh import FreshHosts
from services.executor.hosts.pool import HostPool, Watcher
from services.executor.hosts.room import Room
from services.executor.hosts.scratch import Scratch
from services.executor.inquiries.cleanup import Cleanups
from services.executor.inquiries.planner import HostPlanner
from services.executor.inquiries.plugins import PluginReports, Plugins
from services.executor.inquiries.positions import Places
from services.executor.inquiries.stored_positions import StoredPositions
from services.executor.runtime.rocketmq.connect import connect
from services.executor.service import ExecutorService
from services.executor.settings import ExecutorSettings, parse_labels
from services.executor.topics.service import TopicService
from services.executor.worker.defect import end_broken
from services.executor.worker.lifecycle import Policy
from services.executor.worker.lineage import Lineage
from services.executor.worker.membership import Identity
from services.executor.worker.predecessors import Predecessors
from services.executor.worker.worker import Worker

NATIVE_HOSTS_PER_CORE = 16
_CALL_SECONDS = 5.0


def main(argv: Sequence[str]) -> int:
    """Run the service until a signal; return the exit code."""
    settings = load(ExecutorSettings, argv)
    return run("executor", settings, partial(_main, settings))


async def _main(settings: ExecutorSettings) -> int:
    executor = _Executor(settings)
    try:
        return await serve(
            "executor",
            executor.add_services,
            settings,
            log_levels=LoggingService("executor", Levels(executor.log_from), lambda: executor.worker_id),
            health={"cluster": executor.check_membership},
            on_start=[executor.start],
            on_drain=[executor.drain],
            on_stop=[executor.stop],
            signed_for=settings.reached_at,
        )
    finally:
        await executor.close_channels()


class _Executor:
    """What lives as long as the process. Made in the main thread: host processes end with the thread that started them."""

    def __init__(self, settings: ExecutorSettings) -> None:
        self._settings = settings
        self._channels = {
            name: channel(address, settings, service=name)
            for name, address in (
                ("cluster", settings.cluster_address),
                ("position", settings.position_address),
                ("state", settings.state_address),
                ("config", settings.config_address),
            )
        }
        # Another executor is shown nothing by which it could speak for this one.
        self._workers = Channels(replace(settings, token_file=None))
        self._scratch = Scratch()
        told = {
            VARIABLES: settings.secret_variables,
            FOLDERS: settings.secret_folders,
            RELOAD_SECONDS: f"{settings.secret_reload_seconds:g}",
            READ_ROOTS: settings.read_roots,
            WRITE_ROOTS: settings.write_roots,
            OWN_FILES: settings.told_of_own_files(),
            CONNECTOR_HOSTS: settings.connector_hosts,
            QUOTAS: settings.quotas,
            SPILLS: settings.query_spill,
            PROFILES: settings.spark_profiles,
            DEAD_LETTER_TOPICS: settings.dead_letter_topics,
            KAFKA_PLUGINS: settings.kafka_plugins,
            **settings.told_of_vault(),
            **settings.told_of_keystore(),
        }
        environment = of_hosts(os.environ, told)
        self._fresh = FreshHosts(self._scratch, environment)
        self._plugins = Plugins(self._fresh, settings.plugin_seconds)
        self._predecessors: Predecessors | None = None
        self._worker: Worker | None = None
        self.worker_id = ""
        self._levels = LogLevels([])
        self._close_lineage: Callable[[], None] | None = None
        self._work: asyncio.Task[None] | None = None
        connect_to_rocketmq = partial(connect, _endpoints(settings), "connect-dead-letters")
        journal = Journal(StateServiceStub(self._channels["state"]))
        check = LetterCheck(self._fresh, settings.plugin_seconds)
        packed = PackedLetters(self._fresh, settings.plugin_seconds)
        configs = ConfigServiceStub(self._channels["config"])
        self._dead_letters = DeadletterService(configs, journal, check, packed, connect_to_rocketmq, settings.dead_letter_topics)
        endpoints = _endpoints(settings)
        configs = ConfigServiceStub(self._channels["config"])
        connect_topics = partial(connect, endpoints, "connect-topics")
        self._topics = TopicService(configs, self._fresh, endpoints, connect_topics, settings.reader_hosts)
        self.service = ExecutorService(
            self._fresh,
            self._plugins,
            Places(self._fresh, _endpoints(settings)),
            settings.plugin_seconds,
            _endpoints(settings),
            Signals(StateServiceStub(self._channels["state"]), ClusterServiceStub(self._channels["cluster"]), self._workers),
        )

    def add_services(self, server: grpc.aio.Server) -> None:
        """Let the server answer for this executor."""
        add_ExecutorServiceServicer_to_server(self.service, server)
        add_DeadletterServiceServicer_to_server(self._dead_letters, server)
        add_TopicServiceServicer_to_server(self._topics, server)

    def start(self, address: str) -> None:
        """Begin to work; the executor service answers at this address."""
        settings = self._settings
        labels = parse_labels(settings.labels)
        worker_id = self.worker_id = settings.worker_at(address)
        say_always(worker=worker_id)
        predecessors = self._predecessors = Predecessors(worker_id)
        identity = Identity(
            worker_id,
            settings.reached_at(address),
            labels,
            settings.weight,
            settings.send_deadline_seconds,
            os.getpid(),
            predecessors.process,
            predecessors.ended,
        )
        worker = self._worker = Worker(
            identity,
            ClusterServiceStub(self._channels["cluster"]),
            PositionServiceStub(self._channels["position"]),
            StateServiceStub(self._channels["state"]),
            lambda: self._plugins.names,
            HostPlanner(self._fresh, settings.plugin_seconds, StoredPositions(PositionServiceStub(self._channels["position"]))),
            partial(self._make_pool, worker_id),
            Removal(ConfigServiceStub(self._channels["config"]), worker_id).saw,
            Policy.within(StopLimits.within(settings.drain_seconds)),
            self._make_lineage(),
        )
        worker.pool.log_from(self._levels)
        config = ConfigServiceStub(self._channels["config"])
        reports = PluginReports(
            self._plugins,
            identity,
            lambda request: config.ReportPlugins(request, timeout=_CALL_SECONDS),
            self._channels["config"],
        )
        cleanups = Cleanups(
            identity.worker_id,
            config,
            ClusterServiceStub(self._channels["cluster"]),
            self._fresh,
            lambda: self._plugins.names,
            settings.plugin_seconds,
            settings.cleanup_seconds,
        )
        self.service.begin(worker, partial(self._reloaded, worker, reports))
        self._work = asyncio.create_task(self._run(worker, reports, cleanups), name="executor")
        self._work.add_done_callback(_end_if_broken)

    def log_from(self, levels: Sequence[Told]) -> None:
        """Have the processes of tasks log from these levels on."""
        self._levels = LogLevels([(each.connector, each.logger, each.level) for each in levels])
        if self._worker is not None:
            self._worker.pool.log_from(self._levels)

    async def drain(self) -> None:
        """Every task ends clean, and the worker leaves the cluster."""
        if self._worker is not None and await self._worker.drain() and self._predecessors is not None:
            self._predecessors.left()

    async def stop(self) -> None:
        """Every host is gone. Call `drain` first."""
        if self._worker is not None and self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
            await self._worker.pool.close()
        if self._close_lineage is not None:
            await asyncio.to_thread(self._close_lineage)
        await self._fresh.close()
        self._dead_letters.close()
        self._topics.close()
        self._scratch.close()

    async def close_channels(self) -> None:
        """Close the connections to the other services."""
        await self._workers.close()
        for opened in self._channels.values():
            await opened.close()

    async def check_membership(self) -> None:
        """Raise unless the worker is a member of the cluster."""
        if self._worker is None or not self._worker.is_member:
            raise Unavailable("NOT_REGISTERED", "the cluster service has not confirmed this worker")

    async def _run(self, worker: Worker, reports: PluginReports, cleanups: Cleanups) -> None:
        worker.pool.warm_up()
        await self._plugins.load()
        async with asyncio.TaskGroup() as group:
            group.create_task(reports.run(), name="plugin reports")
            group.create_task(worker.run(), name="worker")
            group.create_task(cleanups.run(), name="cleanups")

    def _reloaded(self, worker: Worker, reports: PluginReports) -> None:
        reports.changed()
        worker.offer_changed()

    def _make_lineage(self) -> Lineage | None:
        settings = self._settings
        if not settings.lineage_url:
            return None
        # For who wants it alone.
        from services.executor.worker.openlineage import Endpoint, OpenLineageSender

        endpoint = Endpoint(settings.lineage_url, settings.lineage_namespace, settings.lineage_token_file)
        sender = OpenLineageSender(endpoint)
        self._close_lineage = sender.close
        return Lineage(sender, settings.lineage_seconds)

    def _make_pool(self, worker_id: str, watcher: Watcher) -> HostPool:
        settings = self._settings
        return HostPool(
            self._fresh,
            replace(_endpoints(settings), worker_id=worker_id),
            watcher,
            tasks_per_host=settings.tasks_per_host,
            native_hosts=settings.native_hosts or NATIVE_HOSTS_PER_CORE * (os.cpu_count() or 1),
            spark_warm=settings.spark_warm,
            spark_profiles=settings.spark_profiles,
            spark_classes=settings.spark_classes,
            needs=self._plugins.needs,
            engine=self._plugins.engine,
            room=Room(
                settings.max_tasks,
                settings.max_spark_drivers,
                memory_size(settings.max_spark_memory) if settings.max_spark_memory else 0,
            ),
        )


def _endpoints(settings: ExecutorSettings) -> Endpoints:
    rocketmq = RocketMQAccess(
        access_key=settings.rocketmq_access_key,
        secret_key=settings.rocketmq_secret_key,
        tls=settings.rocketmq_tls,
        tls_ca=_text(settings.rocketmq_tls_ca),
        tls_cert=_text(settings.rocketmq_tls_cert),
        tls_key=_text(settings.rocketmq_tls_key),
        tls_server_name=settings.rocketmq_tls_server_name,
    )
    ca, cert, key = map(_text, (settings.tls_ca, settings.tls_cert, settings.tls_key))
    limits = StopLimits.within(settings.drain_seconds)
    return Endpoints(
        settings.name_server,
        settings.position_address,
        ca,
        cert,
        key,
        _text(settings.token_file),
        send_deadline=settings.send_deadline_seconds,
        rocketmq=rocketmq,
        limits=limits,
        trace_records=settings.trace_records,
        lineage=bool(settings.lineage_url),
    )


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _end_if_broken(work: "asyncio.Task[None]") -> None:
    """Invariant 3: a worker that has stopped to look after its lease must not leave hosts running: they end with the process."""
    if not work.cancelled() and (error := work.exception()) is not None:
        end_broken(error)
