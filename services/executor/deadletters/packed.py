"""Packed messages among dead letters: their rows for people, and other values for them. Asked in a fresh host process."""

from google.protobuf.timestamp_pb2 import Timestamp
from rocketconnect.deadletter.v1 import deadletter_service_pb2 as pb

from rocketconnect_kit.errors import FieldProblem, InvalidArgument, Unavailable
from rocketconnect_sdk.columns.stream import may_be_packed
from services.executor.contract.answers import ReadRow, RowsChanged, RowsRead
from services.executor.contract.questions import ChangeRows, ReadRows
from services.executor.hosts.fresh import FreshHosts, PluginCrashed, PluginLate

_OF_TIME = 0.5
"""The part of the time of a request in which a host may answer; the rest is for what is done besides."""

_NO_ROWS = "its body is no packed message, and so it has no rows"


class PackedLetters:
    """Asks.

    Args:
        fresh: Where questions are answered.
        seconds: How long an answer may take.
    """

    def __init__(self, fresh: FreshHosts, seconds: float) -> None:
        self._fresh = fresh
        self._seconds = seconds

    async def read(self, body: bytes, left: float | None) -> pb.PackedRows | None:
        """What a body has; None: it is no packed message.

        Args:
            body: Of a letter.
            left: Seconds that the caller waits; None: it does not say.
        """
        if not may_be_packed(body):
            return None
        try:
            answer = await self._fresh.ask(ReadRows(body), self._within(left), "rows of a dead letter")
        except (PluginLate, PluginCrashed) as error:
            return pb.PackedRows(problem=str(error))
        if not isinstance(answer, RowsRead):
            return pb.PackedRows(problem="the host process answered another question")
        columns = [pb.RowColumn(name=name, type=kind) for name, kind in answer.columns]
        return pb.PackedRows(columns=columns, rows=map(_row, answer.rows), count=answer.count, problem=answer.problem)

    async def changed(self, body: bytes, rows: str, left: float | None) -> bytes:
        """The body with other values in its rows; see EditDeadLetterRequest of the proto.

        Raises:
            InvalidArgument: DEAD_LETTERS_INVALID: there are no rows, or these are none for them.
            Unavailable: DEAD_LETTERS_NOT_CHECKED: nobody has made one.
        """
        if not may_be_packed(body):
            raise _invalid(_NO_ROWS, "give a body")
        try:
            answer = await self._fresh.ask(ChangeRows(body, rows), self._within(left), "rows of a dead letter")
        except (PluginLate, PluginCrashed) as error:
            message = f"the rows could not be packed: {error}; nothing is stored: try again"
            raise Unavailable("DEAD_LETTERS_NOT_CHECKED", message) from error
        if not isinstance(answer, RowsChanged):
            raise Unavailable(
                "DEAD_LETTERS_NOT_CHECKED", "the host process answered another question; nothing is stored: try again"
            )
        if answer.problem:
            raise _invalid(answer.problem, "write it as `rocketconnect dlq show` has it: types and keys stay as they are")
        return answer.body

    def _within(self, left: float | None) -> float:
        return self._seconds if left is None else min(self._seconds, left * _OF_TIME)


def _row(row: ReadRow) -> pb.PackedRow:
    shown = pb.PackedRow(value=row.value, problem=row.problem, key=row.key, headers=row.headers)
    if row.time_ms is not None:
        moment = Timestamp()
        moment.FromMilliseconds(row.time_ms)
        shown.event_time.CopyFrom(moment)
    return shown


def _invalid(reason: str, fix: str) -> InvalidArgument:
    problem = FieldProblem("rows", "", reason, fix)
    return InvalidArgument("DEAD_LETTERS_INVALID", str(problem), [problem])
