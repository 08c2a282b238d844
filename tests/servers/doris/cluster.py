"""What the stand-in for Doris knows: tables, which are SQLite's in memory, loads and their transactions, and statements."""

import json
import re
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Context, Decimal
from typing import Any, Self

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
SIGN = "__DORIS_DELETE_SIGN__"
_WHOLE = ("tinyint", "smallint", "int", "bigint", "largeint")
_LONG_NUMBER = re.compile(r"\((-?\d+\.\d+|-?\d{19,})\)")
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


class Refused(Exception):
    """A statement is refused, with this number."""

    def __init__(self, number: int, text: str) -> None:
        super().__init__(text)
        self.number = number


class LoadFailed(Exception):
    """A load does not become one."""

    def __init__(self, status: str, message: str, existing: str = "") -> None:
        super().__init__(message)
        self.status, self.existing = status, existing


@dataclass
class Cluster:
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
        self._base.create_collation("numbers", lambda one, other: int(Decimal(one).compare(Decimal(other))))
        self._base.execute("ATTACH ':memory:' AS information_schema")
        columns = "TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, ORDINAL_POSITION"
        self._base.execute(f"CREATE TABLE information_schema.columns ({columns})")
        self._base.execute("CREATE TABLE information_schema.tables (TABLE_SCHEMA, TABLE_NAME)")
        self.ports = [0, 0, 0]
        self._timers: list[threading.Timer] = []
        self._numbers = iter(range(1000, 1 << 40))

    def add(self, database: str) -> Self:
        """Makes a database."""
        with self.lock:
            self._base.execute(f"ATTACH ':memory:' AS `{database}`")
        return self

    @property
    def url(self) -> str:
        """Of the frontend."""
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def backend(self) -> str:
        """The URL of the backend."""
        return f"http://127.0.0.1:{self.ports[1]}"

    def run(self, statement: str) -> list[tuple[Any, ...]]:
        """A statement, as the frontend runs it."""
        with self.lock:
            return self.statement(statement)[1]

    def later(self, work: Callable[[], Any]) -> None:
        """Does something a little later."""
        timer = threading.Timer(max(0.0, self.late), work)
        self._timers.append(timer)
        if self.late >= 0:
            timer.start()

    def close(self) -> None:
        """Waits for what is late, and forgets all."""
        self.wait()
        self._base.close()

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

    def statement(self, statement: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        """What a statement answers: columns and rows. Raises Refused. For who holds the lock."""
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
        elif text.startswith("SELECT"):
            text = _LONG_NUMBER.sub(r"'\1'", text)
        try:
            cursor = self._base.execute(_LITERAL.sub(_plain, text))
        except sqlite3.Error as error:
            raise Refused(1105, f"errCode = 2, detailMessage = {error}") from None
        return [each[0] for each in cursor.description or ()], cursor.fetchall()

    def _create(self, found: re.Match[str], text: str) -> None:
        database, name, body, model, key = found.groups()
        if (database, name) in self.tables:
            return
        columns = _columns(body)
        keys = re.findall(r"`((?:[^`]|``)*)`", key or "")
        if keys != [each[0] for each in columns][: len(keys)]:
            raise Refused(1105, "errCode = 2, detailMessage = Key columns must be the first few columns of the schema")
        first = columns[0][1]
        if any(kind in _NO_KEY for each, kind, _ in columns if each in keys):
            raise Refused(1105, "errCode = 2, detailMessage = String Type should not be used in key column")
        if not keys and first in _NO_KEY and "enable_duplicate_without_keys_by_default" not in text:
            raise Refused(1105, "errCode = 2, detailMessage = The olap table first column could not be float, double, string")
        sequence = re.search(r'"function_column.sequence_col" = "(\w+)"', text)
        kinds = {each: (kind, optional) for each, kind, optional in columns}
        newest, defaults = sequence[1] if sequence else "", dict(_DEFAULT.findall(body))
        table = Table(database, name, model or "DUPLICATE", keys, kinds, newest, defaults)
        unique = f", PRIMARY KEY ({', '.join(f'`{each}`' for each in keys)})" if table.model == "UNIQUE" else ""
        try:
            made = ", ".join(f"`{each}`{_stored(kind)}" for each, (kind, _) in kinds.items())
            self._base.execute(f"CREATE TABLE `{database}`.`{name}` ({made}{unique})")
        except sqlite3.Error:
            raise Refused(1049, f"errCode = 2, detailMessage = Unknown database '{database}'") from None
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
            LoadFailed: it cannot be.
        """
        with self.lock:
            for each in self.loads.values():
                if (each.database, each.label) == (database, label) and each.state != "ABORTED":
                    status = {"PREPARE": "RUNNING", "PRECOMMITTED": "PRECOMMITTED"}.get(each.state, "FINISHED")
                    said = f"errCode = 2, detailMessage = Label [{label}] has already been used, relate to txn [{each.number}]"
                    raise LoadFailed("Label Already Exists", f"[LABEL_ALREADY_EXISTS]{said}", status)
            if not _LABEL.fullmatch(label):
                raise LoadFailed("Fail", f"[INTERNAL_ERROR]errCode = 2, detailMessage = Label format error: {label}")
            if (database, table) not in self.tables:
                raise LoadFailed("Fail", f"[ANALYSIS_ERROR]errCode = 2, detailMessage = unknown table, tableName={table}")
            load = Load(next(self._numbers), database, table, label, [])
            self.loads[load.number] = load
            return load

    def fill(self, load: Load, body: bytes, columns: list[str], *, signed: bool) -> None:
        """Reads the rows of a load. Raises LoadFailed: some do not fit."""
        table = self.tables[load.database, load.table]
        bad: list[str] = []
        if unknown := [each for each in columns if each not in table.columns]:
            raise LoadFailed("Fail", f"[INTERNAL_ERROR]errCode = 2, detailMessage = Unknown column '{unknown[0]}' in {load.table}")
        for line in body.splitlines():
            row = json.loads(line)
            sign = row.pop(SIGN, 0) if signed else 0
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
            load.rows.append({**found, SIGN: int(sign)})
        keys = [tuple(row[each] for each in table.key) for row in load.rows] if table.model == "UNIQUE" else []
        assert len(set(keys)) == len(keys), "which of two rows of a key in one load stays is nowhere written"
        if bad:
            raise LoadFailed("Fail", f"[DATA_QUALITY_ERROR]too many filtered rows: {bad[0]}")

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
            if row.get(SIGN):
                same = " AND ".join(f"`{each}` IS ?" for each in table.key)
                self._base.execute(f"DELETE FROM {where} WHERE {same}", [row[each] for each in table.key])
                continue
            names = [each for each in row if each != SIGN]
            marks = ", ".join("?" * len(names))
            verb = "INSERT OR REPLACE" if table.model == "UNIQUE" else "INSERT"
            columns = ", ".join(f"`{each}`" for each in names)
            self._base.execute(f"{verb} INTO {where} ({columns}) VALUES ({marks})", [row[each] for each in names])
        self._base.execute("COMMIT")


def _stored(kind: str) -> str:
    """What SQLite is told of a column. Long numbers are texts there, in the order of numbers, and so are literals of such."""
    name = kind.partition("(")[0]
    return " TEXT COLLATE numbers" if name in ("largeint", "decimal") else " INT" if name in _WHOLE else ""


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
