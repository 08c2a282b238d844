"""A source of a feed that is read page by page over HTTP, behind opaque cursors; and such a feed."""

import hashlib
import json
import threading
from collections.abc import Iterable, Mapping
from http.client import HTTPConnection, HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.errors import PermanentError, Problem, SystemAway
from rocketconnect_sdk.options import Config, Kind, Option
from rocketconnect_sdk.record import Position, Rejected, SourceBatch
from rocketconnect_sdk.source import Edge, Plan, Source, SourceTask

PARTITION = "feed"


class Feed(Source):
    """The items of a feed. The offset is how many were read, and the way back is the cursor of the page.

    An item that begins with "!" is rejected; a page of items that begin with "#" alone only moves the position.
    """

    name = "feed"
    options = (
        Option("url", "Where it is.", required=True),
        Option("stable", "It gives the same items again behind the same cursor.", Kind.BOOL, "true"),
    )

    def replayable(self, config: Config) -> bool:
        return bool(config["stable"])

    def plan(self, config: Config, max_tasks: int, positions: Mapping[str, Position]) -> Plan:
        return Plan([{"known": ",".join(positions)}])

    def check_position(self, config: Config, partition: str, position: Position) -> Iterable[Problem]:
        yield from super().check_position(config, partition, position)
        if position.offset > (0,) and not isinstance(position.resume.get("cursor"), str):
            reason = "has no cursor, and the feed can't be entered without"
            yield Problem(partition, str(list(position.offset)), reason, 'Give its resume, such as {"cursor": "..."}, or [0].')

    def find_position(self, config: Config, partition: str, place: Edge | float) -> Position | None:
        return Position((0,)) if place is Edge.EARLIEST else None

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "FeedTask":
        return FeedTask(config["url"], context)


class FeedTask(SourceTask):
    def __init__(self, url: str, context: TaskContext) -> None:
        self._url = urlsplit(url)
        self._context = context

    def start(self, positions: Mapping[str, Position]) -> None:
        position = positions.get(PARTITION, Position((0,)))
        (self._count,) = position.offset
        self._cursor = str(position.resume.get("cursor", ""))
        if self._count and not self._cursor:
            msg = f"the position [{self._count}] has no cursor, and the feed can't be entered without: reset the positions"
            raise PermanentError(msg)

    def poll(self) -> SourceBatch | None:
        items, cursor = self._page()
        if not items:
            return None
        begin, self._count, self._cursor = self._count, self._count + len(items), cursor
        kept = [(begin + number, item) for number, item in enumerate(items, 1) if not item.startswith("#")]
        values = [_bad(item) if item.startswith("!") else item for _, item in kept]
        offsets = [(number,) for number, _ in kept]
        return SourceBatch(PARTITION, values, offsets, end=(self._count,), resume={"cursor": cursor})

    def _page(self) -> tuple[list[str], str]:
        connection = HTTPConnection(self._url.hostname or "", self._url.port, timeout=10)
        try:
            connection.request("GET", "/?" + urlencode({"cursor": self._cursor, "limit": self._context.batch_records}))
            answer = json.loads(connection.getresponse().read())
        except (OSError, HTTPException) as error:
            msg = f"the feed does not answer: {error}"
            raise SystemAway(msg) from error
        finally:
            connection.close()
        return answer["items"], answer["next"]

    @property
    def idle_seconds(self) -> float:
        return 0.01

    def close(self) -> None:
        """Nothing is held."""


def _bad(item: str) -> Rejected:
    return Rejected("Bad", "begins with !", item.encode(), len(item), hashlib.sha256(item.encode()).hexdigest())


class FeedServer:
    """A feed on loopback, whose cursors tell nothing. Use it in a with.

    Attributes:
        items: What there is; more may be appended.
        page: At most so many are on a page.
        asked: The cursors that pages were asked for behind, "" at the beginning.
    """

    def __init__(self, items: Iterable[str] = (), page: int = 100) -> None:
        self.items = list(items)
        self.page = page
        self.asked: list[str] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> "FeedServer":
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def cursor(self, count: int) -> str:
        """The one behind so many items."""
        return hashlib.sha256(f"behind {count}".encode()).hexdigest() if count else ""

    def _behind(self, cursor: str) -> int:
        return next(count for count in range(len(self.items) + 1) if self.cursor(count) == cursor)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        feed = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                asked = parse_qs(urlsplit(self.path).query, keep_blank_values=True)
                feed.asked.append(asked["cursor"][0])
                begin = feed._behind(asked["cursor"][0])
                items = feed.items[begin : begin + min(feed.page, int(asked["limit"][0]))]
                body = json.dumps({"items": items, "next": feed.cursor(begin + len(items))}).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as it is called
                """Nobody reads it."""

        return Handler
