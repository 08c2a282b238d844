"""Carries an import out, connector after connector. What was made stays: the same import goes on behind it."""

from collections.abc import Callable, Sequence
from urllib.parse import quote

from rocketconnect_cli.api import Api, ApiError, connector_path
from rocketconnect_cli.imports.plan import Step
from rocketconnect_cli.shown import STORED
from rocketconnect_cli.signed import author, signed


def checked(client: Api, steps: Sequence[Step], warnings: list[dict[str, str]], *, stored: bool) -> list[dict[str, str]]:
    """What an executor says of every configuration.

    Args:
        client: Asks.
        steps: Those whose plugins are here, and that are not here themselves.
        warnings: What it warns of is added here.
        stored: Their secrets are in the keystore; otherwise that they are not there yet is no problem.
    """
    problems = []
    for step in steps:
        body = {"name": step.name, "config": step.made.config}
        answer = client.request("POST", "/v1/connectors:validate", body=body, like={"problems": [{}]})
        warnings += [_of(step, each) for each in answer.get("warnings", [])]
        problems += [_of(step, each) for each in answer["problems"] if stored or each.get("key") not in step.made.secret_keys]
    return problems


def _of(step: Step, problem: dict[str, str]) -> dict[str, str]:
    return {**problem, "key": f"{step.name}: {problem.get('key') or 'configuration'}"}


def store_secrets(client: Api, steps: Sequence[Step]) -> list[str]:
    """Put the secrets of connectors into the keystore; return their names.

    Raises:
        ApiError: the first that failed, with those that were stored before it.
    """
    done: list[str] = []
    for name, value in ((name, value) for step in steps for name, value in step.made.secrets.items()):
        try:
            client.request("PUT", f"/v1/secrets/{quote(name, safe='')}", body={"value": value}, like={"secret": {"name": ""}})
        except ApiError as error:
            detail = (
                f"the secret {name}: {str(error).rstrip('.')}; no connector was made. "
                f"Secrets stored before: {', '.join(done) or 'none'}. The same command goes on from here."
            )
            raise ApiError(error.exit_code, {**error.problem, "detail": detail}) from None
        done.append(name)
    return done


def carry_out(client: Api, steps: Sequence[Step], reason: str, *, start: bool, tell: Callable[[str], None]) -> None:
    """Create the connectors STOPPED, set their positions, and start them.

    Args:
        client: Asks.
        steps: In their order; those that have gone on here are left alone.
        reason: For the history.
        start: Want them RUNNING when their positions are set.
        tell: Called with a line for people for each that is done.

    Raises:
        ApiError: the first that failed, with what was made before it, and what was not.
    """
    done: list[str] = []
    for step in steps:
        if step.goes_on:
            done.append(step.name)
            continue
        state = "nothing of it was made"
        try:
            path = connector_path(step.name)
            if not step.exists:
                body = {"name": step.name, "config": step.made.config, "wantedState": "WANTED_STATE_STOPPED", **signed(reason)}
                client.request("POST", "/v1/connectors", body=body, like=STORED)
                state = "it is made, STOPPED, without its positions"
            if step.positions and not step.is_there:
                moved = {"positions": step.positions, "author": author()}
                client.request("POST", f"{path}/positions:alter", body=moved, like={"changes": [{"partition": ""}]})
                state = "it is made, STOPPED, with its positions"
            if start:
                client.request("POST", f"{path}:resume", body=signed(reason), like=STORED)
        except ApiError as error:
            left = ", ".join(each.name for each in steps[len(done) + 1 :]) or "none"
            detail = (
                f"{step.name}: {str(error).rstrip('.')}; {state}. Done before: {', '.join(done) or 'none'}; not begun: {left}. "
                "The same command goes on from here."
            )
            raise ApiError(error.exit_code, {**error.problem, "detail": detail}) from None
        done.append(step.name)
        wanted = "RUNNING" if start else "as before" if step.exists else "STOPPED"
        tell(f"{step.name} is {'here' if step.exists else 'made'}, wanted {wanted}")
