"""What a task that listens has of telemetry, as a topic has it."""

import http.client
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from rocketconnect_sdk.arrow import to_array
from rocketconnect_sdk.converters import converter
from rocketconnect_sdk.schema import Schema
from tests.connectors.http.test_webhook_source import Hook, hook


class Received:
    """The rows that came."""

    def __init__(self, made: Hook) -> None:
        self._hook = made
        self.port = made.port

    @property
    def rows(self) -> list[dict[str, Any]]:
        """All of them, each of which is what comes back from a message and from a column of its schema."""
        for schema, values in self._hook.batches:
            kept_whole(values, schema)
        return self._hook.values

    @property
    def records(self) -> Sequence[tuple[object, object, Any, Mapping[str, str]]]:
        return self._hook.records

    def pause(self) -> None:
        """Nothing more is copied; returns when that is so."""
        self._hook.is_paused = True
        self._hook.rests.wait()

    def resume(self) -> None:
        """It goes on."""
        self._hook.is_paused = False

    def post(self, body: bytes, path: str, kind: str, **headers: str) -> tuple[int, bytes, Mapping[str, str]]:
        made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            given = {name.replace("_", "-"): text for name, text in headers.items()}
            made.request("POST", path, body, {"Content-Type": kind, **given})
            answer = made.getresponse()
            return answer.status, answer.read(), {name.lower(): text for name, text in answer.headers.items()}
        finally:
            made.close()


def kept_whole(values: Sequence[object], schema: Schema | None) -> None:
    """Nothing of them is lost in the columns of tables, and in messages with a schema and without one."""
    assert to_array(values, schema).to_pylist() is not None
    whole = converter("json", {}, is_key=False)
    for value in values:
        assert whole.decode(whole.encode(value, schema)) == (value, schema)
    plain = converter("json", {"schemas.enable": "false"}, is_key=False)
    assert all(plain.encode(value, schema) for value in values)


@contextmanager
def receiving(**options: str) -> Iterator[Received]:
    with hook(**options) as made:
        yield Received(made)
