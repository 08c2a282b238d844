"""Schemas as keys."""

import os
import pickle
import subprocess
import sys

from rocketconnect_sdk.schema import STRING, Schema, Type, decimal, struct

ROW = struct([("id", Schema(Type.INT64, default=5)), ("price", decimal(2))], name="row")


def test_equal_schemas_are_one_key_and_others_are_not() -> None:
    again = struct([("id", Schema(Type.INT64, default=5)), ("price", decimal(2))], name="row")
    assert {ROW: 1}[again] == 1
    assert hash(ROW) == hash(again)
    assert {ROW: 1}.get(struct([("id", Schema(Type.INT64, default=6)), ("price", decimal(2))], name="row")) is None
    assert len({ROW, again, STRING}) == 2


def test_a_schema_that_was_sent_to_another_process_is_the_same_key_there() -> None:
    code = (
        "import pickle, sys; from rocketconnect_sdk.schema import *; sent = pickle.loads(bytes.fromhex(sys.argv[1])); "
        "made = struct([('id', Schema(Type.INT64, default=5)), ('price', decimal(2))], name='row'); "
        "print(sent == made, {sent: 'found'}.get(made))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "7"}
    done = subprocess.run(
        [sys.executable, "-c", code, pickle.dumps(ROW).hex()], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True found"
