"""The process of tests.servers.files.ftp: serves a folder, and says each command that comes."""

import json
import sys
from typing import Any

from pyftpdlib.authorizers import DummyAuthorizer
from pyftpdlib.handlers import FTPHandler, TLS_FTPHandler
from pyftpdlib.servers import FTPServer


def serve(folder: str, port: int, user: str, password: str, rights: str, without: list[str], certificate: str) -> None:
    """Until it is killed. See Ftp."""
    users = DummyAuthorizer()
    users.add_user(user, password, folder, perm=rights)
    kind: Any = TLS_FTPHandler if certificate else FTPHandler

    class Handler(kind):  # type: ignore[misc]  # one of two
        def pre_process_command(self, line: str, cmd: str, arg: str) -> None:
            sys.stdout.write(f"{cmd}\n")
            sys.stdout.flush()
            super().pre_process_command(line, cmd, arg)

    Handler.authorizer = users
    Handler.auth_failed_timeout = 0
    Handler.proto_cmds = {name: what for name, what in kind.proto_cmds.items() if name not in without}
    if certificate:
        Handler.certfile = certificate
        Handler.tls_control_required = Handler.tls_data_required = True
    FTPServer(("127.0.0.1", port), Handler).serve_forever(handle_exit=False)


if __name__ == "__main__":
    serve(*json.loads(sys.argv[1]))
