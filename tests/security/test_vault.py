"""Attacks on Vault by who may write a configuration: each is carried out against a real executor, and gets nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rocketconnect.executor.v1 import executor_service_pb2 as pb

from tests.security.environments import environments
from tests.services.executor.secrets.providers.answering import TOKEN, Answer, Request, answering, as_vault

Executor = Any
Plane = Any
Start = Callable[..., Executor]
ALLOWED, HIDDEN = "value-of-the-team", "value-of-another-team"


def everything(request: Request) -> Answer:
    """A Vault whose policy lets the executor read more than its operator wants connectors to."""
    stored = {"secret/team/db": {"password": ALLOWED}, "secret/team/other/db": {"password": HIDDEN}}
    target = request.target.replace("/secret/data/other/", "/secret/data/team/other/")
    return as_vault(stored)(Request(target, request.headers))


def test_a_configuration_gets_what_the_operator_allows_and_shows_nothing_of_it(
    start_executor: Start, plane: Plane, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    outside = (
        "secret/other/db",
        "secret/team/../other/db",
        "secret/team/db/../../other/db",
        "secret/teams/db",
        "secret/data/other/db",
        "sys/policies/acl/root",
        "auth/token/lookup-self",
    )
    with answering(everything) as vault:
        executor = start_executor(
            vault_address=vault.address, vault_token_file=str(tmp_path / "token"), vault_paths="secret/team/db"
        )
        plane.wait_for(lambda: plane.registrations)
        plane.assign("allowed", password="${vault:secret/team/db:password}", shout="true")
        for number, path in enumerate(outside):
            plane.assign(f"outside-{number}", password=f"${{vault:{path}:password}}", shout="true")
        plane.wait_for(lambda: len(plane.releases) == len(outside) + 1)
        assert "the password *** is wrong" in plane.trace("allowed")
        for number in range(len(outside)):
            assert "stands for a path of Vault that this executor lets no connector read" in plane.trace(f"outside-{number}")
        assert {request.target for request in vault.requests} == {"/v1/secret/data/team/db"}
        told = "\n".join((executor.log, *plane.logs, *(report.trace for report in plane.reports.values())))
        assert not [secret for secret in (ALLOWED, HIDDEN, TOKEN) if secret in told]


def test_the_token_is_in_no_environment_and_no_configuration_reads_it(start_executor: Start, plane: Plane, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(f"key={TOKEN}")
    with answering(everything) as vault:
        executor = start_executor(
            vault_address=vault.address,
            vault_token_file=str(token),
            vault_paths="secret/team",
            secret_folders="/",
            secret_variables="*",
        )
        plane.wait_for(lambda: plane.registrations)
        references = (f"${{file:{token}:key}}", f"${{file:/proc/self/root{token}:key}}", "${env:ROCKETCONNECT_VAULT_TOKEN_FILE}")
        for number, reference in enumerate(references):
            plane.assign(f"a{number}", password=reference, shout="true")
        plane.wait_for(lambda: len(plane.releases) == len(references))
        for number in range(len(references)):
            assert "lets no connector read" in plane.trace(f"a{number}")
        seen = environments(executor.started)
        assert len(seen) > 1
        assert not [pid for pid, text in seen.items() if TOKEN in text]


@pytest.mark.slow
def test_a_configuration_says_neither_which_vault_is_asked_nor_with_which_token(
    start_executor: Start, plane: Plane, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text(TOKEN)
    with answering(everything) as theirs, answering(everything) as vault:
        executor = start_executor(vault_address=vault.address, vault_token_file=str(tmp_path / "token"), vault_paths="secret/team")
        plane.wait_for(lambda: plane.registrations)
        given = {"connector.class": "monitorable_source", "topic": "t", "password": "${vault:secret/team/db:password}"}
        given |= {"vault.address": theirs.address, "vault_address": theirs.address, "ROCKETCONNECT_VAULT_ADDRESS": theirs.address}
        answer = executor.stub().ValidateConnector(pb.ValidateConnectorRequest(name="x", config=given), timeout=60)
        assert {"vault.address", "vault_address", "ROCKETCONNECT_VAULT_ADDRESS"} <= {one.key for one in answer.problems}
        assert ALLOWED not in str(answer)
        assert theirs.requests == []
