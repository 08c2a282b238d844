"""What of the executor's environment host processes get."""

from pathlib import Path

import pytest

from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS, READER_HOSTS
from rocketconnect_sdk.permissions.roots import READ_ROOTS, WRITE_ROOTS
from services.executor.environment import FOLDERS, VARIABLES, folders, of_hosts, of_readers


def test_hosts_get_what_programs_need_and_what_connectors_may_ask_for_and_nothing_else() -> None:
    mine = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "PYTHONPATH": "/here",
        "SPARK_LOCAL_IP": "127.0.0.1",
        "DB_PASSWORD": "a",
        "AWS_SECRET_ACCESS_KEY": "b",
        "ROCKETCONNECT_ROCKETMQ_SECRET_KEY": "c",
    }
    needed = {key: mine[key] for key in ("PATH", "LC_ALL", "PYTHONPATH", "SPARK_LOCAL_IP")}
    nothing = {VARIABLES: "", FOLDERS: "", READ_ROOTS: "", WRITE_ROOTS: ""}
    assert of_hosts(mine, nothing) == needed | nothing
    told = {VARIABLES: "DB_*", FOLDERS: "/run/secrets", READ_ROOTS: "/in", WRITE_ROOTS: "/out"}
    assert of_hosts(mine, told) == {**needed, "DB_PASSWORD": "a", **told}
    assert (
        of_hosts(mine, nothing | {VARIABLES: "*", FOLDERS: "/"}).keys()
        == mine.keys() - {"ROCKETCONNECT_ROCKETMQ_SECRET_KEY"} | nothing.keys()
    )


def test_who_may_only_read_is_answered_without_any_secret_and_any_way_to_one() -> None:
    of_host = {
        "PATH": "/bin",
        "DB_PASSWORD": "a",
        VARIABLES: "*",
        FOLDERS: "/",
        READ_ROOTS: "/",
        WRITE_ROOTS: "/",
        CONNECTOR_HOSTS: "*",
        "ROCKETCONNECT_VAULT_ADDRESS": "https://vault:8200",
        "ROCKETCONNECT_KEYSTORE_KEYS": "/keys",
        "ROCKETCONNECT_TOKEN_FILE": "/token",
    }
    nothing = {VARIABLES: "", FOLDERS: "", READ_ROOTS: "", WRITE_ROOTS: ""}
    assert of_readers(of_host, "registry") == {"PATH": "/bin", CONNECTOR_HOSTS: "registry", READER_HOSTS: "registry", **nothing}


def test_folders_are_absolute_paths() -> None:
    assert folders("/a: /b:") == [Path("/a"), Path("/b")]
    with pytest.raises(ValueError, match="secrets is no absolute path"):
        folders("/a:secrets")
