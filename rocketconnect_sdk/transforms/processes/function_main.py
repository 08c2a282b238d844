"""The process in which a function of a user runs: `python -m rocketconnect_sdk.transforms.processes.function_main FD PARENT`.

See function_process, which begins it.
"""

import pickle
import sys
import time
import traceback
from multiprocessing.connection import Connection

from rocketconnect_sdk.errors import PermanentError, RetriableError, SystemAway
from rocketconnect_sdk.transforms.base import Record
from rocketconnect_sdk.transforms.processes.child import serve
from rocketconnect_sdk.transforms.processes.function import BETWEEN_SECONDS, Answer, Failed, Function, Order, load

_NOT_PLAIN = (TypeError, AttributeError, ValueError, RecursionError, pickle.PickleError)


def _failed(error: Exception) -> Failed:
    frames = traceback.extract_tb(error.__traceback__)[1:]
    where = f"{frames[-1].filename}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else ""
    known = [kind for kind in (SystemAway, RetriableError, PermanentError) if isinstance(error, kind)]
    name = (known[0] if known else type(error)).__name__
    return Failed(name, str(error), where, getattr(error, "wait", None))


def _answer(function: Function, record: Record) -> Answer:
    try:
        changed = function(record)
    except Exception as error:  # whatever it does costs this record
        return _failed(error)
    if changed is None or isinstance(changed, Record):
        return changed
    return Failed("TypeError", f"the function gave {type(changed).__name__} instead of a Record or None", "")


def _answers(socket: Connection) -> None:
    try:
        function = load(socket.recv())
    except ValueError as error:
        socket.send(str(error))
        return
    socket.send("")
    while True:
        order: Order = socket.recv()
        answers: list[Answer] = []
        sent_at = time.monotonic()
        for record in order.records:
            answers.append(_answer(function, record))
            if order.careful or time.monotonic() - sent_at >= BETWEEN_SECONDS:
                _send(socket, answers)
                answers, sent_at = [], time.monotonic()
        if answers:
            _send(socket, answers)


def _send(socket: Connection, answers: list[Answer]) -> None:
    try:
        socket.send(answers)
    except _NOT_PLAIN:
        # One of them holds what can't be told to another process.
        socket.send([_plain(answer) for answer in answers])


def _plain(answer: Answer) -> Answer:
    try:
        pickle.dumps(answer)
    except _NOT_PLAIN as error:
        return Failed("TypeError", f"the function gave a record with a value that is no plain one: {error}", "")
    return answer


if __name__ == "__main__":
    sys.exit(serve(_answers))
