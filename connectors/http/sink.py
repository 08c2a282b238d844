"""Records as requests of HTTP."""

from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace

from connectors.http.requests import BODY, FORMATS, HEADER, IDENTITY
from connectors.http.signatures import FORMS, FORMS_DOC
from connectors.http.texts import (
    JsonTemplate,
    RecordId,
    ValueAsJson,
    body_template,
    header_problem,
    headers_of,
    name_problem,
    origin_and_path,
    url_part,
    url_problem,
    value_problem,
)
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.configuration.references import REFERENCE
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http import AUTH, REQUEST_TIMEOUT, TLS, NotLetIn, RequestRejected, login_problems
from rocketconnect_sdk.http.oauth import OAUTH, oauth_is_known, oauth_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.permissions.hosts import of_urls
from rocketconnect_sdk.sink import Guarantee
from rocketconnect_sdk.writes import FORM, TEMPLATE_FIX, Addressing, Connection, Template, WriteSink

_CHECK_SECONDS = 3.0
_TYPES = {"single": "application/json", "array": "application/json", "lines": "application/x-ndjson", "joined": "text/plain"}
_MANY = 500
_ESCAPES = (("\\r", "\r"), ("\\n", "\n"), ("\\t", "\t"))


class HttpSink(WriteSink):
    """Sends each record, or several together, as a request of HTTP. A batch is done when the server has answered each with 2xx."""

    name = "http_sink"
    guarantee = Guarantee.AT_LEAST_ONCE
    request_rows = 10_000
    options = (
        Option(
            "url",
            f"Where requests go: https://HOST/hooks/${{topic}}?id=${{key}}. {FORM} stand for what a record has, but not in the "
            "name of the server. A part that nobody may see is a reference: https://HOST/services/${env:NAME}.",
            required=True,
            references=True,
            check=url_problem,
            fix=f"Write https://HOST/PATH, in which {FORM} may stand behind the host.",
            reaches=of_urls,
            example="https://hooks.example.com/orders",
        ),
        Option("method", "The method of requests.", default="POST", choices=("POST", "PUT", "PATCH")),
        Option(
            "headers",
            "Headers, each NAME=TEXT, separated by commas: X-Tenant=${value.tenant},Accept=application/json.",
            Kind.LIST,
            default="",
            check=lambda pairs: next(filter(None, map(header_problem, pairs)), None),
            fix=f"Write NAME=TEXT. {TEMPLATE_FIX}",
        ),
        Option(
            "content.type",
            "What the body is. Empty: application/json; application/x-ndjson for request.format=lines, text/plain for joined.",
            default="",
            check=value_problem,
            fix="Write a type such as application/json.",
        ),
        Option(
            "body",
            "The body of a record. Of JSON a document, in which a text that is one place becomes what stands there: "
            '{"id": "${key}", "order": "${value}"}. Of another content.type a text. Empty: the value, text and bytes as they are, '
            "anything else as JSON.",
            default="",
        ),
        Option(
            "request.format",
            "single: a request for each record. array: a JSON array of records. lines: JSON lines. joined: bodies with "
            "request.separator between them.",
            default="single",
            choices=FORMATS,
        ),
        Option(
            "request.records",
            f"The most records of a request. Not given: {_MANY}, and 1 with request.format=single.",
            Kind.INT,
            minimum=1,
            maximum=10_000,
        ),
        Option(
            "request.bytes",
            "The size of a request with several records at most; it becomes smaller where the server takes none so large.",
            Kind.SIZE,
            "1MiB",
            minimum=1 << 10,
            maximum=1 << 30,
        ),
        Option(
            "request.parallel",
            "The most requests in flight. Records of one key go one after the other, and so do all without a key.",
            Kind.INT,
            "1",
            minimum=1,
            maximum=100,
        ),
        Option("request.separator", r"What stands between bodies that are joined; \n, \r and \t are written so.", default="\\n"),
        Option(
            "delete.enabled",
            "A record without a value, and the deletion of a change envelope, is a request DELETE to its URL, and a change is the "
            "row that it leads to. Otherwise a record without a value has an empty body, and a change is sent as it is.",
            Kind.BOOL,
            "false",
        ),
        Option(
            "idempotency.header",
            "A header with a name of the record that is the same each time that it is sent, such as Idempotency-Key. Empty: none.",
            default="",
            check=name_problem,
            fix="Write the name of a header, such as Idempotency-Key.",
        ),
        Option(
            "server.error",
            "What becomes of a record with which the server fails (500) each of several times. wait: it is tried for ever, and the "
            "others wait. refuse: it is a bad record.",
            default="wait",
            choices=("wait", "refuse"),
        ),
        *AUTH,
        Option(
            "api.key.header",
            "The header that has the API key alone, such as X-API-Key. Empty: Authorization, as ApiKey.",
            default="",
            check=name_problem,
            fix="Write the name of a header, such as X-API-Key.",
        ),
        *OAUTH,
        Option("hmac.secret", "Signs each body (HMAC-SHA256).", secret=True),
        Option("hmac.form", f"{FORMS_DOC}.", default="hex", choices=tuple(FORMS)),
        Option(
            "hmac.header",
            "The header that has the signature. Empty: X-Signature, X-Hub-Signature-256 of github, Stripe-Signature of stripe.",
            default="",
            check=name_problem,
            fix="Write the name of a header, such as X-Signature.",
        ),
        *TLS,
        REQUEST_TIMEOUT,
        *WriteSink.options,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See WriteSink."""
        return run_checks(
            config, login_problems, oauth_problems, _body_problems, _format_problems, header_problems, _server_problems
        )

    def addressing(self, config: Config) -> Addressing:
        """See WriteSink."""
        _, path = origin_and_path(config["url"])
        target = Template.of(path, url_part)
        more: dict[str, Template] = {}
        for name, template in headers_of(config["headers"]).items():
            if _is_made(template):
                more[f"{HEADER}{name}"] = template
        if config["body"]:
            more[BODY] = body_template(config["body"], content_type(config))
        elif config["request.format"] in ("array", "lines"):
            more[BODY] = ValueAsJson("", ())
        if config["idempotency.header"]:
            more[IDENTITY] = RecordId("", ())
        deletes = config["delete.enabled"]
        return Addressing(target=target, key=target if deletes else None, deletes=deletes, messages=not deletes, more=more)

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See WriteSink."""
        return _connection(config, context, config["request.timeout"])


def content_type(config: Config) -> str:
    """What bodies are."""
    return str(config["content.type"]) or _TYPES[config["request.format"]]


def _is_made(template: Template) -> bool:
    return any(not isinstance(part, str) for part in template.parts)


def _connection(config: Config, context: TaskContext, seconds: float) -> Connection:
    from connectors.http.connection import HttpConnection
    from connectors.http.requests import Shape
    from connectors.http.signatures import Signer, check_secrets
    from rocketconnect_sdk.http import HttpClient, login_of, tls_of
    from rocketconnect_sdk.http.oauth import tokens_of

    check_secrets(config, "hmac.secret")
    login, tokens = login_of(config), tokens_of(config, seconds)
    headers = {"Content-Type": content_type(config)}
    for name, template in headers_of(config["headers"]).items():
        if not _is_made(template):
            headers[name] = template.source
    origin, path = origin_and_path(config["url"])
    signs = config["hmac.secret"]
    form = config["hmac.form"]
    return HttpConnection(
        [HttpClient([origin], login, tls_of(config), tokens=tokens, seconds=seconds) for _ in range(config["request.parallel"])],
        Shape(
            config["method"],
            config["request.format"],
            most_records(config),
            _unescaped(config["request.separator"]).encode(),
            headers,
            config["idempotency.header"],
            not _is_made(Template.of(path)),
        ),
        config["request.bytes"],
        context.stopping,
        signer=Signer([signs], form, config["hmac.header"] or FORMS[form]) if signs else None,
        refuses=config["server.error"] == "refuse",
    )


def most_records(config: Config) -> int:
    """So many records go into a request."""
    return int(config["request.records"] or (1 if config["request.format"] == "single" else _MANY))


def _unescaped(text: str) -> str:
    for written, meant in _ESCAPES:
        text = text.replace(written, meant)
    return text


def _body_problems(config: Config) -> Iterable[Problem]:
    if config["body"]:
        try:
            body_template(config["body"], content_type(config))
        except ValueError as error:
            fix = f"Correct it, or set content.type to what it is. In it {FORM} stand for what a record has."
            yield Problem("body", config["body"][:200], str(error), fix)


def _format_problems(config: Config) -> Iterable[Problem]:
    form = config["request.format"]
    if form == "single" and (config["request.records"] or 1) > 1:
        fix = "Set request.format to array, lines or joined, or remove it."
        yield Problem("request.records", str(config["request.records"]), "is more than one, and request.format=single", fix)
    if form != "joined" and "request.separator" in config.raw:
        fix = "Set request.format=joined, or remove it."
        yield Problem("request.separator", config["request.separator"], f"means nothing with request.format={form}", fix)
    if form == "joined" and not config["request.separator"]:
        yield Problem(
            "request.separator", "", "is empty, and nobody could tell one record from the next", "Write one, such as \\n."
        )
    if form in ("array", "lines") and config["body"] and not _is_json_template(config):
        fix = "Write a content.type of JSON, or set request.format=joined."
        yield Problem("content.type", config["content.type"], f"is no JSON, which request.format={form} is made of", fix)


def _is_json_template(config: Config) -> bool:
    try:
        return isinstance(body_template(config["body"], content_type(config)), JsonTemplate)
    except ValueError:
        # That is told already.
        return True


def header_problems(config: Config) -> Iterable[Problem]:
    """Headers that two options name, and options of headers that mean nothing."""
    if config["api.key.header"] and not config["api.key"]:
        fix = "Set api.key, or remove it."
        yield Problem("api.key.header", config["api.key.header"], "has no API key to show", fix)
    if not config["hmac.secret"]:
        for key in ("hmac.form", "hmac.header"):
            if key in config.raw:
                yield Problem(key, config.raw[key], "means nothing without hmac.secret", "Set hmac.secret, or remove it.")
    taken: dict[str, str] = {}
    signature = config["hmac.header"] or FORMS[config["hmac.form"]]
    named: Mapping[str, str] = {
        "idempotency.header": config["idempotency.header"],
        "api.key.header": config["api.key.header"],
        "hmac.header": signature if config["hmac.secret"] else "",
    }
    for key, name in [*(("headers", pair.partition("=")[0].strip()) for pair in config["headers"]), *named.items()]:
        if name and name.lower() in taken:
            yield Problem(key, name, f"is a header that {taken[name.lower()]} has already", "Give it another name.")
        taken.setdefault(name.lower(), key)


def _server_problems(config: Config) -> Iterable[Problem]:
    # What stands behind the server may be something that nobody may see.
    shown = origin_and_path(config["url"])[0]
    return (replace(each, value=shown) if each.key == "url" else each for each in _connection_problems(config))


@preflight(away=("url", "Start the server, or correct the URL."), refused=("url", "Put it right."))
def _connection_problems(config: Config) -> Iterable[Problem]:
    if not oauth_is_known(config) or REFERENCE.search(config["url"]):
        return
    # What is wrong with these is told already.
    if [*login_problems(config), *oauth_problems(config), *_body_problems(config)]:
        return
    with closing(_connection(config, TaskContext(), min(_CHECK_SECONDS, config["request.timeout"]))) as connection:
        try:
            connection.ping()
        except NotLetIn as error:
            yield Problem("oauth.client.id", config["oauth.client.id"], str(error), "Correct who we are there.")
        except RequestRejected as error:
            yield Problem("oauth.token.url", config["oauth.token.url"], str(error), "Correct what is asked for there.")
