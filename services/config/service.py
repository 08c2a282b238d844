"""The RPCs of the config service: check the request, ask an executor, change the store, convert."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence

from rocketconnect.config.v1 import config_service_pb2 as pb
from rocketconnect.config.v1.config_service_pb2_grpc import ConfigServiceServicer
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.executor.v1 import executor_service_pb2 as executor_pb2

from rocketconnect_kit import pages
from rocketconnect_kit.access.gate import check_worker
from rocketconnect_kit.errors import AlreadyExists, FailedPrecondition, FieldProblem, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_kit.serving.caller import caller
from rocketconnect_kit.serving.interception import ServicerContext
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.letters.replays import PLUGIN
from services.config import checks, wire
from services.config.checks import refuse_same
from services.config.domain import Connector, ConnectorType, WantedState, Worker
from services.config.feed import ChangeFeed
from services.config.predecessors.warning import Predecessors
from services.config.replays import orders
from services.config.replays.others import Others
from services.config.rows import not_found
from services.config.signature import Signature, shortened_reason, signature, signature_problems
from services.config.store import ConfigStore
from services.config.validation.executors import Executors, no_executor, preview_in_turn, verify_in_turn
from services.config.validation.ours import Ours
from services.config.validation.verdicts import Verdicts

_WantRequest = pb.PauseConnectorRequest | pb.ResumeConnectorRequest | pb.StopConnectorRequest
_SignedRequest = (
    _WantRequest
    | pb.CreateConnectorRequest
    | pb.UpdateConnectorRequest
    | pb.RollbackConnectorRequest
    | pb.DeleteConnectorRequest
    | pb.RestartConnectorRequest
    | pb.RecordPositionsMoveRequest
)

_log = get_logger(__name__)


class ConfigService(ConfigServiceServicer):
    """See config_service.proto for what each RPC promises. Errors of the domain pass through to the kit's interceptor."""

    def __init__(
        self, store: ConfigStore, executors: Executors, feed: ChangeFeed, predecessors: Predecessors, others: Others
    ) -> None:
        self._store = store
        self._others = others
        self._executors = executors
        self._verdicts = Verdicts(store, executors, predecessors)
        self._predecessors = predecessors
        self._feed = feed

    async def CreateConnector(self, request: pb.CreateConnectorRequest, context: ServicerContext) -> pb.CreateConnectorResponse:
        """Check and store a new connector; the same request id again is answered as before, even if nobody can check now."""
        ours = Ours.of(request.config)
        draft = wire.draft(request, ours.config)
        own = [*checks.draft_problems(draft), *signature_problems(request.author, request.reason), *ours.problems]
        connector = None if own else await asyncio.to_thread(self._store.answered, draft)
        answer = pb.CreateConnectorResponse()
        if connector is None:
            verdict = await self._verdicts.checked(draft.name, draft.config, own)
            if not draft.adopt_uid:
                verdict = await self._verdicts.with_predecessor(draft.name, draft.config, verdict)
            by = _signature(request, context)
            above = await self._predecessors.newest_revision(draft.adopt_uid) if draft.adopt_uid else 0
            connector = await self._feed.write(
                self._store.create, draft, verdict.type, by, verdict.targets, verdict.reads, above=above
            )
            _log.info("connector created", connector=connector.name, uid=connector.uid)
            answer.warnings.extend(map(wire.problem, (*ours.warnings, *verdict.warnings)))
            answer.notes.extend(verdict.notes)
        answer.connector.CopyFrom(wire.connector(connector))
        return answer

    async def UpdateConnector(self, request: pb.UpdateConnectorRequest, context: ServicerContext) -> pb.UpdateConnectorResponse:
        """Check and store the next revision."""
        ours = Ours.of(request.config)
        by = _signature(request, context)
        current = await asyncio.to_thread(self._store.get, request.name, request.etag)
        connector, warnings = await self._update(current, ours.config, request.etag, by, own=ours.problems)
        warnings = (*ours.warnings, *warnings)
        return pb.UpdateConnectorResponse(connector=wire.connector(connector), warnings=map(wire.problem, warnings))

    async def RollbackConnector(
        self, request: pb.RollbackConnectorRequest, context: ServicerContext
    ) -> pb.RollbackConnectorResponse:
        """Check an earlier configuration again, since the world may have changed, and store it as the next revision."""
        by = _signature(request, context)
        current = await asyncio.to_thread(self._store.get, request.name, request.etag)
        earlier = await asyncio.to_thread(self._store.revision, current.uid, request.revision)
        connector, _ = await self._update(current, earlier.config, request.etag, by, of_revision=request.revision)
        return pb.RollbackConnectorResponse(connector=wire.connector(connector))

    async def GetConnector(self, request: pb.GetConnectorRequest, context: ServicerContext) -> pb.GetConnectorResponse:
        """Return one connector."""
        connector = await asyncio.to_thread(self._store.get, request.name)
        return pb.GetConnectorResponse(connector=wire.connector(connector))

    async def ListConnectors(self, request: pb.ListConnectorsRequest, context: ServicerContext) -> pb.ListConnectorsResponse:
        """Return a page of connectors."""
        size = pages.page_size(request.page_size)
        after = pages.decode_token("connectors", request.page_token) or ""
        found = await asyncio.to_thread(self._store.page, after, size + 1)
        return pb.ListConnectorsResponse(
            connectors=map(wire.connector, found[:size]),
            next_page_token=pages.encode_token("connectors", found[size - 1].name) if len(found) > size else "",
        )

    async def DeleteConnector(self, request: pb.DeleteConnectorRequest, context: ServicerContext) -> pb.DeleteConnectorResponse:
        """Remove a connector."""
        connector = await self._feed.write(self._store.delete, request.name, request.etag, _signature(request, context))
        _log.info("connector deleted", connector=connector.name, uid=connector.uid)
        return pb.DeleteConnectorResponse(connector=wire.connector(connector))

    async def PauseConnector(self, request: pb.PauseConnectorRequest, context: ServicerContext) -> pb.PauseConnectorResponse:
        """Want it PAUSED."""
        connector = await self._want(request, WantedState.PAUSED, context)
        return pb.PauseConnectorResponse(connector=wire.connector(connector))

    async def ResumeConnector(self, request: pb.ResumeConnectorRequest, context: ServicerContext) -> pb.ResumeConnectorResponse:
        """Want it RUNNING."""
        connector = await self._want(request, WantedState.RUNNING, context)
        return pb.ResumeConnectorResponse(connector=wire.connector(connector))

    async def StopConnector(self, request: pb.StopConnectorRequest, context: ServicerContext) -> pb.StopConnectorResponse:
        """Want it STOPPED."""
        connector = await self._want(request, WantedState.STOPPED, context)
        return pb.StopConnectorResponse(connector=wire.connector(connector))

    async def RestartConnector(self, request: pb.RestartConnectorRequest, context: ServicerContext) -> pb.RestartConnectorResponse:
        """Count a restart and want it RUNNING."""
        connector = await self._feed.write(self._store.restart, request.name, request.etag, _signature(request, context))
        return pb.RestartConnectorResponse(connector=wire.connector(connector))

    async def ListRevisions(self, request: pb.ListRevisionsRequest, context: ServicerContext) -> pb.ListRevisionsResponse:
        """Return a page of revisions."""
        checks.refuse(checks.name_problems(request.name))
        size = pages.page_size(request.page_size)
        scope = f"revisions of {request.name}"
        token = pages.decode_token(scope, request.page_token)
        before = int(token) if token is not None else None
        found = await asyncio.to_thread(self._store.revisions, request.name, before, size + 1)
        return pb.ListRevisionsResponse(
            revisions=map(wire.revision, found[:size]),
            next_page_token=pages.encode_token(scope, str(found[size - 1].sequence)) if len(found) > size else "",
        )

    async def ListChanges(self, request: pb.ListChangesRequest, context: ServicerContext) -> pb.ListChangesResponse:
        """Return a page of the history."""
        checks.refuse(checks.name_problems(request.name))
        size = pages.page_size(request.page_size)
        scope = f"changes of {request.name}"
        token = pages.decode_token(scope, request.page_token)
        before = int(token) if token is not None else None
        found = await asyncio.to_thread(self._store.history, request.name, before, size + 1)
        return pb.ListChangesResponse(
            changes=[wire.change(change) for _number, change in found[:size]],
            next_page_token=pages.encode_token(scope, str(found[size - 1][0])) if len(found) > size else "",
        )

    async def ValidateConnector(
        self, request: pb.ValidateConnectorRequest, context: ServicerContext
    ) -> pb.ValidateConnectorResponse:
        """Check a configuration and store nothing."""
        ours = Ours.of(request.config)
        own = [*(checks.name_problems(request.name) if request.name else []), *ours.problems]
        verdict = await self._verdicts.of(request.name, ours.config, own)
        if request.name:  # without one it may be that of the very connector that has the targets
            verdict = await self._verdicts.with_taken(request.name, verdict)
            verdict = await self._verdicts.with_read_twice(request.name, verdict)
            verdict = await self._verdicts.with_predecessor(request.name, ours.config, verdict)
        return pb.ValidateConnectorResponse(
            problems=map(wire.problem, verdict.problems),
            plugin=verdict.plugin,
            type=wire.type_value(verdict.type),
            warnings=map(wire.problem, (*ours.warnings, *verdict.warnings)),
            notes=verdict.notes,
        )

    async def PreviewConnector(self, request: pb.PreviewConnectorRequest, context: ServicerContext) -> pb.PreviewConnectorResponse:
        """Check a configuration; where nothing is wrong, let an executor show what becomes of a few records."""
        ours = Ours.of(request.config)
        own = [*(checks.name_problems(request.name) if request.name else []), *checks.preview_problems(request.records)]
        verdict = await self._verdicts.of(request.name, config := ours.config, [*own, *ours.problems])
        if verdict.problems:
            return pb.PreviewConnectorResponse(problems=map(wire.problem, verdict.problems), plugin=verdict.plugin)
        workers = [worker for worker in await self._verdicts.workers() if worker.plugin(config[CLASS.key]) is not None]
        if source_class := request.source.get(CLASS.key, ""):
            # One that lacks the source can say so.
            workers.sort(key=lambda worker: worker.plugin(source_class) is None)
        records = request.records or checks.PREVIEW_RECORDS
        order = executor_pb2.PreviewConnectorRequest(name=request.name, config=config, records=records, source=request.source)
        shown = await preview_in_turn(self._executors, workers, order)
        return pb.PreviewConnectorResponse(
            problems=shown.problems,
            plugin=shown.plugin,
            records=shown.records,
            trouble=shown.trouble,
            warnings=map(wire.problem, (*ours.warnings, *verdict.warnings)),
            notes=verdict.notes,
        )

    async def VerifyConnector(self, request: pb.VerifyConnectorRequest, context: ServicerContext) -> pb.VerifyConnectorResponse:
        """Let an executor compare tables. Without the name of a sink it gets all of them, and knows which keeps tables."""
        checks.refuse([*checks.name_problems(request.name), *checks.verification_problems(len(request.keys))])
        source = await asyncio.to_thread(self._store.get, request.name)
        if request.sink:
            sinks = [await asyncio.to_thread(self._store.get, request.sink)]
        else:
            everything = await asyncio.to_thread(self._store.snapshot)
            sinks = [each for each in everything.connectors if each.type is ConnectorType.SINK]
        named = {each.config[CLASS.key] for each in (source, *(sinks if request.sink else ()))}
        capable = [worker for worker in await self._verdicts.workers() if all(worker.plugin(name) is not None for name in named)]
        if not capable:
            raise no_executor("none offers " + " and ".join(sorted(named)))
        order = executor_pb2.VerifyConnectorRequest(
            source=wire.named(source),
            sinks=map(wire.named, sinks),
            tables=request.tables,
            keys=request.keys,
            page_token=request.page_token,
            next_table=request.next_table,
        )
        return wire.verified(await verify_in_turn(self._executors, capable, order))

    async def ListPlugins(self, request: pb.ListPluginsRequest, context: ServicerContext) -> pb.ListPluginsResponse:
        """Return a page of the plugins that executors offer now."""
        size = pages.page_size(request.page_size)
        after = pages.decode_token("plugins", request.page_token) or ""
        plugins = wire.merged_plugins(worker.plugins for worker in await self._verdicts.workers())
        names = [name for name in plugins if name > after]
        return pb.ListPluginsResponse(
            plugins=[wire.plugin(plugins[name]) for name in names[:size]],
            next_page_token=pages.encode_token("plugins", names[size - 1]) if len(names) > size else "",
        )

    async def ReloadPlugins(self, request: pb.ReloadPluginsRequest, context: ServicerContext) -> pb.ReloadPluginsResponse:
        """Let all executors look for their plugins again, at once, and know them then; who does not answer is not in the answer."""
        workers = await self._verdicts.workers()
        done = await asyncio.gather(*(self._reload(worker) for worker in workers))
        return pb.ReloadPluginsResponse(workers=sorted(name for name in done if name))

    async def RecordPositionsMove(
        self, request: pb.RecordPositionsMoveRequest, context: ServicerContext
    ) -> pb.RecordPositionsMoveResponse:
        """Keep it in the history."""
        checks.refuse(checks.token_problems("connector_uid", request.connector_uid))
        await self._feed.write(self._store.record_positions_move, request.connector_uid, _signature(request, context))
        return pb.RecordPositionsMoveResponse()

    async def TakeCleanup(self, request: pb.TakeCleanupRequest, context: ServicerContext) -> pb.TakeCleanupResponse:
        """Give one that is due to the caller."""
        checks.refuse(checks.cleanup_problems(request.seconds))
        taken = await asyncio.to_thread(self._store.take_cleanup, frozenset(request.plugins), request.seconds)
        return pb.TakeCleanupResponse(cleanup=None if taken is None else wire.cleanup(taken))

    async def ReportCleanup(self, request: pb.ReportCleanupRequest, context: ServicerContext) -> pb.ReportCleanupResponse:
        """Keep how it went."""
        check_worker(request.worker_id)
        checks.refuse(
            [*checks.token_problems("worker_id", request.worker_id), *checks.token_problems("connector_uid", request.connector_uid)]
        )
        there = caller(context)
        why = shortened_reason(request.error)
        by = signature(request.worker_id, why, proved=there.proved, address=there.address)
        outcome = wire.cleanup_outcome(request.outcome)
        when = request.delete_time.ToMicroseconds()
        await asyncio.to_thread(self._store.report_cleanup, request.connector_uid, when, outcome, by)
        _log.info("cleanup of a deleted connector reported", uid=request.connector_uid, outcome=str(outcome), cause=why)
        return pb.ReportCleanupResponse()

    async def CreateReplay(self, request: pb.CreateReplayRequest, context: ServicerContext) -> pb.CreateReplayResponse:
        """Create the connector that sends letters again; the same request finds what it has created."""
        order = request.order
        checks.refuse([*orders.problems(request), *checks.name_problems(order.connector), *signature_problems(order.author, "")])
        failed = await asyncio.to_thread(self._store.get, order.connector)
        made = orders.draft(failed, request)
        there = caller(context)
        by = signature(order.author, "", proved=there.proved, address=there.address)
        try:
            if await asyncio.to_thread(self._store.answered, made) is None:
                verdict = await self._verdicts.checked(made.name, made.config)
                await self._feed.write(self._store.create, made, verdict.type, by, verdict.targets, verdict.reads)
                _log.info("replay created", connector=made.name, of=failed.name)
                await self._others.tell(failed.uid, orders.told(made, request.count, there.named(order.author)))
        except AlreadyExists:
            # Another choice of letters for the same request: what was chosen first stands.
            _log.info("replay is there already", connector=made.name, of=failed.name)
        return pb.CreateReplayResponse(replay=made.name)

    async def FinishReplay(self, request: pb.FinishReplayRequest, context: ServicerContext) -> pb.FinishReplayResponse:
        """Delete a replay that is done, for the worker that holds its task."""
        given = {"worker_id": request.worker_id, "connector_uid": request.connector_uid}
        checks.refuse([problem for field, value in given.items() for problem in checks.token_problems(field, value)])
        if check_worker(request.worker_id):
            await self._others.check_holder(request)
        replay = await asyncio.to_thread(self._store.get, request.connector)
        if replay.uid != request.connector_uid:
            raise not_found(request.connector)
        if replay.config.get(CLASS.key) != PLUGIN:
            message = f"connector {replay.name!r} is no replay of dead letters; only people delete it"
            raise FailedPrecondition("NOT_A_REPLAY", message, connector=replay.name)
        by = Signature("rocketconnect", reason="the replay is done")
        await self._feed.write(self._store.delete, replay.name, replay.etag, by)
        _log.info("replay is done and deleted", connector=replay.name, uid=replay.uid, worker=request.worker_id)
        return pb.FinishReplayResponse()

    async def ReportPlugins(self, request: pb.ReportPluginsRequest, context: ServicerContext) -> pb.ReportPluginsResponse:
        """Store what an executor offers."""
        check_worker(request.worker_id)
        checks.refuse(checks.report_problems(request.worker_id, request.address, len(request.plugins)))
        await self._take_plugins(request.worker_id, request.address, request.plugins)
        return pb.ReportPluginsResponse()

    async def WatchConnectors(
        self, request: pb.WatchConnectorsRequest, context: ServicerContext
    ) -> AsyncIterator[pb.WatchConnectorsResponse]:
        """Give all connectors, then what changes. A slow caller gets the changes since its last answer in one."""
        async with self._feed.watcher():
            change = self._feed.next_change()
            seen = await asyncio.to_thread(self._store.snapshot)
            yield wire.changes(seen, snapshot=True)
            while True:
                await change.wait()
                change = self._feed.next_change()
                now = await asyncio.to_thread(self._store.changes_since, seen.sequence)
                if now.sequence > seen.sequence:
                    seen = now
                    yield wire.changes(now, snapshot=False)

    async def _update(
        self,
        current: Connector,
        config: dict[str, str],
        etag: str,
        by: Signature,
        *,
        of_revision: int = 0,
        own: Sequence[FieldProblem] = (),
    ) -> tuple[Connector, Sequence[FieldProblem]]:
        # What needs no executor is told first; the store looks again, in the transaction that writes.
        refuse_same(current, config)
        verdict = await self._verdicts.checked(current.name, config, own)
        verdict = await self._verdicts.with_predecessor(current.name, config, verdict)
        above = await self._predecessors.newest_revision(current.uid)
        connector = await self._feed.write(
            self._store.update,
            current.name,
            config,
            etag,
            verdict.type,
            by,
            verdict.targets,
            verdict.reads,
            of_revision=of_revision,
            above=above,
        )
        _log.info("connector updated", connector=connector.name, uid=connector.uid, revision=connector.revision, author=str(by))
        return connector, verdict.warnings

    async def _want(self, request: _WantRequest, wanted: WantedState, context: ServicerContext) -> Connector:
        by = _signature(request, context)
        return await self._feed.write(self._store.want, request.name, wanted, request.etag, by)

    async def _take_plugins(self, worker_id: str, address: str, plugins: Iterable[connector_pb2.Plugin]) -> None:
        offered = list(plugins)
        documents, aliases = wire.plugin_documents(offered), wire.plugin_aliases(offered)
        await asyncio.to_thread(self._store.report_worker, worker_id, address, documents, aliases)

    async def _reload(self, worker: Worker) -> str | None:
        try:
            plugins = await self._executors.reload(worker.address)
        except ServiceError as error:
            _log.warning("executor did not reload its plugins", worker=worker.worker_id, cause=error.message)
            return None
        # It reports them itself, too, but maybe only after a caller who goes on with this answer.
        await self._take_plugins(worker.worker_id, worker.address, plugins)
        return worker.worker_id


def _signature(request: _SignedRequest, context: ServicerContext) -> Signature:
    """Return who signs this request.

    Raises:
        InvalidArgument: CONFIG_INVALID when author or reason are no short texts.
    """
    checks.refuse(signature_problems(request.author, request.reason))
    there = caller(context)
    return signature(request.author, request.reason, proved=there.proved, address=there.address)
