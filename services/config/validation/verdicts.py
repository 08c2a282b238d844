"""What is to be said of a configuration: by this service, by an executor, and by what there is and was beside it."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rocketconnect_kit.errors import FieldProblem, ServiceError
from rocketconnect_kit.logs import get_logger
from rocketconnect_sdk.configuration.runtime_options import CLASS
from services.config import checks, wire
from services.config.domain import Connector, ConnectorType, Worker
from services.config.predecessors.warning import Predecessors
from services.config.store import ConfigStore
from services.config.validation.executors import Executors, Reading, Verdict, names_topic, neighbours, no_executor, validate_in_turn

FRESH_SECONDS = 90.0
"""A worker that has not reported for so long offers nothing any more; workers report every 30 s."""

_log = get_logger(__name__)


class Verdicts:
    """Asks executors about configurations. May be used by many requests at once."""

    def __init__(self, store: ConfigStore, executors: Executors, predecessors: Predecessors) -> None:
        self._store = store
        self._executors = executors
        self._predecessors = predecessors

    async def workers(self) -> list[Worker]:
        """Return those that can be asked now."""
        return await asyncio.to_thread(self._store.workers, FRESH_SECONDS)

    async def checked(self, name: str, config: dict[str, str], own: Sequence[FieldProblem] = ()) -> Verdict:
        """Return what an executor says of a configuration that is right; refuse it with all that is wrong.

        The store looks at the targets again, in the transaction that writes: of two at once that name one, the second is refused.
        """
        verdict = await self.with_taken(name, await self.of(name, config, own))
        verdict = await self.with_read_twice(name, verdict)
        checks.refuse(verdict.problems)
        return verdict

    async def with_taken(self, name: str, verdict: Verdict) -> Verdict:
        """Return the verdict with the targets among its problems that other connectors have."""
        if not verdict.targets:
            return verdict
        await self._learn_targets()
        taken = await asyncio.to_thread(self._store.taken, verdict.targets, name)
        return replace(verdict, problems=tuple(checks.together(verdict.problems, taken)))

    async def with_read_twice(self, name: str, verdict: Verdict) -> Verdict:
        """Return the verdict with what is to be said of others that read the same into the same topic."""
        said = await asyncio.to_thread(self._store.read_twice, verdict.reads, name)
        problems, warnings = (*verdict.problems, *said.problems), (*verdict.warnings, *said.warnings)
        return replace(verdict, problems=problems, warnings=warnings)

    async def with_predecessor(self, name: str, config: dict[str, str], verdict: Verdict) -> Verdict:
        """Return the verdict with what is to be told of a deleted connector of the name."""
        told = await self._predecessors.warnings(name, config, verdict, await self.workers())
        return replace(verdict, warnings=(*verdict.warnings, *told))

    async def _learn_targets(self) -> None:
        """Ask for the targets of connectors that were stored when nobody asked for them."""
        for connector in await asyncio.to_thread(self._store.of_unknown_targets):
            try:
                verdict = await self.of(connector.name, connector.config, ())
            except ServiceError as error:
                _log.warning("what a connector writes is not known", connector=connector.name, cause=error.message)
                continue
            if verdict.targets is not None:
                await asyncio.to_thread(self._store.know_targets, connector, verdict.targets)

    async def of(self, name: str, config: dict[str, str], own: Sequence[FieldProblem]) -> Verdict:
        """Return everything that is wrong: what is known here, `own` among it, and what an executor says of the rest.

        Raises:
            ServiceError: nobody can check the configuration now, and nothing is known to be wrong with it.
        """
        workers = await self.workers()
        class_name = config.get(CLASS.key, "")
        capable = [worker for worker in workers if worker.plugin(class_name) is not None]
        own = [*own, *checks.size_problems(config), *checks.class_problems(config)]
        if class_name.strip() and workers and not capable and not any(each.field == CLASS.key for each in own):
            offered = {connector for worker in workers for connector in wire.connector_names(worker.plugins)}
            own.append(checks.unknown_class(class_name, offered))
        nothing_more = Verdict(tuple(own), "", ConnectorType.UNSPECIFIED, frozenset())
        if not checks.fits(config):
            return nothing_more
        try:
            # Without a plugin any of them can tell what is wrong with the options that every connector has.
            verdict = await self._asked(capable or workers, "" if checks.name_problems(name) else name, config)
        except ServiceError as error:
            if not own:
                raise
            _log.info("a wrong configuration was checked by no executor", cause=error.message)
            return nothing_more
        return replace(verdict, problems=tuple(checks.together(own, verdict.problems)))

    async def _former(self, current: Connector | None, config: Mapping[str, str]) -> Reading | None:
        """Return what a source does until now whose configuration is to change; None: there is none, or it has read nothing."""
        if current is None or current.type is not ConnectorType.SOURCE or current.config == config:
            return None
        positions = await self._predecessors.read_by(current.uid)
        return Reading(current.config, positions) if positions else None

    async def _asked(self, workers: Sequence[Worker], name: str, config: dict[str, str]) -> Verdict:
        """Return what the first of the workers that answers says, literal secrets refused and hidden (invariant 6)."""
        if not workers:
            raise no_executor("no executor has reported what it offers")
        there = (await asyncio.to_thread(self._store.snapshot)).connectors if names_topic(config) else ()
        former = await self._former(next((each for each in there if each.name == name), None), config)
        verdict = await validate_in_turn(self._executors, workers, name, config, neighbours(config, there), former)
        literal = checks.secret_problems(config, verdict.secret_keys)
        hidden = checks.without_secrets(checks.together(literal, verdict.problems), config, verdict.secret_keys)
        warnings = checks.without_secrets(verdict.warnings, config, verdict.secret_keys)
        return replace(verdict, problems=tuple(hidden), warnings=tuple(warnings))
