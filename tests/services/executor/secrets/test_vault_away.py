"""A task whose secret is in a Vault that does not answer."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests import free_ports
from tests.servers import openbao
from tests.services.executor.secrets.providers.answering import TOKEN, answering, as_vault

Executor = Any
Plane = Any


def test_a_task_waits_for_vault_and_goes_on_when_it_answers(
    start_executor: Callable[..., Executor], plane: Plane, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    port = free_ports.choose()
    start_executor(vault_address=f"http://127.0.0.1:{port}", vault_token_file=str(tmp_path / "token"), vault_paths="secret/team")
    plane.wait_for(lambda: plane.registrations)
    plane.assign("a", password="${vault:secret/team/db:password}", shout="true")
    plane.wait_for(lambda: plane.state("a") == "WAITING")
    assert plane.trace("a") == f"looking up secrets: Vault at http://127.0.0.1:{port} cannot be reached: Connection refused"
    with answering(as_vault({"secret/team/db": {"password": "pw-of-vault"}}), port=port):
        plane.wait_for(lambda: "the password *** is wrong" in plane.trace("a"))
    assert not [line for line in plane.logs if "pw-of-vault" in line]


@pytest.mark.slow
def test_a_task_waits_for_a_real_server_that_is_sealed(
    start_executor: Callable[..., Executor], plane: Plane, tmp_path: Path
) -> None:
    with openbao.running(tmp_path) as server:
        server.call("POST", "secret/data/team/db", {"data": {"password": "pw-of-vault"}})
        (tmp_path / "token").write_text(server.root)
        server.seal()
        start_executor(
            vault_address=server.address,
            vault_token_file=str(tmp_path / "token"),
            vault_ca=str(server.ca),
            vault_paths="secret/team",
        )
        plane.wait_for(lambda: plane.registrations)
        plane.assign("a", password="${vault:secret/team/db:password}", shout="true")
        plane.wait_for(lambda: plane.state("a") == "WAITING")
        assert plane.trace("a") == f"looking up secrets: Vault at {server.address} can't answer now (503, it is sealed or starting)"
        server.unseal()
        plane.wait_for(lambda: "the password *** is wrong" in plane.trace("a"))
    assert not [line for line in plane.logs if "pw-of-vault" in line]
