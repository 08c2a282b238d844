"""Writes operations to Solr."""

from collections.abc import Mapping, Sequence
from urllib.parse import quote

from connectors.solr.client import json_of, ping
from connectors.solr.updates import SinkSettings, body_of, command_of, reason_of, tolerated
from rocketconnect_sdk.errors import RecordError, SystemAway
from rocketconnect_sdk.http import Answer, HttpClient
from rocketconnect_sdk.writes import Connection, Op, Operation

_JSON = {"Content-Type": "application/json"}
_ABSENT, _TOO_LARGE, _BAD = 404, 413, (400, 409)


class SolrConnection(Connection):
    """Writes by the update handler.

    Solr does nothing of a request behind a document that it refuses: that one is found by halves, and what was done before it is
    done again.

    Args:
        client: Of the servers.
        writing: How.
        parameters: Of each request.
        request_bytes: The size of a request, at most, unless one document is larger.
    """

    def __init__(self, client: HttpClient, writing: SinkSettings, parameters: Mapping[str, str], request_bytes: int) -> None:
        self._client = client
        self._writing = writing
        self._parameters = {"wt": "json", **parameters}
        self._request_bytes = request_bytes
        self._next: list[bytes | str] = []
        """What `fits` has made of the operations of the next write; a text: why one can't be sent."""

    def ping(self) -> None:
        """See Connection."""
        ping(self._client)

    def fits(self, operations: Sequence[Operation]) -> int:
        """See Connection: a request is of one collection."""
        self._next = []
        size = 0
        for operation in operations:
            command = self._command(operation)
            size += len(command)
            is_full = size > self._request_bytes or self._writing.is_alone or operation.target != operations[0].target
            if self._next and is_full:
                break
            self._next.append(command)
        return len(self._next)

    def _command(self, operation: Operation) -> bytes | str:
        try:
            return command_of(operation, self._writing)
        except RecordError as error:
            return str(error)

    def write(self, operations: Sequence[Operation]) -> Mapping[int, str]:
        """See Connection."""
        made, self._next = self._next or list(map(self._command, operations)), []
        refused = {place: command for place, command in enumerate(made) if isinstance(command, str)}
        commands = {place: command for place, command in enumerate(made) if isinstance(command, bytes)}
        if commands:
            self._send(operations, commands, list(commands), refused)
        return refused

    def _send(
        self, operations: Sequence[Operation], commands: Mapping[int, bytes], places: list[int], refused: dict[int, str]
    ) -> None:
        collection = operations[0].target
        answer = update(self._client, collection, body_of([commands[place] for place in places]), self._parameters)
        if answer.is_good:
            refused |= self._left_out(answer, operations, places)
            return
        reason = reason_of(json_of(answer))
        if answer.status == _ABSENT:
            msg = f"{self._client.place} has no collection {collection} now. Make it, or correct `collection`"
            raise SystemAway(msg)
        if not (answer.status == _TOO_LARGE or (answer.status in _BAD and reason is not None)):
            raise self._client.problem(answer)
        if len(places) == 1:
            refused[places[0]] = f"the server refuses it: {reason or 'the request is too large'}"
            return
        middle = len(places) // 2
        self._send(operations, commands, places[:middle], refused)
        self._send(operations, commands, places[middle:], refused)

    def _left_out(self, answer: Answer, operations: Sequence[Operation], places: Sequence[int]) -> Mapping[int, str]:
        errors = tolerated(json_of(answer))
        if errors is None:
            msg = f"{self._client.place} answers with what is no answer of Solr: {answer.said()}"
            raise SystemAway(msg)
        return {
            place: f"the server refuses it: {errors[operations[place].key]}"
            for place in places
            if operations[place].key in errors and operations[place].op is not Op.DELETE
        }

    def close(self) -> None:
        """See Connection."""
        self._client.close()


def update(client: HttpClient, collection: str, body: bytes, parameters: Mapping[str, str]) -> Answer:
    """One request of the update handler. Every change goes through here. Raises as HttpClient.ask."""
    return client.ask("POST", f"/solr/{quote(collection)}/update", body, headers=_JSON, parameters=parameters)
