"""Items of a service of the web, asked for page by page, into a topic."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from threading import Event
from typing import TYPE_CHECKING

from connectors.http.marks import FORMS as MARKS
from connectors.http.paging import CURSOR, FORMS, GO_ON, LAST, NONE, NUMBER, OFFSET, URL, split_url
from connectors.http.paths import PATH_FIX, path_problem
from rocketconnect_sdk.configuration.preflight import preflight
from rocketconnect_sdk.configuration.urls import server_problem
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.cursors import POLL_INTERVAL, Connection, CursorSource, PageTooLarge, Stream
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.http import AUTH, REQUEST_TIMEOUT, TLS, NotLetIn, login_problems
from rocketconnect_sdk.options import Config, Kind, Option, run_checks
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.permissions.hosts import of_urls

if TYPE_CHECKING:
    from connectors.http.asking import Service

_APPEND, _INCREMENTING, _SNAPSHOT = "append", "incrementing", "snapshot"
_PARAMETERS = {CURSOR: "cursor", LAST: "after", OFFSET: "offset", NUMBER: "page"}
_CHECK_SECONDS = 3.0


def _url_problem(url: str) -> str | None:
    try:
        server, _, _ = split_url(url)
    except ValueError:
        return "is no URL"
    if "#" in url:
        return "has a part behind #, which no server sees"
    return server_problem(server)


def _header_problem(pairs: Sequence[str]) -> str | None:
    for pair in pairs:
        name, _, text = pair.partition("=")
        if not name or not name.isascii() or not name.replace("-", "").replace("_", "").isalnum() or not text.strip():
            return f"has {pair[:60]!r}, which is no NAME=TEXT"
        if not text.isprintable() or name.lower() in ("authorization", "host"):
            return f"has the header {name}, which can't be given here"
    return None


class HttpSource(CursorSource):
    """Reads the items of a service of the web, page by page and again and again, at least once."""

    name = "http_source"
    page_rows = 100_000
    options = (
        Option(
            "url",
            "What is asked for: https://HOST/v1/orders?state=paid. The answer is JSON.",
            required=True,
            check=_url_problem,
            fix="Write https://HOST/PATH; who we are has options of its own.",
            reaches=of_urls,
            example="https://api.example.com/v1/orders",
        ),
        Option(
            "headers",
            "Headers of each request, each NAME=TEXT, separated by commas: X-Tenant=7,X-Version=2.",
            Kind.LIST,
            "",
            check=_header_problem,
            fix="Write NAME=TEXT; who we are has options of its own.",
        ),
        Option(
            "items",
            'Where the list of items is in an answer: data.items, or hits[0]["a.b"]. Empty: the answer is the list.',
            default="",
            check=path_problem,
            fix=PATH_FIX,
        ),
        Option(
            "key.fields", "Where the key of a record is in an item, such as id. Several are an object. Empty: none.", Kind.LIST, ""
        ),
        Option(
            "mode",
            "incrementing: all items, and again and again those that are newer by incrementing.field. append: all items, and then "
            f"those behind the last one, by pages={', '.join(GO_ON)}. snapshot: all items.",
            default=_SNAPSHOT,
            choices=(_SNAPSHOT, _INCREMENTING, _APPEND),
        ),
        Option(
            "incrementing.field",
            "Where in an item that is by which new and changed ones are known, such as updated_at.",
            default="",
            check=path_problem,
            fix=PATH_FIX,
        ),
        Option(
            "incrementing.form",
            "How the field is written, and asked for. iso: a time as ISO 8601 has it. seconds, milliseconds: a time since 1970. "
            "number: another number. text: a text.",
            default="iso",
            choices=MARKS,
        ),
        Option(
            "incrementing.parameter",
            "The parameter of the URL that says from which on items are wanted, such as since. Empty: there is none, and all are "
            "asked for each time.",
            default="",
        ),
        Option("incrementing.begin", "What the parameter says where nothing was read yet. Empty: it is left out.", default=""),
        Option(
            "overlap",
            "How far behind the newest read item another one may still arrive. With incrementing.form=number how much less.",
            Kind.DURATION,
            "0s",
            minimum=0,
        ),
        Option(
            "pages",
            "How pages follow. none: there is one. cursor: an answer has a cursor (pages.path). last: the last item has it "
            "(pages.path). link: the header Link, rel=next. url: an answer has the URL (pages.path). offset: by how many items "
            "were read. number: by numbers of pages.",
            default=NONE,
            choices=FORMS,
        ),
        Option(
            "pages.parameter",
            "The parameter of the URL that says which page is wanted. Empty: cursor, after, offset or page, as pages says.",
            default="",
        ),
        Option(
            "pages.path",
            "Where the cursor or the URL of the next page is in an answer; with pages=last in an item.",
            default="",
            check=path_problem,
            fix=PATH_FIX,
        ),
        Option(
            "pages.more",
            "Where an answer says whether there are more pages, such as has_more. Empty: nowhere.",
            default="",
            check=path_problem,
            fix=PATH_FIX,
        ),
        Option("pages.first", "With pages=number: the number of the first page.", Kind.INT, "1", minimum=0, maximum=1_000_000),
        Option("page.size.parameter", "The parameter that says how many items a page has, such as limit. Empty: none.", default=""),
        Option("page.size", "How many items a page has, with page.size.parameter.", Kind.INT, "100", minimum=1, maximum=100_000),
        POLL_INTERVAL,
        Option(
            "snapshot.interval",
            "With mode=snapshot: so long after the beginning of one reading of all items the next one begins. 0s: there is one.",
            Kind.DURATION,
            "0s",
            minimum=0,
        ),
        Option(
            "requests.interval",
            "The shortest time from one request to the next: 100ms are at most ten each second.",
            Kind.DURATION,
            "0s",
            minimum=0,
            maximum=3600,
        ),
        Option("response.bytes", "A longer answer is none.", Kind.SIZE, "16MiB", minimum=1 << 10, maximum=1 << 30),
        *AUTH,
        Option(
            "api.key.header",
            "The header that has the API key alone, such as X-API-Key. Empty: Authorization, as ApiKey.",
            default="",
            check=lambda name: _header_problem([f"{name}=x"]) if name else None,
            fix="Write the name of a header, such as X-API-Key.",
        ),
        *TLS,
        REQUEST_TIMEOUT,
    )

    def look(self, config: Config) -> Iterable[Problem]:
        """See CursorSource."""
        return run_checks(config, login_problems, _mode_problems, _page_problems, _service_problems)

    def origins(self, config: Config) -> Iterable[Origin]:
        """The URL. See Source."""
        server, path, parameters = split_url(config["url"])
        asked = "&".join(f"{name}={text}" for name, texts in sorted(parameters.items()) for text in texts)
        yield Origin("url", server.lower(), f"{path}?{asked}" if asked else path)

    def streams(self, config: Config) -> Sequence[Stream]:
        """See CursorSource."""
        server, path, _ = split_url(config["url"])
        # A cursor of one mode means nothing in another.
        return [Stream(f"{config['mode']} {server}{path}"[:500])]

    def connect(self, config: Config, context: TaskContext) -> Connection:
        """See CursorSource."""
        return _service_of(config, config["request.timeout"], context.stopping)

    def interval(self, config: Config) -> float:
        """See CursorSource."""
        return float(config["snapshot.interval" if config["mode"] == _SNAPSHOT else "poll.interval"])


def _service_of(config: Config, seconds: float, stopping: Event) -> "Service":
    from connectors.http.asking import Asking, Service
    from connectors.http.paging import Paging
    from connectors.http.paths import Path
    from rocketconnect_sdk.http import HttpClient, login_of, tls_of

    form, is_incrementing = config["pages"], config["mode"] == _INCREMENTING
    paging = Paging(
        form,
        config["pages.parameter"] or _PARAMETERS.get(form, ""),
        Path(config["pages.path"]),
        Path(config["pages.more"]) if config["pages.more"] else None,
        config["pages.first"],
        config["page.size.parameter"],
        config["page.size"],
        goes_on=config["mode"] == _APPEND,
    )
    asking = Asking(
        config["url"],
        Path(config["items"]),
        paging,
        Path(config["incrementing.field"]) if is_incrementing else None,
        config["incrementing.form"],
        config["incrementing.parameter"] if is_incrementing else "",
        config["incrementing.begin"],
        config["overlap"],
        [Path(key) for key in config["key.fields"]],
        config["requests.interval"],
    )
    headers = {name: text.strip() for name, _, text in (pair.partition("=") for pair in config["headers"])}
    server, _, _ = split_url(config["url"])
    client = HttpClient(
        [server], login_of(config), tls_of(config), seconds=seconds, largest=config["response.bytes"], headers=headers
    )
    return Service(client, asking, stopping)


def _mode_problems(config: Config) -> Iterable[Problem]:
    mode, form = config["mode"], config["pages"]
    if mode == _INCREMENTING and not config["incrementing.field"]:
        fix = "Name the field of an item that grows, or set mode=snapshot."
        yield Problem("incrementing.field", "", "is missing, and mode=incrementing needs it", fix)
    if mode != _INCREMENTING:
        for key in ("incrementing.field", "incrementing.parameter", "incrementing.begin", "overlap"):
            if config[key]:
                yield Problem(key, str(config.raw[key]), f"means nothing with mode={mode}", "Remove it, or set mode=incrementing.")
    if mode == _INCREMENTING and config["overlap"] and config["incrementing.form"] == "text":
        yield Problem("overlap", config.raw["overlap"], "can't be taken from a text", "Remove it, or set incrementing.form.")
    if mode == _APPEND and form not in GO_ON:
        fix = f"Set pages to {', '.join(GO_ON)}, or mode=incrementing."
        yield Problem("pages", form, "does not say where what comes later is found, as mode=append needs it", fix)
    if mode == _APPEND and form == CURSOR and not config["pages.more"]:
        fix = "Name what says so, such as has_more, or set mode=incrementing."
        yield Problem("pages.more", "", "is missing: the last page has to have a cursor, too, with mode=append", fix)


def _page_problems(config: Config) -> Iterable[Problem]:
    form = config["pages"]
    if form in (CURSOR, LAST, URL) and not config["pages.path"]:
        yield Problem("pages.path", "", f"is missing, and pages={form} needs it", "Name where it is, such as next_cursor.")
    if form not in (CURSOR, LAST, URL) and config["pages.path"]:
        yield Problem("pages.path", config["pages.path"], f"means nothing with pages={form}", "Remove it, or set pages.")
    if config["pages.parameter"] and form not in _PARAMETERS:
        yield Problem("pages.parameter", config["pages.parameter"], f"means nothing with pages={form}", "Remove it.")
    if config["api.key.header"] and not config["api.key"]:
        yield Problem("api.key.header", config["api.key.header"], "has no API key to show", "Set api.key, or remove it.")
    for key in config["key.fields"]:
        if (problem := path_problem(key)) is not None:
            yield Problem("key.fields", key, problem, PATH_FIX)
    if "page.size" in config.raw and not config["page.size.parameter"]:
        yield Problem("page.size", config.raw["page.size"], "is not asked for", "Set page.size.parameter, such as to limit.")


@preflight(away=("url", "Start the service, or correct the URL."), refused=("url", "Correct the URL and its parameters."))
def _service_problems(config: Config) -> Iterable[Problem]:
    """Asks for the first page."""
    from connectors.http.asking import NoItems

    if any(not each.is_warning for each in (*_mode_problems(config), *_page_problems(config))):
        return
    with closing(_service_of(config, min(_CHECK_SECONDS, config["request.timeout"]), Event())) as service:
        try:
            service.open("", None, None).page(None, config["page.size"])
        except NoItems as error:
            yield Problem("items", config["items"], str(error), "Correct items, or the URL.")
        except NotLetIn as error:
            yield Problem("token" if config["token"] else "user", config["user"], str(error), "Correct who we are there.")
        except PageTooLarge as error:
            yield Problem("url", config["url"], str(error), "Put it right.")
