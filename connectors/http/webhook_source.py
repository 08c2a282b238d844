"""Requests of HTTP that others send, as records."""

from collections.abc import Iterable
from importlib.util import find_spec

from connectors.http.bodies import FORMS as BODIES
from connectors.http.bodies import KEY_FORM, Bodies, PlainBodies, key_problem
from connectors.http.challenges import SENDERS, Challenge
from connectors.http.event_bodies import EventBodies
from connectors.http.hooks import Doorkeeper, Hooks, login_of, paths_problem
from connectors.http.signatures import FORMS, FORMS_DOC, Signer, check_secrets
from connectors.http.texts import name_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem
from rocketconnect_sdk.listeners import LISTEN, ListenSource, Protocol, tls_problems
from rocketconnect_sdk.listeners.http import HttpProtocol
from rocketconnect_sdk.options import Config, Kind, Option, run_checks

_KEY_HEADER = "X-API-Key"
_SECRETS = ("password", "token", "api.key", "hmac.secret", "challenge.token")
_NO_MESSAGES = "needs opentelemetry-proto, which this executor does not have"
_INSTALL = "Install it where the executors run: pip install 'rocketconnect[otlp]'"


class WebhookSource(ListenSource):
    """Listens for requests of HTTP, and answers each when the topic has it: webhooks, events of pages, anything that posts."""

    name = "webhook_source"
    options = (
        *LISTEN,
        Option(
            "paths",
            "Which path goes to which topic, each PATH=TOPIC, separated by commas: /github=pushes,/shop/*=orders. A path that ends "
            "with /* has all below it. Other paths are not found. Empty: all go to `topic`.",
            Kind.LIST,
            default="",
            check=paths_problem,
            fix="Write PATH=TOPIC, such as /hooks/github=pushes.",
        ),
        Option(
            "value.format",
            "What a body is. form: fields of a form, as an object. otlp: spans, data points and log records of OpenTelemetry, at "
            "paths that end with /v1/traces, /v1/metrics and /v1/logs. prometheus: what Prometheus sends by remote_write. "
            "cloudevents: events of CloudEvents.",
            default="json",
            choices=(*BODIES, "cloudevents", "otlp", "prometheus"),
        ),
        Option(
            "records",
            "one: a request is a record. array: its body is a JSON array, and each element is a record. lines: each line is one.",
            default="one",
            choices=("one", "array", "lines"),
        ),
        Option(
            "key",
            f"The key of a record, made of a header, a parameter or a field: {KEY_FORM} stand for them. Empty: it has none.",
            default="",
            check=key_problem,
            fix=f"Write a text with {KEY_FORM}.",
        ),
        Option(
            "headers",
            "Headers of requests that become headers of records, separated by commas: X-GitHub-Event,X-GitHub-Delivery.",
            Kind.LIST,
            default="",
            check=lambda names: next((f"{name!r} {why}" for name in names if (why := _kept_problem(name))), None),
            fix="Write names of headers, separated by commas.",
        ),
        Option(
            "body.bytes",
            "The size of a body at most, also when it is unpacked.",
            Kind.SIZE,
            "1MiB",
            minimum=1,
            maximum=64 << 20,
        ),
        Option("status", "What is answered when the topic has it.", default="200", choices=("200", "201", "202", "204")),
        Option("user", "Who may send, with `password` (Basic). Empty: nobody by that.", default="", references=True),
        Option("password", "The password of the user.", secret=True),
        Option("token", "Who shows this token may send (Bearer).", secret=True),
        Option("api.key", "Who shows this key in the header api.key.header may send.", secret=True),
        Option(
            "api.key.header",
            "The header that has the API key.",
            default=_KEY_HEADER,
            check=name_problem,
            fix=f"Write the name of a header, such as {_KEY_HEADER}.",
        ),
        Option("hmac.secret", "Bodies have to be signed with this secret (HMAC-SHA256).", secret=True),
        Option("hmac.secret.previous", "The one before, which is taken as well while it is replaced.", secret=True),
        Option("hmac.form", f"{FORMS_DOC}.", default="hex", choices=tuple(FORMS)),
        Option(
            "hmac.header",
            "The header that has the signature. Empty: X-Signature, X-Hub-Signature-256 of github, Stripe-Signature of stripe.",
            default="",
            check=name_problem,
            fix="Write the name of a header, such as X-Signature.",
        ),
        Option(
            "hmac.tolerance",
            "How far the time in a signature (hmac.form=stripe) may be from now.",
            Kind.DURATION,
            "5m",
            minimum=1,
        ),
        Option(
            "challenge",
            "Whose first question is answered, which becomes no record. slack: a body of the type url_verification. meta: GET with "
            "hub.challenge, from whoever shows challenge.token. Empty: nobody's; senders of CloudEvents are answered always.",
            default="",
            choices=("", *SENDERS),
        ),
        Option("challenge.token", "What Meta shows when it asks (hub.verify_token).", secret=True),
        Option(
            "cors.origins",
            "Pages that browsers may send from, separated by commas: https://shop.example.com. *: all. Empty: browsers are told "
            "nothing, and what pages elsewhere send in a way that needs a permission does not come.",
            Kind.LIST,
            default="",
            check=lambda origins: next((f"{each!r} is no origin" for each in origins if not _is_origin(each)), None),
            fix="Write origins as browsers show them, https://shop.example.com, or *.",
        ),
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See ListenSource."""
        return run_checks(
            config, tls_problems, _login_problems, _signature_problems, _body_problems, _telemetry_problems, _challenge_problems
        )

    def protocol(self, config: Config, context: TaskContext) -> Protocol:
        """See ListenSource."""
        check_secrets(config, *_SECRETS, *(["user"] if config["password"] else []))
        paths = {path: topic for path, _, topic in (pair.rpartition("=") for pair in config["paths"])}
        logins = [login_of(config["user"], config["password"] or "")] if config["user"] else []
        if config["token"]:
            logins.append(f"bearer {config['token']}")
        form = config["hmac.form"]
        secrets = [secret for secret in (config["hmac.secret"], config["hmac.secret.previous"]) if secret]
        signer = Signer(secrets, form, config["hmac.header"] or FORMS[form], config["hmac.tolerance"]) if secrets else None
        keeper = Doorkeeper(logins, config["api.key.header"], config["api.key"] or "", signer, config["cors.origins"])
        bodies, challenge = (
            _bodies(config, context.max_record_bytes),
            Challenge(config["challenge"], config["challenge.token"] or ""),
        )
        hooks = Hooks(paths, keeper, bodies, config["key"], config["headers"], int(config["status"]), challenge)
        return HttpProtocol(hooks, config["body.bytes"], config["request.timeout"])


def _bodies(config: Config, most_bytes: int) -> Bodies:
    form = config["value.format"]
    if form == "otlp":
        if not _has_messages():
            msg = f"value.format=otlp {_NO_MESSAGES}. {_INSTALL}"
            raise PermanentError(msg)
        from connectors.telemetry.otlp import OtlpBodies

        return OtlpBodies(most_bytes)
    if form == "cloudevents":
        return EventBodies(most_bytes)
    if form == "prometheus":
        from connectors.telemetry.remote_write import RemoteWriteBodies

        return RemoteWriteBodies(most_bytes, int(config["status"]))
    return PlainBodies(form, config["records"], most_bytes)


def _is_origin(text: str) -> bool:
    scheme, _, host = text.partition("://")
    return text in ("*", "null") or (bool(scheme) and bool(host) and not any(each in host for each in "/?#@ "))


def _kept_problem(name: str) -> str | None:
    if name.lower() in ("authorization", "cookie", "proxy-authorization"):
        return "has secrets in it"
    return name_problem(name) if name.lower() not in ("content-type", "host") else None


def _login_problems(config: Config) -> Iterable[Problem]:
    if config["password"] and not config["user"]:
        yield Problem("password", "", "is there without a user", "Set user, or remove it.")
    if config["user"] and not config["password"]:
        yield Problem("user", config["user"], "is there without a password", "Set password, or remove it.")
    if "api.key.header" in config.raw and not config["api.key"]:
        yield Problem("api.key.header", config["api.key.header"], "has no API key to look for", "Set api.key, or remove it.")
    ways = ("user", "token", "api.key", "hmac.secret", "ssl.ca.location")
    if not any(config[name] for name in ways) and not config["listen"].startswith(("127.", "localhost:", "[::1]")):
        what = "lets anybody send who reaches the port"
        fix = "Set hmac.secret, token, user or api.key, or ssl.ca.location, unless that is meant."
        yield Problem("listen", config["listen"], what, fix, is_warning=True)


def _signature_problems(config: Config) -> Iterable[Problem]:
    if not config["hmac.secret"]:
        for key in ("hmac.secret.previous", "hmac.form", "hmac.header", "hmac.tolerance"):
            if config.raw.get(key):
                fix = "Set hmac.secret, or remove it."
                yield Problem(key, "" if "secret" in key else config.raw[key], "means nothing without hmac.secret", fix)
    elif "hmac.tolerance" in config.raw and config["hmac.form"] != "stripe":
        fix = "Set hmac.form=stripe, or remove it."
        yield Problem("hmac.tolerance", config.raw["hmac.tolerance"], "means nothing: only stripe's signatures have a time", fix)


def _body_problems(config: Config) -> Iterable[Problem]:
    form, records = config["value.format"], config["records"]
    if (records == "array" and form != "json") or (records == "lines" and form not in ("json", "text", "bytes")):
        fix = "Set records=one, or value.format=json."
        yield Problem("records", records, f"means nothing with value.format={form}", fix)


def _challenge_problems(config: Config) -> Iterable[Problem]:
    sender, form = config["challenge"], config["value.format"]
    if sender == "meta" and not config["challenge.token"]:
        yield Problem("challenge.token", "", "is missing, and Meta shows it when it asks", "Set it to what Meta was given.")
    if config["challenge.token"] and sender != "meta":
        yield Problem("challenge.token", "", "means nothing without challenge=meta", "Set challenge=meta, or remove it.")
    if sender == "slack" and form != "json":
        yield Problem("challenge", sender, f"is asked in JSON, and value.format={form}", "Set value.format=json, or remove it.")


def _telemetry_problems(config: Config) -> Iterable[Problem]:
    if config["value.format"] != "otlp":
        return
    if not _has_messages():
        yield Problem("value.format", "otlp", _NO_MESSAGES, f"{_INSTALL}.")
    if "status" in config.raw:
        yield Problem("status", config["status"], "means nothing with value.format=otlp, which has its own answers", "Remove it.")
    if not config["paths"]:
        what = "sends spans, data points and log records, whose columns differ, to one topic"
        fix = "Set paths=/v1/traces=SPANS,/v1/metrics=POINTS,/v1/logs=LOGS, unless only one of them comes."
        yield Problem("paths", "", what, fix, is_warning=True)


def _has_messages() -> bool:
    return find_spec("opentelemetry") is not None and find_spec("opentelemetry.proto") is not None
