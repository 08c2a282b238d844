"""A stand-in for Apache Doris: a frontend, a backend and the protocol of MySQL, with tables of SQLite in memory.

No server of Doris can be had here. This one answers as the documentation and the sources of Doris 2.1 say: loads and their
transactions, labels, redirects, the texts of refusals. It shows what the connector does with such answers, and not that Doris gives
them. It can be told to lose, delay and refuse, and to stop: `on`, `kill`.
"""

import base64
import hashlib
import json
import os
import re
import socketserver
import sqlite3
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from decimal import Context, Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

USER = "root"
_LABEL = re.compile(r"[-_A-Za-z0-9:]{1,128}")
_LITERAL = re.compile(r"'((?:[^'\\]|\\.|'')*)'", re.DOTALL)
_COLUMN = re.compile(r"`((?:[^`]|``)*)`\s+([A-Za-z]+(?:\([^)]*\))?)\s*(NOT NULL|NULL)?", re.DOTALL)
_DEFAULT = re.compile(r"`(\w+)`[^,]*? DEFAULT '([^']*)'")
_TABLE = re.compile(
    r"CREATE TABLE IF NOT EXISTS `(\w+)`\.`((?:[^`]|``)*)` \((.*?)\)\s*(UNIQUE|DUPLICATE|AGGREGATE)? ?(?:KEY \((.*?)\))? DIST"
)
_ADD = re.compile(r"ALTER TABLE `(\w+)`\.`((?:[^`]|``)*)` ADD COLUMN (.*)", re.DOTALL)
_INSERT = re.compile(r"INSERT INTO `(\w+)`\.`((?:[^`]|``)*)`", re.DOTALL)
_SIGN = "__DORIS_DELETE_SIGN__"
_WHOLE = ("tinyint", "smallint", "int", "bigint", "largeint")
_NO_KEY = ("string", "float", "double", "json")

Fault = Callable[[str], str]
"""Is told what is asked for: load, commit, abort, state, or the first word of a statement. Says what becomes of it: "" (what is to
be), "drop" (nothing is done, and there is no answer), "lose" (it is done, and there is no answer), "late" (there is no answer, and
it is done a little later), "unseen" (an INSERT is visible a little later), "publish" (its answer is that of a slow publication), or
a text with which it is refused."""


@dataclass
class Table:
    """A table. `sequence` is the column of which a row with a smaller number does not replace one."""

    database: str
    name: str
    model: str
    key: list[str]
    columns: dict[str, tuple[str, bool]]
    sequence: str = ""
    defaults: dict[str, str] = field(default_factory=dict)


@dataclass
class Load:
    """A transaction of a load."""

    number: int
    database: str
    table: str
    label: str
    rows: list[dict[str, Any]]
    state: str = "PREPARE"
    reason: str = ""


