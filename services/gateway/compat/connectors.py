"""What RocketMQ Connect's REST paths do, done by the services of this system."""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence

from google.protobuf.message import Message
from rocketconnect.config.v1 import config_service_pb2 as config
from rocketconnect.connector.v1 import connector_pb2
from rocketconnect.state.v1 import state_service_pb2 as state

from rocketconnect_kit.errors import Aborted, AlreadyExists, NotFound
from rocketconnect_sdk.wording.counts import counted
from services.gateway.backends import Backends
from services.gateway.compat import shapes
from services.gateway.compat.shapes import Json
from services.gateway.lookups.lookups import Lookups, Moved, unknown_state
from services.gateway.orders import warned
from services.gateway.routing import Call

_CONFIG = config.DESCRIPTOR.services_by_name["ConfigService"].methods_by_name
_PUT_ATTEMPTS = 4


class Connectors:
    """Answers in the shapes of RocketMQ Connect; raises ServiceError with its words where it had some.

    A call that changes something is handed on: its headers, or its address, say who made the change and why.
    """

    def __init__(self, backends: Backends) -> None:
        self._backends = backends
        self._lookups = Lookups(backends)

    async def workers(self) -> list[str]:
        """Return the ids of the living workers."""
        return await self._lookups.workers()

    async def everything(self) -> Mapping[str, Json]:
        """Return status and info of each connector, by name."""
        connectors, states = await asyncio.gather(self._lookups.connectors(), self._lookups.states())
        found = {each.name: (each, states.get(each.uid) or unknown_state(each)) for each in connectors}
        return {
            name: {"status": shapes.connector_state_info(said), "info": shapes.connector_info(each, said)}
            for name, (each, said) in found.items()
        }

    async def allocated_connectors(self) -> Mapping[str, Mapping[str, str]]:
        """Return the configurations of all connectors that are not stopped, by name."""
        stopped = connector_pb2.WANTED_STATE_STOPPED
        return {each.name: dict(each.config) for each in await self._lookups.connectors() if each.wanted_state != stopped}

    async def allocated_tasks(self) -> Mapping[str, list[Json]]:
        """Return all tasks in five lists."""
        return shapes.allocated_tasks((await self._lookups.states()).values())

    async def info(self, name: str) -> Json:
        """Return the configuration of a connector."""
        connector = await self._connector(name)
        return shapes.connector_info(connector, await self._lookups.state_of(connector))

    async def status(self, name: str) -> Json:
        """Return what a connector and its tasks do."""
        return shapes.connector_state_info(await self._known_state(name))

    async def tasks(self, name: str) -> list[Json]:
        """Return what each task of a connector was given."""
        return shapes.task_configs(await self._known_state(name))

    async def task_status(self, name: str, number: int) -> Json:
        """Return what one task does."""
        for task in (await self._known_state(name)).tasks:
            if task.task == number:
                return shapes.task_state(task)
        message = f"No status found for task {name}-{number}; /connectors/{name}/tasks lists the tasks it has"
        raise NotFound("TASK_NOT_FOUND", message, connector=name, task=str(number))

    async def put(self, name: str, given: Mapping[str, str], call: Call) -> Moved:
        """Create a connector or give it a new configuration; return the configuration when it is stored, and what is told of it.

        A secret that is given as a value goes into the keystore, if there is one: what is stored and returned has a reference.

        Raises:
            AlreadyExists: SAME_CONFIG when it has exactly this configuration.
            Aborted: others keep changing it at the same time.
        """
        moved = await self._lookups.without_secrets(name, given)
        request_id = uuid.uuid4().hex
        for attempt in range(_PUT_ATTEMPTS):
            there = await self._lookups.find(name)
            if there is not None and dict(there.config) == moved.config:
                if attempt:
                    # Stored since the first look: by the attempt before, whose answer was lost, or by somebody with the same wish.
                    return moved
                message = "Connector with same config already exist."
                raise AlreadyExists("SAME_CONFIG", message, connector=name)
            try:
                warnings = await self._written(name, moved.config, there, request_id, call)
            except (AlreadyExists, Aborted, NotFound):
                # It came, changed or went between the look and the write: look again.
                continue
            stored = Moved(moved.config, (*moved.warnings, *warnings))
            warned.log(name, stored.warnings)
            return stored
        message = f"Connector [{name}] is being changed by others at the same time; try again"
        raise Aborted("CONCURRENT_CHANGES", message, connector=name)

    async def _written(
        self, name: str, wanted: Mapping[str, str], there: connector_pb2.Connector | None, request_id: str, call: Call
    ) -> Sequence[connector_pb2.Problem]:
        """Create it, or change the one that is there; return what is told of it."""
        if there is None:
            create = config.CreateConnectorRequest(name=name, config=wanted, request_id=request_id)
            create.author, create.reason = call.author, call.reason
            made = await self._backends.ask(_CONFIG["CreateConnector"], create, config.CreateConnectorResponse, reads=False)
            return made.warnings
        update = config.UpdateConnectorRequest(name=name, config=wanted, etag=there.etag)
        update.author, update.reason = call.author, call.reason
        changed = await self._backends.ask(_CONFIG["UpdateConnector"], update, config.UpdateConnectorResponse, reads=False)
        return changed.warnings

    async def stop(self, name: str, call: Call) -> str:
        """Delete a connector; its revisions stay."""
        request = config.DeleteConnectorRequest(name=name, author=call.author, reason=call.reason)
        await self._change("DeleteConnector", request, config.DeleteConnectorResponse, name)
        return f"Connector [{name}] deleted successfully"

    async def pause(self, name: str, call: Call) -> str:
        """Want a connector PAUSED."""
        request = config.PauseConnectorRequest(name=name, author=call.author, reason=call.reason)
        await self._change("PauseConnector", request, config.PauseConnectorResponse, name)
        return f"Connector [{name}] paused successfully"

    async def resume(self, name: str, call: Call) -> str:
        """Want a connector RUNNING."""
        request = config.ResumeConnectorRequest(name=name, author=call.author, reason=call.reason)
        await self._change("ResumeConnector", request, config.ResumeConnectorResponse, name)
        return f"Connector [{name}] resumed successfully"

    async def stop_all(self, call: Call) -> str:
        """Delete all connectors."""
        done = await self._all(self.stop, call)
        names = f"[{', '.join(done)}]"
        return f"{names} connectors are deleted" if done else "No connector needs to be deleted, please add connector first"

    async def pause_all(self, call: Call) -> str:
        """Want all connectors PAUSED."""
        done = await self._all(self.pause, call)
        return (
            f"{counted(done, 'connector', 'is', 'are')} suspended"
            if done
            else "No connector needs to be paused, please add connector first"
        )

    async def resume_all(self, call: Call) -> str:
        """Want all connectors RUNNING."""
        done = await self._all(self.resume, call)
        return (
            f"{counted(done, 'connector', 'is', 'are')} resumed"
            if done
            else "No connector needs to be resumed, please add connector first"
        )

    async def plugins(self, *, connectors_only: bool) -> list[Json]:
        """Return the plugins that executors offer."""
        return list(shapes.plugin_infos(await self._lookups.plugins(), connectors_only=connectors_only))

    async def reload_plugins(self) -> str:
        """Make every executor look for plugins again."""
        request = config.ReloadPluginsRequest()
        await self._backends.ask(_CONFIG["ReloadPlugins"], request, config.ReloadPluginsResponse, reads=False)
        return "Plugin reload succeeded"

    async def _connector(self, name: str) -> connector_pb2.Connector:
        found = await self._lookups.find(name)
        if found is None:
            raise _no_connector(name)
        return found

    async def _known_state(self, name: str) -> state.ConnectorState:
        try:
            return await self._lookups.said_of(name)
        except NotFound as error:
            found = await self._lookups.find(name)
            if found is None:
                raise NotFound("CONNECTOR_NOT_FOUND", f"No status found for connector {name}", connector=name) from error
            return unknown_state(found)

    async def _change(self, method: str, request: Message, answer: type[Message], name: str) -> None:
        try:
            await self._backends.ask(_CONFIG[method], request, answer, reads=False)
        except NotFound as error:
            raise _no_connector(name) from error

    async def _all(self, change: Callable[[str, Call], Awaitable[str]], call: Call) -> Sequence[str]:
        """Change every connector; one that goes meanwhile is not there to be changed."""
        done = []
        for connector in await self._lookups.connectors():
            try:
                await change(connector.name, call)
            except NotFound:
                continue
            done.append(connector.name)
        return done


def _no_connector(name: str) -> NotFound:
    return NotFound("CONNECTOR_NOT_FOUND", f"Connector [{name}] does not exist", connector=name)
