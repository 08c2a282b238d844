"""Pages for people: what answers here, and the API. Plain HTML, complete in itself: no script, nothing loaded from elsewhere."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any

from starlette.responses import Response

from services.gateway.answers import problem_answer
from services.gateway.routing import Call, Route

_STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; margin: .5rem 0 1.5rem }
td, th { text-align: left; vertical-align: top; padding: .3rem .6rem .3rem 0; border-bottom: 1px solid #8884 }
code { font-size: .9em } h3 { margin: 2rem 0 0 } pre { white-space: pre-wrap }
"""
_START: Sequence[tuple[str, str]] = (
    ("/", "the console"),
    ("/v1/connectors", "the connectors"),
    ("/v1/states", "what they do"),
    ("/v1/workers", "the workers"),
    ("/v1/plugins", "the plugins that they offer"),
    ("/v1/docs", "how to use this API"),
    ("/v1/openapi.json", "the same for programs (OpenAPI 3.1)"),
    ("/readyz", "whether the services behind it are well"),
)


def openapi() -> dict[str, Any]:
    """Return the OpenAPI document of `/v1`."""
    document: dict[str, Any] = json.loads(files("services.gateway").joinpath("openapi.json").read_bytes())
    return document


def routes(compat: Sequence[Route], kafka_connect: Sequence[Route]) -> Iterator[Route]:
    """Yield the pages. They are made once."""
    document = openapi()
    yield _page("/overview", "text/html", home(compat, kafka_connect), "this overview")
    yield _page("/v1/docs", "text/html", docs(document), "how to use the API")
    yield _page("/v1/openapi.json", "application/json", json.dumps(document, ensure_ascii=False), "the API for programs")


def home(compat: Iterable[Route], kafka_connect: Iterable[Route]) -> str:
    """Return the overview: links, and the paths of RocketMQ Connect and of Kafka Connect."""
    links = _table((f'<a href="{path}">{path}</a>', escape(text)) for path, text in _START)
    return _html(
        "RocketConnect",
        f"<p>Moves data between systems and Apache RocketMQ topics, from configuration alone.</p>{links}"
        "<h2>Paths of RocketMQ Connect</h2><p>Beside <code>/v1</code> its paths answer in their original shapes.</p>"
        f"{_paths(compat)}<h2>Paths of Kafka Connect</h2><p>And so do those of Kafka Connect, for its clients.</p>"
        f"{_paths(kafka_connect)}",
    )


def _paths(routes: Iterable[Route]) -> str:
    return _table((f"<code>{route.method} {escape(route.template)}</code>", escape(route.summary)) for route in routes)


def not_built() -> str:
    """Return what stands in the place of a console that is not built here: how to build it, and what there is without it."""
    return _html(
        "RocketConnect",
        "<p>This gateway answers, and its console is not built. In a checkout <code>make setup</code> builds it, or says why it "
        "can't; wheels and images have it. Then start the gateway again.</p>"
        '<p>Without it there are the <a href="/overview">overview</a> and the <a href="/v1/docs">API</a>.</p>',
    )


def docs(document: Mapping[str, Any]) -> str:
    """Return the page of an OpenAPI document: every operation with its parameters, then every schema."""
    operations = "".join(
        _operation(verb, path, operation) for path, verbs in document["paths"].items() for verb, operation in verbs.items()
    )
    schemas = "".join(_schema(name, schema) for name, schema in document["components"]["schemas"].items())
    return _html(
        "RocketConnect API",
        '<p><a href="/overview">Overview</a> · <a href="/v1/openapi.json">OpenAPI 3.1</a></p>'
        "<p>Bodies are JSON; fields are written in lowerCamelCase and read in both spellings; 64-bit integers are strings. What is "
        'refused is answered with a <a href="#Problem">problem document</a> that names everything that is wrong.</p>'
        f"<h2>Operations</h2>{operations}<h2>Schemas</h2>{schemas}",
    )


def _operation(verb: str, path: str, operation: Mapping[str, Any]) -> str:
    rows = [(each["name"], each["in"], each["schema"], each["description"]) for each in operation["parameters"]]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    rows += [(name, "body", schema, schema["description"]) for name, schema in body.get("properties", {}).items()]
    parameters = _table((f"<code>{name}</code>", where, _type(schema), escape(text)) for name, where, schema, text in rows)
    ((_, answer),) = operation["responses"]["200"]["content"].items()
    said = escape(operation["description"])
    return (
        f"<h3><code>{verb.upper()} {escape(path)}</code></h3><p>{said} Answer: {_type(answer['schema'])}.</p>"
        f"{parameters if rows else ''}"
    )


def _schema(name: str, schema: Mapping[str, Any]) -> str:
    rows = [
        (f"<code>{field}</code>", _type(each), escape(each.get("description", "")))
        for field, each in schema.get("properties", {}).items()
    ]
    said = "<br>".join(escape(line) for line in schema["description"].splitlines())
    return f'<h3 id="{escape(name)}">{escape(name)}</h3><p>{said}</p>{_table(rows) if rows else ""}'


def _type(schema: Mapping[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[-1]
        return f'<a href="#{name}">{name}</a>'
    if schema["type"] == "array":
        return f"array of {_type(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("format") or schema["type"])


def _table(rows: Iterable[Sequence[str]]) -> str:
    lines = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
    return f"<table>{lines}</table>"


def _html(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>{body}</body></html>\n"
    )


def _page(path: str, kind: str, text: str, summary: str) -> Route:
    async def handle(_: Call) -> Response:
        return Response(text, 200, media_type=kind)

    return Route("GET", path, handle, problem_answer, changes=False, summary=summary)