@dataclass
class Doris:
    """A cluster of one frontend and one backend.

    Attributes:
        on: See Fault.
        late: So many seconds a thing comes late that does; below 0: it comes when somebody waits for it.
        password: Of the only user; at first it has none, as in Doris.
    """

    on: Fault = lambda _asked: ""
    late: float = 0.2
    password: str = ""
    loads: dict[int, Load] = field(default_factory=dict)
    tables: dict[tuple[str, str], Table] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.lock = threading.RLock()
        self._base = sqlite3.connect(":memory:", check_same_thread=False, isolation_level=None)
        self._base.execute("ATTACH ':memory:' AS information_schema")
        columns = "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, ORDINAL_POSITION"
        self._base.execute(f"CREATE TABLE information_schema.columns ({columns})")
        self._base.execute("CREATE TABLE information_schema.tables (TABLE_SCHEMA, TABLE_NAME)")
        self._ports = [0, 0, 0]
        self._timers: list[threading.Timer] = []
        self._servers: list[socketserver.TCPServer] = []
        self._numbers = iter(range(1000, 1 << 40))

    def add(self, database: str) -> "Doris":
        """Makes a database."""
        with self.lock:
            self._base.execute(f"ATTACH ':memory:' AS `{database}`")
        return self

    def start(self) -> None:
        """Answers, at the ports that it had before."""
        kinds: list[Any] = [_http(self, "fe"), _http(self, "be"), type("Sql", (_Sql,), {"doris": self})]
        for place, kind in enumerate(kinds):
            made = _Server if kind is kinds[2] else _HttpServer
            server = made(("127.0.0.1", self._ports[place]), kind)
            self._ports[place] = server.server_address[1]
            threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
            self._servers.append(server)

    def kill(self) -> None:
        """Is gone with all connections; what was committed is there when it starts again, and loads under way are not."""
        servers, self._servers = self._servers, []
        for server in servers:
            server.shutdown()
            server.server_close()
            for each in list(server.open):  # type: ignore[attr-defined]
                with suppress(OSError):
                    each.shutdown(2)
        with self.lock:
            for load in self.loads.values():
                if load.state == "PREPARE":
                    load.state, load.reason = "ABORTED", "coordinate BE is down"

    @contextmanager
    def running(self) -> Iterator["Doris"]:
        """Started, and ended."""
        self.start()
        try:
            yield self
        finally:
            self.kill()
            self.wait()
            self._base.close()

    @property
    def url(self) -> str:
        """Of the frontend."""
        return f"http://127.0.0.1:{self._ports[0]}"

    @property
    def backend(self) -> str:
        """The URL of the backend."""
        return f"http://127.0.0.1:{self._ports[1]}"

    def options(self, database: str) -> dict[str, str]:
        """The options of a connector for it."""
        known = {"url": self.url, "query.port": str(self._ports[2]), "database": database}
        return {**known, "user": USER, "request.timeout": "10s"}

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """A statement, as the frontend runs it."""
        with self.lock:
            return self._run(statement)[1]

    def later(self, work: Callable[[], Any]) -> None:
        """Does something a little later."""
        timer = threading.Timer(max(0.0, self.late), work)
        self._timers.append(timer)
        if self.late >= 0:
            timer.start()

    def wait(self) -> None:
        """Until nothing is late any more."""
        while self._timers:
            timer = self._timers.pop(0)
            if timer.ident is None:
                timer.start()
            timer.join()

    def states(self) -> list[str]:
        """Of all loads, in their order."""
        return [each.state for each in self.loads.values()]

    def time_out(self) -> None:
        """Aborts what waits for its commit, as Doris does after an hour."""
        with self.lock:
            for load in self.loads.values():
                if load.state == "PRECOMMITTED":
                    load.state, load.reason = "ABORTED", "timeout by txn manager"

    def forget(self) -> None:
        """Forgets what is at its end, as Doris does after some hours or some thousand loads."""
        with self.lock:
            self.loads = {number: each for number, each in self.loads.items() if each.state not in ("VISIBLE", "ABORTED")}

    def _run(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        text = statement.strip()
        if text.startswith("SET "):
            return [], []
        if found := _TABLE.match(text):
            self._create(found, text)
            return [], []
        if found := _ADD.match(text):
            table = self.tables[found[1], found[2]]
            (column,) = _columns(found[3])
            self._base.execute(f"ALTER TABLE `{table.database}`.`{table.name}` ADD COLUMN `{column[0]}`")
            table.columns[column[0]] = column[1:]
            self._told(table)
            return [], []
        if text.startswith("SHOW CREATE TABLE"):
            database, name = re.findall(r"`((?:[^`]|``)*)`", text)
            return ["Table", "Create Table"], [(name, _shown(self.tables[database, name]))]
        if found := _INSERT.match(text):
            text = self._replacing(text, self.tables[found[1], found[2]])
        try:
            cursor = self._base.execute(_LITERAL.sub(_plain, text))
        except sqlite3.Error as error:
            raise _Refused(1105, f"errCode = 2, detailMessage = {error}") from None
        return [each[0] for each in cursor.description or ()], cursor.fetchall()

    def _create(self, found: re.Match[str], text: str) -> None:
        database, name, body, model, key = found.groups()
        if (database, name) in self.tables:
            return
        columns = _columns(body)
        keys = re.findall(r"`((?:[^`]|``)*)`", key or "")
        if keys != [each[0] for each in columns][: len(keys)]:
            raise _Refused(1105, "errCode = 2, detailMessage = Key columns must be the first few columns of the schema")
        first = columns[0][1]
        if any(kind in _NO_KEY for each, kind, _ in columns if each in keys):
            raise _Refused(1105, "errCode = 2, detailMessage = String Type should not be used in key column")
        if not keys and first in _NO_KEY and "enable_duplicate_without_keys_by_default" not in text:
            raise _Refused(1105, "errCode = 2, detailMessage = The olap table first column could not be float, double, string")
        sequence = re.search(r'"function_column.sequence_col" = "(\w+)"', text)
        kinds = {each: (kind, optional) for each, kind, optional in columns}
        newest, defaults = sequence[1] if sequence else "", dict(_DEFAULT.findall(body))
        table = Table(database, name, model or "DUPLICATE", keys, kinds, newest, defaults)
        unique = f", PRIMARY KEY ({', '.join(f'`{each}`' for each in keys)})" if table.model == "UNIQUE" else ""
        try:
            self._base.execute(f"CREATE TABLE `{database}`.`{name}` ({', '.join(f'`{each}`' for each in table.columns)}{unique})")
        except sqlite3.Error:
            raise _Refused(1049, f"errCode = 2, detailMessage = Unknown database '{database}'") from None
        self.tables[database, name] = table
        self._base.execute("INSERT INTO information_schema.tables VALUES (?, ?)", (database, name))
        self._told(table)

    def _told(self, table: Table) -> None:
        self._base.execute(
            "DELETE FROM information_schema.columns WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?", (table.database, table.name)
        )
        for place, (name, (kind, optional)) in enumerate(table.columns.items(), 1):
            row = (table.database, table.name, name, kind, "YES" if optional else "NO", table.defaults.get(name), "", place)
            self._base.execute("INSERT INTO information_schema.columns VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row)

    def _replacing(self, text: str, table: Table) -> str:
        if table.model != "UNIQUE":
            return text
        others = [each for each in table.columns if each not in table.key]
        sets = ", ".join(f"`{each}` = excluded.`{each}`" for each in others)
        newer = f" WHERE excluded.`{table.sequence}` >= `{table.name}`.`{table.sequence}`" if table.sequence else ""
        return f"{text} ON CONFLICT ({', '.join(f'`{each}`' for each in table.key)}) DO UPDATE SET {sets}{newer}"

    def begin(self, database: str, table: str, label: str) -> Load:
        """Begins a load.

        Raises:
            _LoadFailed: it cannot be.
        """
        with self.lock:
            for each in self.loads.values():
                if (each.database, each.label) == (database, label) and each.state != "ABORTED":
                    status = {"PREPARE": "RUNNING", "PRECOMMITTED": "PRECOMMITTED"}.get(each.state, "FINISHED")
                    said = f"errCode = 2, detailMessage = Label [{label}] has already been used, relate to txn [{each.number}]"
                    raise _LoadFailed("Label Already Exists", f"[LABEL_ALREADY_EXISTS]{said}", status)
            if not _LABEL.fullmatch(label):
                raise _LoadFailed("Fail", f"[INTERNAL_ERROR]errCode = 2, detailMessage = Label format error: {label}")
            if (database, table) not in self.tables:
                raise _LoadFailed("Fail", f"[ANALYSIS_ERROR]errCode = 2, detailMessage = unknown table, tableName={table}")
            load = Load(next(self._numbers), database, table, label, [])
            self.loads[load.number] = load
            return load

    def fill(self, load: Load, body: bytes, columns: list[str], *, signed: bool) -> None:
        """Reads the rows of a load. Raises _LoadFailed: some do not fit."""
        table = self.tables[load.database, load.table]
        bad: list[str] = []
        if unknown := [each for each in columns if each not in table.columns]:
            raise _LoadFailed("Fail", f"[INTERNAL_ERROR]errCode = 2, detailMessage = Unknown column '{unknown[0]}' in {load.table}")
        for line in body.splitlines():
            row = json.loads(line)
            sign = row.pop(_SIGN, 0) if signed else 0
            try:
                found = {
                    each: _value(row.get(each), *table.columns[each]) for each in table.columns if each in columns or each in row
                }
                for each, (kind, optional) in table.columns.items():
                    if each not in found and each in table.defaults:
                        found[each] = _value(table.defaults[each], kind, optional)
                    elif each not in found and not optional:
                        raise ValueError(f"{each} is null")
            except (ValueError, ArithmeticError) as error:
                bad.append(str(error))
                continue
            load.rows.append({**found, _SIGN: int(sign)})
        keys = [tuple(row[each] for each in table.key) for row in load.rows] if table.model == "UNIQUE" else []
        assert len(set(keys)) == len(keys), "which of two rows of a key in one load stays is nowhere written"
        if bad:
            raise _LoadFailed("Fail", f"[DATA_QUALITY_ERROR]too many filtered rows: {bad[0]}")

    def operate(self, database: str, headers: dict[str, str], asked: str) -> dict[str, str]:  # noqa: PLR0911 - one answer each
        """Commits or aborts a load."""
        operation, number, label = headers["txn_operation"], headers.get("txn_id", ""), headers.get("label", "")
        with self.lock:
            if number:
                load = self.loads.get(int(number))
            else:
                load = next((each for each in self.loads.values() if each.label == label and each.state == "PRECOMMITTED"), None)
            who = f"transaction [{number}]" if number else f"label [{label}]"
            if load is None or load.database != database:
                return {"status": "ANALYSIS_ERROR", "msg": f"TStatus: errCode = 2, detailMessage = {who} not found"}
            state = load.state.lower()
            if operation == "commit":
                if load.state == "ABORTED":
                    why = f"{who} is already aborted. abort reason: {load.reason}"
                    return {"status": "ANALYSIS_ERROR", "msg": f"TStatus: errCode = 2, detailMessage = {why}"}
                if load.state != "PRECOMMITTED":
                    why = f"{who} is already {state}, not pre-committed."
                    return {"status": "ANALYSIS_ERROR", "msg": f"TStatus: errCode = 2, detailMessage = {why}"}
                self._apply(load)
                load.state = "COMMITTED" if asked == "publish" else "VISIBLE"
                if asked == "publish":
                    why = "transaction commit successfully, BUT data will be visible later"
                    return {"status": "PUBLISH_TIMEOUT", "msg": why}
                return {"status": "Success", "msg": f"{who} commit successfully."}
            if load.state in ("COMMITTED", "VISIBLE"):
                why = f"{who} is already {load.state}, could not abort."
                return {"status": "ANALYSIS_ERROR", "msg": f"TStatus: errCode = 2, detailMessage = {why}"}
            load.state, load.reason = "ABORTED", "User Abort"
            return {"status": "Success", "msg": f"{who} abort successfully."}

    def _apply(self, load: Load) -> None:
        table = self.tables[load.database, load.table]
        where = f"`{table.database}`.`{table.name}`"
        self._base.execute("BEGIN")
        for row in load.rows:
            if row.get(_SIGN):
                same = " AND ".join(f"`{each}` IS ?" for each in table.key)
                self._base.execute(f"DELETE FROM {where} WHERE {same}", [row[each] for each in table.key])
                continue
            names = [each for each in row if each != _SIGN]
            marks = ", ".join("?" * len(names))
            verb = "INSERT OR REPLACE" if table.model == "UNIQUE" else "INSERT"
            columns = ", ".join(f"`{each}`" for each in names)
            self._base.execute(f"{verb} INTO {where} ({columns}) VALUES ({marks})", [row[each] for each in names])
        self._base.execute("COMMIT")


class _Refused(Exception):
    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number


class _LoadFailed(Exception):
    def __init__(self, status: str, message: str, existing: str = "") -> None:
        super().__init__(message)
        self.status, self.existing = status, existing


def _plain(found: re.Match[str]) -> str:
    """A literal of MySQL as one of SQLite."""
    return "'" + re.sub(r"\\(.)", r"\1", found[1].replace("''", "\0")).replace("'", "''").replace("\0", "''") + "'"


def _columns(body: str) -> list[tuple[str, str, bool]]:
    return [(name.replace("``", "`"), kind.lower(), null != "NOT NULL") for name, kind, null in _COLUMN.findall(body)]


def _shown(table: Table) -> str:
    columns = ",\n".join(
        f"  `{name}` {kind} {'NULL' if optional else 'NOT NULL'}" for name, (kind, optional) in table.columns.items()
    )
    key = f"\n{table.model} KEY({', '.join(f'`{each}`' for each in table.key)})" if table.key else ""
    return f"CREATE TABLE `{table.name}` (\n{columns}\n) ENGINE=OLAP{key}\nDISTRIBUTED BY RANDOM BUCKETS AUTO"


def _value(value: Any, kind: str, optional: bool) -> Any:
    """A value of JSON in a column, in strict mode."""
    if value is None:
        if not optional:
            raise ValueError("column(values) is null while columns is not nullable")
        return None
    name = kind.partition("(")[0]
    if name in _WHOLE:
        return str(int(value)) if name == "largeint" else int(value)
    if name == "decimal":
        scale = int(kind.rstrip(")").rpartition(",")[2])
        return str(Decimal(value).quantize(Decimal(1).scaleb(-scale), context=Context(prec=60)))
    if name in ("float", "double"):
        return float(value)
    if name == "boolean":
        return int(value)
    if name == "datetime" and not re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?", value):
        raise ValueError(f"{value} is no datetime")
    if name == "varchar" and len(value.encode()) > int(kind.rstrip(")").rpartition("(")[2]):
        raise ValueError(f"{value} is too long")
    return value


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        self.open: set[Any] = set()
        super().__init__(*args)

    def process_request(self, request: Any, client_address: Any) -> None:
        self.open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self.open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever is gone is gone."""


class _HttpServer(_Server, ThreadingHTTPServer):
    pass


def _http(doris: Doris, part: str) -> type[BaseHTTPRequestHandler]:
    return type("Http", (_Http,), {"doris": doris, "part": part})


class _Http(BaseHTTPRequestHandler):
    doris: Doris
    part: str
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    has_ended = False
    """The connection, of which whoever asks once more hears late."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
        pass

    def handle_expect_100(self) -> bool:
        return super().handle_expect_100() if self.part == "be" else True

    def do_GET(self) -> None:
        path = urlsplit(self.path)
        database, what = path.path.split("/")[2:4]
        if self.has_ended:
            self._gone()
            return
        if not self._is_known() or what != "get_load_state":
            self._answer(401, {"msg": "Access denied for user", "code": 401, "data": None, "count": 0})
            return
        asked = self._asked("state")
        if asked in ("drop", "lose", "late"):
            self._gone()
            return
        label = parse_qs(path.query)["label"][0]
        with self.doris.lock:
            states = [each.state for each in self.doris.loads.values() if (each.database, each.label) == (database, label)]
        self._answer(200, {"msg": "success", "code": 0, "data": states[-1] if states else "UNKNOWN", "count": 0})

    def do_PUT(self) -> None:
        parts = [unquote(each) for each in urlsplit(self.path).path.split("/")[2:]]
        if self.has_ended:
            self._gone()
        elif not self._is_known():
            self._answer(401, {"status": "FAILED", "msg": "Access denied for user"})
        elif self.part == "fe":
            self._redirect()
        elif parts[-1] == "_stream_load_2pc":
            self._operate(parts[0])
        else:
            self._load(parts[0], parts[1])

    def _redirect(self) -> None:
        if "Expect" not in self.headers:
            self._answer(200, {"status": "FAILED", "msg": "There is no 100-continue header"})
            return
        host = self.doris.backend.removeprefix("http://")
        self.send_response(307)
        # As Doris does, with what belongs to nobody else.
        self.send_header("Location", f"http://{USER}:x@{host}{self.path}?")
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.has_ended = True

    def _load(self, database: str, table: str) -> None:
        asked = self._asked("load")
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if asked == "drop":
            self._gone()
            return
        label = self.headers["label"]
        answer: dict[str, Any] = {"TxnId": -1, "Label": label, "Comment": "", "TwoPhaseCommit": "true"}
        if asked == "late":
            # The client gives up while it is under way.
            self.doris.later(lambda: self._loaded(database, table, label, body, {}))
            self._gone()
            return
        if asked not in ("", "lose", "publish"):
            answer |= {"Status": "Fail", "Message": asked}
        else:
            self._loaded(database, table, label, body, answer)
        if asked == "lose":
            self._gone()
            return
        self._answer(200, answer)

    def _loaded(self, database: str, table: str, label: str, body: bytes, answer: dict[str, Any]) -> None:
        columns = re.findall(r"`((?:[^`]|``)*)`", self.headers["columns"].encode("latin-1").decode())
        signed = self.headers.get("hidden_columns") == _SIGN
        for key in ("two_phase_commit", "read_json_by_line", "strict_mode"):
            assert self.headers[key] == "true"
        try:
            load = self.doris.begin(database, table, label)
        except _LoadFailed as error:
            answer |= {"Status": error.status, "ExistingJobStatus": error.existing, "Message": str(error)}
            return
        try:
            self.doris.fill(load, body, [each for each in columns if each != _SIGN], signed=signed)
        except _LoadFailed as error:
            load.state, load.reason = "ABORTED", str(error)
            where = f"{self.doris.backend}/api/_load_error_log?file=__shard_0/error_log"
            answer |= {"TxnId": load.number, "Status": error.status, "Message": str(error), "ErrorURL": where}
            return
        with self.doris.lock:
            if load.state == "PREPARE":
                load.state = "PRECOMMITTED"
        answer |= {"TxnId": load.number, "Status": "Success", "Message": "OK", "NumberTotalRows": len(load.rows)}

    def _operate(self, database: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        self.rfile.read(length)
        headers = dict(self.headers.items())
        asked = self._asked(headers["txn_operation"])
        if asked == "drop":
            self._gone()
        elif asked == "late":
            self.doris.later(lambda: self.doris.operate(database, headers, ""))
            self._gone()
        elif asked in ("", "lose", "publish"):
            answer = self.doris.operate(database, headers, asked)
            self._gone() if asked == "lose" else self._answer(200, answer)
        else:
            self._answer(200, {"status": "INTERNAL_ERROR", "msg": asked})

    def _asked(self, what: str) -> str:
        with self.doris.lock:
            self.doris.seen.append(what)
            return self.doris.on(what)

    def _is_known(self) -> bool:
        given = base64.b64decode((self.headers.get("Authorization") or "").removeprefix("Basic "))
        return given == f"{USER}:{self.doris.password}".encode()

    def _gone(self) -> None:
        self.close_connection = True
        with suppress(OSError):
            self.connection.shutdown(2)

    def _answer(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer, indent=4).encode() + b"\n"
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data)
        self.close_connection = True


class _Sql(socketserver.StreamRequestHandler):
    """The protocol of MySQL, as far as PyMySQL speaks it: a login, and statements that are text."""

    doris: Doris
    wbufsize = -1
    _AUTOCOMMIT = 2

    def handle(self) -> None:
        self._number = 0
        salt = os.urandom(20).replace(b"\0", b"\1")
        able = 0x00AFF7DF & ~0x0800 & ~0x01000000
        begin = struct.pack("<HBHH", able & 0xFFFF, 33, self._AUTOCOMMIT, able >> 16) + bytes([21]) + b"\0" * 10
        head = b"\x0a5.7.99\0" + struct.pack("<I", 1) + salt[:8] + b"\0"
        self._send(head + begin + salt[8:] + b"\0mysql_native_password\0")
        greeting = self._receive()
        user, _, rest = greeting[32:].partition(b"\0")
        given = rest[1 : 1 + rest[0]]
        secret = hashlib.sha1(self.doris.password.encode()).digest()
        wanted = bytes(a ^ b for a, b in zip(secret, hashlib.sha1(salt + hashlib.sha1(secret).digest()).digest(), strict=True))
        if user.decode() != USER or given != (wanted if self.doris.password else b""):
            self._error(1045, f"Access denied for user '{user.decode()}'@'127.0.0.1' (using password: YES)")
            return
        self._ok()
        while packet := self._receive():
            if packet[0] == 1:
                return
            if packet[0] != 3:
                self._ok()
                continue
            if not self._statement(packet[1:].decode()):
                return

    def _statement(self, text: str) -> bool:  # noqa: PLR0911 - one answer each
        word = text.split(maxsplit=1)[0].lower()
        with self.doris.lock:
            if word != "set":
                self.doris.seen.append(word)
            asked = "" if word == "set" else self.doris.on(word)
        if asked == "drop":
            return False
        if asked in ("late", "unseen"):
            self.doris.later(lambda: self.doris.run(text))
            if asked == "late":
                return False
            self._ok("{'label':'insert_1', 'status':'COMMITTED', 'txnId':'1'}")
            return True
        if asked not in ("", "lose"):
            self._error(1105, asked)
            return True
        try:
            with self.doris.lock:
                names, rows = self.doris._run(text)
        except _Refused as error:
            self._error(error.number, str(error))
            return True
        except sqlite3.ProgrammingError:
            return False
        if asked == "lose":
            return False
        if names:
            self._result(names, rows)
        else:
            self._ok("{'label':'insert_1', 'status':'VISIBLE', 'txnId':'1'}")
        return True

    def _result(self, names: list[str], rows: list[tuple[Any, ...]]) -> None:
        self._send(_count(len(names)))
        for name in names:
            kinds = struct.pack("<BHIBHBH", 12, 45, 1 << 20, 253, 0, 0, 0)
            self._send(b"".join(_text(each) for each in ("def", "", "", "", name, name)) + kinds)
        end = b"\xfe" + struct.pack("<HH", 0, self._AUTOCOMMIT)
        self._send(end)
        for row in rows:
            self._send(b"".join(b"\xfb" if each is None else _text(str(each)) for each in row))
        self._send(end)

    def _ok(self, said: str = "") -> None:
        self._send(b"\0" + _count(0) + _count(0) + struct.pack("<HH", self._AUTOCOMMIT, 0) + said.encode())

    def _error(self, number: int, text: str) -> None:
        self._send(b"\xff" + struct.pack("<H", number) + b"#HY000" + text.encode())

    def _send(self, data: bytes) -> None:
        self.wfile.write(struct.pack("<I", len(data))[:3] + bytes([self._number]) + data)
        self._number = (self._number + 1) % 256

    def _receive(self) -> bytes:
        self.wfile.flush()
        head = self.rfile.read(4)
        if len(head) < 4:
            return b""
        self._number = (head[3] + 1) % 256
        return self.rfile.read(int.from_bytes(head[:3], "little"))


def _count(number: int) -> bytes:
    return (
        bytes([number])
        if number < 251
        else b"\xfc" + struct.pack("<H", number)
        if number < 1 << 16
        else b"\xfe" + struct.pack("<Q", number)
    )


def _text(text: str) -> bytes:
    data = text.encode()
    return _count(len(data)) + data
