"""`rocketconnect verify`: whether what a sink keeps is what its source has."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from rocketconnect_cli import durations
from rocketconnect_cli.api import Api, ApiError, Exit, connector_path
from rocketconnect_cli.names import completion
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, err, table_of, with_api, without_prefix
from rocketconnect_cli.shown import STORED
from rocketconnect_cli.tables.passage import SENDING_SECONDS, STALE_SECONDS, Passage, PipelineState, Step
from rocketconnect_cli.tables.pipeline import look
from rocketconnect_cli.tables.repair import conditions, deletions, send_again
from rocketconnect_cli.tables.settling import Suspects, row_of
from rocketconnect_sdk.wording.counts import counted

_KEYS = 1_000
"""Rows that are asked for at once."""
_LOOKS = 4
"""So often rows that differ are looked at within the time for which they must stay so."""
_PATIENCE = 6
"""So many times that time rows may go on changing before they are told as unsettled."""
_SENT = ("MISSING", "DIFFERENT")
"""What a row that is sent again can mend."""
_DELETED = "EXTRA"
"""What a deletion can mend."""
_LIKE = {"problems": [{}], "tables": [{}], "differences": [{}], "nextPageToken": "", "trouble": ""}


@with_api
def verify(
    connector: Annotated[str, typer.Argument(metavar="SOURCE", help="The source.", autocompletion=completion.connectors)],
    sink: Annotated[
        str,
        typer.Argument(
            metavar="SINK",
            help="The sink. Without it: the one that reads the topics of the source.",
            autocompletion=completion.connectors,
        ),
    ] = "",
    tables: Annotated[
        list[str] | None,
        typer.Option(
            "--table", "-t", metavar="TABLE", help="Only this table of the source; TABLE=TARGET: that is where its rows are kept."
        ),
    ] = None,
    wait: Annotated[
        float,
        durations.option(
            "A row is different when it has been so for so long and nobody changed it.", "--wait", least=0.1, default="10s"
        ),
    ] = 10.0,
    show: Annotated[int, typer.Option("--show", "-n", help="So many rows that differ are shown of each table.", min=0)] = 10,
    limit: Annotated[
        int, typer.Option(help="A table is compared until so many of its rows differ.", min=1, max=1_000_000)
    ] = 10_000,
    repair: Annotated[
        bool, typer.Option("--repair", help="Let the source send again what is missing or differs, and delete what it lacks.")
    ] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Compare the tables of a source with what its sink has made of them, row by row.

    Rows that are under way are no difference: what differs is looked at again until it is equal, or has stayed as it is. Exit
    code 1 when rows differ or not all could be compared, 6 when nothing is known to differ but rows are still changing.
    """
    with api(url) as client:
        run = _Run(client, connector, sink, _targets(tables or []), Suspects(wait))
        complete = run.compare(limit)
        run.settle(wait)
        if repair:
            run.repair(wait)
    document = run.document(show, complete=complete)
    emit(output, document, lambda: list(_shown(document)))
    if run.suspects.different or not complete:
        raise typer.Exit(int(Exit.FAILED))
    if len(run.suspects):
        raise typer.Exit(int(Exit.TIMEOUT))


def _targets(tables: Sequence[str]) -> dict[str, str]:
    return {table: target for table, _, target in (each.partition("=") for each in tables)}


