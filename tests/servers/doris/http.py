"""How the stand-in for Doris speaks HTTP: loads, their transactions and states, as frontend and as backend."""

import base64
import json
import re
from contextlib import suppress
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.servers.doris.cluster import SIGN, USER, Cluster, LoadFailed


class Http(BaseHTTPRequestHandler):
    """What is asked of one part of it, "fe" or "be"."""

    doris: Cluster
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
        signed = self.headers.get("hidden_columns") == SIGN
        for key in ("two_phase_commit", "read_json_by_line", "strict_mode"):
            assert self.headers[key] == "true"
        try:
            load = self.doris.begin(database, table, label)
        except LoadFailed as error:
            answer |= {"Status": error.status, "ExistingJobStatus": error.existing, "Message": str(error)}
            return
        try:
            self.doris.fill(load, body, [each for each in columns if each != SIGN], signed=signed)
        except LoadFailed as error:
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
