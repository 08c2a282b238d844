"""Answers what address a name has, as Docker does for the containers of one network: all of them, in any order.

`python -m tests.deploy.containers.names ADDRESS FILE`, where the file is JSON of lists of IPv4 addresses by name, and may
change. Serves port 53 of the address until it is killed. Other names do not exist.
"""

import json
import random
import socket
import struct
import sys
from pathlib import Path

_HEADER = struct.Struct("!6H")
_ANSWER_FLAGS = 0x8180
_NO_SUCH_NAME = 3
_A, _IN = 1, 1
_ASKED = 12


def answer(query: bytes, known: dict[str, list[str]]) -> bytes:
    """The answer to a query of DNS that has one question."""
    number = struct.unpack_from("!H", query)[0]
    labels, at = [], _ASKED
    while length := query[at]:
        labels.append(query[at + 1 : at + 1 + length].decode("ascii", "replace"))
        at += 1 + length
    kind = struct.unpack_from("!H", query, at + 1)[0]
    addresses = known.get(".".join(labels).lower())
    given = random.sample(addresses, len(addresses)) if addresses and kind == _A else []
    code = 0 if addresses is not None else _NO_SUCH_NAME
    # A pointer to the name asked for, an address of the Internet, not to be kept.
    records = [struct.pack("!HHHIH", 0xC000 | _ASKED, _A, _IN, 0, 4) + socket.inet_aton(each) for each in given]
    return _HEADER.pack(number, _ANSWER_FLAGS | code, 1, len(records), 0, 0) + query[_ASKED : at + 5] + b"".join(records)


def main() -> None:
    """Serve."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    listening.bind((sys.argv[1], 53))
    while True:
        query, asker = listening.recvfrom(4096)
        listening.sendto(answer(query, json.loads(Path(sys.argv[2]).read_text(encoding="utf-8"))), asker)


if __name__ == "__main__":
    main()