class _Run:
    def __init__(self, client: Api, name: str, sink: str, targets: Mapping[str, str], suspects: Suspects) -> None:
        self._client = client
        self._path = f"{connector_path(name)}:verify"
        self._body = {"sink": sink, "tables": dict(targets)}
        self._name = name
        self._tables: dict[tuple[str, str], dict[str, Any]] = {}
        self._passage = Passage()
        self._standing: Mapping[str, str] = {}
        self.suspects = suspects
        self.repaired = 0
        """Rows that were sent again."""

    def compare(self, limit: int) -> bool:
        """All tables, once, each until so many of its rows differ; whether it came to the end of all."""
        token, complete, next_table = "", True, False
        err.print(f"{self._name}: comparing its tables with what its sinks have made of them", markup=False)
        while True:
            answer = self._ask(pageToken=token, **({"nextTable": True} if next_table else {}))
            self.suspects.add(answer["differences"], time.monotonic())
            for table in answer["tables"]:
                self._compared(table)
            token = answer["nextPageToken"]
            if not token:
                return complete
            next_table = self._enough(answer["tables"], limit)
            complete = complete and not next_table

    def _enough(self, tables: Sequence[Mapping[str, Any]], limit: int) -> bool:
        """Whether so many rows differ in the table in which an answer ended that the rest of it is left out."""
        place = next((_place(each) for each in tables if not each.get("done")), None)
        if place is None or self.suspects.of_table(*place) < limit:
            return False
        self._tables[place]["complete"] = False
        err.print(f"{place[0]}: too many rows differ; the rest of it is not compared (see --limit)", markup=False)
        return True

    def settle(self, wait: float) -> None:
        """PipelineState again at what differs until it is decided, or has changed for too long."""
        begun = time.monotonic()
        patience = wait * _PATIENCE + STALE_SECONDS + SENDING_SECONDS
        until, left = begun + patience, 0
        while len(self.suspects) and time.monotonic() <= until:
            passage, seen = self._look()
            if passage.passed < begun and passage.left != left:
                # It moves; how long that takes is no matter of rows that change again and again.
                until, left = time.monotonic() + patience, passage.left
            awaited = self._awaited(passage, seen, wait)
            err.print(f"{counted(self.suspects, 'row', 'differs', 'differ')}; {awaited}; looking again", markup=False)
            time.sleep(wait / _LOOKS)
            rows = self.suspects.rows
            for begin in range(0, len(rows), _KEYS):
                asked = rows[begin : begin + _KEYS]
                found = self._ask(keys=[{"table": table, "key": key} for table, _, key in asked])["differences"]
                self.suspects.look_again(asked, found, time.monotonic(), passage.passed)

    def _awaited(self, passage: Passage, seen: PipelineState, wait: float) -> str:
        """What has to come before it is decided which rows are different."""
        if passage.passed >= self.suspects.newest:
            return f"a row counts as different after it has stayed so for {wait:g} s"
        behind = f"{counted(passage.left, 'message', 'is', 'are')} not in the sink yet" if passage.left else ""
        if passage.step is Step.READING:
            left = f" ({seen.unread} left)" if seen.unread else ""
            return "; ".join(filter(None, (behind, f"{self._name} has not read all of its source yet{left}")))
        return behind or f"what {self._name} has read may not be in its topics yet"

    def _look(self) -> tuple[Passage, PipelineState]:
        """At how far the rows have come through that were in the source when they were compared."""
        seen = look(self._client, self._name, {sink for _, sink in self._tables})
        if seen.standing and seen.standing != self._standing:
            states = ", ".join(f"{name} is {state}" for name, state in sorted(seen.standing.items()))
            err.print(f"{states}: what has not come through yet counts as a difference", markup=False)
        self._standing = seen.standing
        self._passage.look(seen)
        return self._passage, seen

    def repair(self, wait: float) -> None:
        """Let the source send again what differs, and look at it again. What it does not send stays different."""
        rows = sorted((each for each in self.suspects.different if _kind(each) in _SENT), key=row_of)
        extra = sorted((each for each in self.suspects.different if _kind(each) == _DELETED), key=row_of)
        deletes = {sink: self._deletes(sink) for sink in {row_of(each)[1] for each in extra}}
        stay = [each for each in extra if not deletes[row_of(each)[1]]]
        if stay:
            unmoved = counted(stay, "row", "that only the sink has stays", "that only the sink has stay")
            err.print(f"{unmoved} there: its delete.enabled is not true", markup=False)
        extra = [each for each in extra if deletes[row_of(each)[1]]]
        (wanted, left), (gone, others) = conditions(rows), deletions(extra)
        wanted, left, rows = [*wanted, *gone], [*left, *others], [*rows, *extra]
        if left:
            told = "can't be sent again: the source sends no rows by a condition, or a key is too long for one"
            err.print(f"{counted(left, 'row')} {told}", markup=False)
        if wanted:
            send_again(self._client, self._name, wanted, _PATIENCE * wait, lambda text: err.print(text, markup=False))
            kept = {row_of(each) for each in left}
            again = [each for each in rows if row_of(each) not in kept]
            sent = {row_of(each) for each in again}
            self.repaired = len(sent)
            self.suspects.different[:] = [each for each in self.suspects.different if row_of(each) not in sent]
            self.suspects.add(again, time.monotonic())
            self.settle(wait)

    def _deletes(self, sink: str) -> bool:
        """Whether a sink deletes rows."""
        found = self._client.request("GET", connector_path(sink), like=STORED)["connector"]
        return str(found["config"].get("delete.enabled", "")).lower() == "true"

    def document(self, show: int, *, complete: bool) -> dict[str, Any]:
        """What is printed."""
        kinds = Counter((row[:2], _kind(each)) for each in self.suspects.different for row in [row_of(each)])
        shown: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
        for each in sorted(self.suspects.different, key=row_of):
            of = shown.setdefault(row_of(each)[:2], [])
            if len(of) < show:
                of.append({"key": each.get("key", ""), "kind": _kind(each), "about": each.get("about", "")})
        unsettled = Counter(row[:2] for row in self.suspects.rows)
        for place, table in self._tables.items():
            counts = {kind.lower(): kinds[place, kind] for kind in ("MISSING", "EXTRA", "DIFFERENT", "REFUSED")}
            table.update(counts, unsettled=unsettled[place], differences=shown.get(place, []))
        tables = list(self._tables.values())
        return {"connector": self._name, "complete": complete, "sentAgain": self.repaired, "tables": tables}

    def _ask(self, **more: object) -> dict[str, Any]:
        answer = self._client.request("POST", self._path, body={**self._body, **more}, like=_LIKE)
        if answer["problems"]:
            raise ApiError(Exit.WRONG, {"detail": "nothing can be compared", "problems": answer["problems"]})
        if answer["trouble"]:
            raise ApiError(Exit.UNAVAILABLE, {"detail": f"the comparison could not go on: {answer['trouble']}"})
        return answer

    def _compared(self, found: Mapping[str, Any]) -> None:
        place = _place(found)
        table = self._tables.setdefault(
            place,
            {
                "table": place[0],
                "sink": place[1],
                "target": found.get("target", ""),
                "rows": 0,
                "complete": True,
                "leftOut": found.get("leftOut", []),
            },
        )
        table["rows"] += int(found.get("rows", 0))
        err.print(f"{place[0]}: {counted(table['rows'], 'row')}{'' if found.get('done') else ', going on'}", markup=False)


def _place(compared: Mapping[str, Any]) -> tuple[str, str]:
    """The table that was compared, and the sink."""
    return compared.get("table", ""), compared.get("sink", "")


def _kind(difference: Mapping[str, Any]) -> str:
    return without_prefix(difference.get("kind"), "DIFFERENCE_KIND_")


def _shown(document: Mapping[str, Any]) -> Iterator[Table | str]:
    columns = ("TABLE", "SINK", "TARGET", "ROWS", "MISSING", "EXTRA", "DIFFERENT", "REFUSED", "UNSETTLED")
    yield table_of(columns, ([table[column.lower()] for column in columns] for table in document["tables"]))
    for table in document["tables"]:
        for column in table["leftOut"]:
            yield f"{table['table']}: not compared: {column}"
        if not table["complete"]:
            yield f"{table['table']}: not compared to its end, as too many rows differ; there may be more. See --limit."
        for each in table["differences"]:
            about = f": {each['about']}" if each["about"] else ""
            yield f"{table['table']} {each['key']} {each['kind']}{about}"
    if document["sentAgain"]:
        yield f"{counted(document['sentAgain'], 'row', 'was', 'were')} sent again."
