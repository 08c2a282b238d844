"""A schema registry over HTTP, for tests: Confluent's REST form, real requests, and faults when they are asked for."""

import asyncio
import base64
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import unquote

import uvicorn
from google.protobuf.descriptor_pb2 import FileDescriptorProto
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.registry.store import Held, Refused, Store, held, shown

_FORM = "application/vnd.schemaregistry.v1+json"


@dataclass(slots=True)
class TestRegistry:
    """A registry that runs.

    Attributes:
        url: Where.
        store: What it holds.
        fault: What it answers in place of what is asked for; None: nothing.
        fault_after: So many requests are answered before the first fault.
        seconds: How long it waits before it answers.
        user: USER:PASSWORD that it wants; empty: nobody has to say who he is.
        token: The token that it wants; empty: none.
        requests: "METHOD PATH" of those that came.
    """

    __test__ = False

    url: str = ""
    store: Store = field(default_factory=Store)
    fault: Response | None = None
    fault_after: int = 0
    seconds: float = 0.0
    user: str = ""
    token: str = ""
    requests: list[str] = field(default_factory=list)


@contextmanager
def running() -> Iterator[TestRegistry]:
    """A registry of one's own, on a port of 127.0.0.1, until the end of the block."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        registry = TestRegistry(f"http://127.0.0.1:{listening.getsockname()[1]}")
        settings = uvicorn.Config(_application(registry), log_level="error", lifespan="off", ws="none", timeout_graceful_shutdown=1)
        server = uvicorn.Server(settings)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        try:
            yield registry
        finally:
            server.should_exit = True
            thread.join(10)


@cache
def shared_url() -> str:
    """One for the whole run of the tests, for those that only need that there is one."""
    entered = running()
    _kept.append(entered)
    return entered.__enter__().url


_kept: list[object] = []
"""Until the process ends."""


def _application(registry: TestRegistry) -> Starlette:
    store = registry.store

    async def answer(request: Request) -> Response:
        registry.requests.append(f"{request.method} {request.url.path}")
        await asyncio.sleep(registry.seconds)
        if registry.fault is not None and registry.fault_after <= 0:
            return registry.fault
        registry.fault_after -= 1
        allowed = [f"Basic {base64.b64encode(registry.user.encode()).decode()}"] if registry.user else []
        allowed += [f"Bearer {registry.token}"] if registry.token else []
        if allowed and request.headers.get("authorization") not in allowed:
            return _error(401, 401, "Unauthorized")
        body = await request.body()
        try:
            found = _do(store, request, await request.json() if body else {})
        except Refused as error:
            return _error(int(str(error.code)[:3]), error.code, error.reason)
        return JSONResponse(found, media_type=_FORM)

    return Starlette(routes=[Route("/{path:path}", answer, methods=["GET", "POST", "PUT"])])


def _do(store: Store, request: Request, body: Any) -> object:
    # A slash in a subject's name is none between the parts of a path.
    parts = [unquote(part) for part in request.scope["raw_path"].decode().strip("/").split("/")]
    match request.method, *parts:
        case ["GET", "schemas", "ids", number]:
            return _shown(store, request, store.by_id(int(number)))
        case [("GET" | "PUT") as method, "config", *subject]:
            return _configured(store, method, "".join(subject), body)
        case ["POST", "compatibility", "subjects", subject, "versions", version]:
            _, its_id = store.version(subject, version)
            why = store.against(held(body), [its_id], store.levels.get(subject, store.level))
            return {"is_compatible": not why, **({"messages": why} if request.query_params.get("verbose") == "true" else {})}
        case ["POST", "subjects", subject, "versions"]:
            return {"id": store.register(subject, held(body))}
        case ["POST", "subjects", subject]:
            return _version(store, subject, *store.find(subject, held(body)))
        case ["GET", "subjects", subject, "versions", version]:
            its_number, its_id = store.version(subject, version)
            return {"subject": subject, "version": its_number, "id": its_id, **_shown(store, request, store.by_id(its_id))}
    raise Refused(404, "HTTP 404 Not Found")


def _shown(store: Store, request: Request, schema: Held) -> dict[str, object]:
    """A schema as it is answered: of Protobuf as a descriptor where that is asked for."""
    found = shown(schema)
    if schema.kind == "PROTOBUF" and request.query_params.get("format") == "serialized":
        descriptor = FileDescriptorProto()
        store.file(schema).CopyToProto(descriptor)
        found["schema"] = base64.b64encode(descriptor.SerializeToString()).decode()
    return found


def _version(store: Store, subject: str, version: int, its_id: int) -> object:
    return {"subject": subject, "version": version, "id": its_id, **shown(store.by_id(its_id))}


def _configured(store: Store, method: str, subject: str, body: Any) -> object:
    if method == "PUT":
        store.set_level(subject, body["compatibility"])
        return {"compatibility": body["compatibility"]}
    if subject and subject not in store.levels:
        raise Refused(40408, f"Subject '{subject}' does not have subject-level compatibility configured")
    return {"compatibilityLevel": store.levels.get(subject, store.level)}


def _error(status: int, code: int, reason: str) -> JSONResponse:
    return JSONResponse({"error_code": code, "message": reason}, status, media_type=_FORM)
