"""What Kafka Connect's paths of connectors do, done by the services of this system."""

import asyncio
import uuid
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from google.protobuf.message import Message
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2

from rocketconnect_kit.errors import Aborted, AlreadyExists, NotFound
from services.gateway.backends import Backends
from services.gateway.kafka_connect import shapes
from services.gateway.kafka_connect.shapes import Json
from services.gateway.kafka_connect.words import no_connector
from services.gateway.lookups.lookups import Lookups, Moved, unknown_state
from services.gateway.orders import warned
from services.gateway.orders.signing import sign
from services.gateway.routing import Call

_CONFIG = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name
_ATTEMPTS = 4


class Stored(NamedTuple):
    """What was stored.

    Attributes:
        info: ConnectorInfo.
        warnings: What is told of its configuration.
        is_new: It was created.
    """

    info: Json
    warnings: Sequence[connector_pb2.Problem]
    is_new: bool = False


class Connectors:
    """Answers in the shapes of Kafka Connect. For any number of tasks of one event loop at once; all raise ServiceError.

    A call that changes something is handed on: its headers, or its address, say who made the change and why.
    """

    def __init__(self, backends: Backends, lookups: Lookups) -> None:
        self._backends = backends
        self._lookups = lookups

    async def names(self) -> list[str]:
        """Return the names of all connectors."""
        return [each.name for each in await self._lookups.connectors()]

    async def expanded(self, parts: Collection[str]) -> Mapping[str, Json]:
        """Return these parts of all connectors by name: info, status."""
        connectors, states = await asyncio.gather(self._lookups.connectors(), self._lookups.states())
        found = {}
        for each in connectors:
            said = states.get(each.uid) or unknown_state(each)
            whole = {"status": shapes.status(said), "info": shapes.info(each, said)}
            found[each.name] = {part: whole[part] for part in whole if part in parts}
        return found

    async def info(self, name: str) -> Json:
        """Return ConnectorInfo."""
        connector = await self.found(name)
        return shapes.info(connector, await self._lookups.state_of(connector))

    async def config(self, name: str) -> Json:
        """Return the configuration."""
        return shapes.config_of(await self.found(name))

    async def status(self, name: str) -> Json:
        """Return ConnectorStateInfo."""
        return shapes.status(await self._lookups.state_of(await self.found(name)))

    async def tasks(self, name: str) -> list[Json]:
        """Return TaskInfo of each task."""
        return shapes.task_configs(await self._lookups.state_of(await self.found(name)))

    async def topics(self, name: str) -> Json:
        """Return the topics that its configuration names."""
        return shapes.topics(await self.found(name))

    async def task_status(self, name: str, number: int) -> Json:
        """Return TaskState. Raises NotFound: there is no such task."""
        for task in shapes.tasks_of(await self._lookups.state_of(await self.found(name))):
            if task.task == number:
                return shapes.task_status(task)
        message = f"No status found for task {name}-{number}"
        raise NotFound("TASK_NOT_FOUND", message, connector=name, task=str(number))

    async def create(self, name: str, wanted: Mapping[str, str], state: str, call: Call) -> Stored:
        """Create a connector.

        Args:
            name: Of it.
            wanted: Its configuration. A secret that is given as a value goes into the keystore, if there is one.
            state: RUNNING, PAUSED or STOPPED.
            call: Who wants it.

        Raises:
            AlreadyExists: one of this name is there.
        """
        # Before anything is put into the keystore; who comes in between is refused by the store.
        if await self._lookups.find(name) is not None:
            raise _exists(name)
        create = config.CreateConnectorRequest(name=name, request_id=uuid.uuid4().hex)
        moved = await self._lookups.without_secrets(name, wanted)
        create.config.update(moved.config)
        create.wanted_state = connector_pb2.WantedState.Value(f"WANTED_STATE_{state}")
        sign(create, call.author, call.reason)
        try:
            answer = await self._backends.ask(_CONFIG["CreateConnector"], create, config.CreateConnectorResponse, reads=False)
        except AlreadyExists as error:
            raise _exists(name) if error.reason == "CONNECTOR_EXISTS" else error from error
        told = (*moved.warnings, *answer.warnings)
        warned.log(name, told)
        return Stored(shapes.info(answer.connector, unknown_state(answer.connector)), told, is_new=True)

    async def put(self, name: str, wanted: Mapping[str, str], call: Call) -> Stored:
        """Create a connector or give it a new configuration.

        Raises:
            Aborted: others keep changing it at the same time.
        """
        for _ in range(_ATTEMPTS):
            there = await self._lookups.find(name)
            try:
                if there is None:
                    return await self.create(name, wanted, "RUNNING", call)
                return await self._update(there, await self._lookups.without_secrets(name, wanted), call)
            except (AlreadyExists, Aborted, NotFound):
                # It came, changed or went between the look and the write: look again.
                continue
        raise _busy(name)

    async def patch(self, name: str, changes: Mapping[str, str | None], call: Call) -> Stored:
        """Change keys of a configuration, those that are None go. See put."""
        for _ in range(_ATTEMPTS):
            there = await self.found(name)
            wanted = {key: text for key, text in {**there.config, **changes}.items() if text is not None}
            try:
                return await self._update(there, await self._lookups.without_secrets(name, wanted), call)
            except Aborted:
                continue
        raise _busy(name)

    async def delete(self, name: str, call: Call) -> None:
        """Delete a connector; its revisions stay."""
        await self._order("DeleteConnector", config.DeleteConnectorRequest(name=name), config.DeleteConnectorResponse, name, call)

    async def pause(self, name: str, call: Call) -> None:
        """Want a connector PAUSED."""
        await self._order("PauseConnector", config.PauseConnectorRequest(name=name), config.PauseConnectorResponse, name, call)

    async def resume(self, name: str, call: Call) -> None:
        """Want a connector RUNNING."""
        await self._order("ResumeConnector", config.ResumeConnectorRequest(name=name), config.ResumeConnectorResponse, name, call)

    async def stop(self, name: str, call: Call) -> None:
        """Want a connector STOPPED."""
        await self._order("StopConnector", config.StopConnectorRequest(name=name), config.StopConnectorResponse, name, call)

    async def restart(self, name: str, call: Call, *, only_failed: bool = False) -> Json:
        """Plan a connector anew and begin all of its tasks again; return ConnectorStateInfo.

        Args:
            name: Of it.
            call: Who wants it.
            only_failed: Do nothing where neither it nor a task has failed.
        """
        said = await self._lookups.state_of(await self.found(name))
        if not only_failed or any(map(shapes.has_failed, (said.state, *(task.state for task in shapes.tasks_of(said))))):
            request = config.RestartConnectorRequest(name=name)
            await self._order("RestartConnector", request, config.RestartConnectorResponse, name, call)
        return shapes.status(said)

    async def found(self, name: str) -> connector_pb2.Connector:
        """Return a connector. Raises NotFound: there is none of this name."""
        connector = await self._lookups.find(name)
        if connector is None:
            raise no_connector(name)
        return connector

    async def _update(self, there: connector_pb2.Connector, moved: Moved, call: Call) -> Stored:
        connector, told = there, moved.warnings
        if dict(there.config) != moved.config:
            update = config.UpdateConnectorRequest(name=there.name, config=moved.config, etag=there.etag)
            sign(update, call.author, call.reason)
            answer = await self._backends.ask(_CONFIG["UpdateConnector"], update, config.UpdateConnectorResponse, reads=False)
            connector, told = answer.connector, (*told, *answer.warnings)
            warned.log(there.name, told)
        return Stored(shapes.info(connector, await self._lookups.state_of(connector)), told)

    async def _order(self, method: str, request: Message, answer: type[Message], name: str, call: Call) -> None:
        sign(request, call.author, call.reason)
        try:
            await self._backends.ask(_CONFIG[method], request, answer, reads=False)
        except NotFound as error:
            raise no_connector(name) from error


def _exists(name: str) -> AlreadyExists:
    return AlreadyExists("CONNECTOR_EXISTS", f"Connector {name} already exists", connector=name)


def _busy(name: str) -> Aborted:
    message = f"Connector {name} is being changed by others at the same time; try again"
    return Aborted("CONCURRENT_CHANGES", message, connector=name)
