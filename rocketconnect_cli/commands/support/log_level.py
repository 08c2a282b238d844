"""The command `rocketconnect log-level`: what processes log, while they run."""

from typing import Annotated, Any
from urllib.parse import quote

import typer

from rocketconnect_cli import durations
from rocketconnect_cli.api import ApiError, Exit, checked_name
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, table_of, with_api, without_prefix
from rocketconnect_cli.shown import local_time

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")
RESET = "RESET"
_LEVEL = "LOG_LEVEL_"
_PROCESS = {"service": ""}


@with_api
def log_level(
    logger: Annotated[
        str,
        typer.Argument(metavar="LOGGER", help="root for all, or a module: services.config, rocketconnect.task. None: list all."),
    ] = "",
    level: Annotated[str, typer.Argument(metavar="LEVEL", help="DEBUG, INFO, WARNING, ERROR; RESET: as at the start.")] = "",
    service: Annotated[str, typer.Option(help="Only this service: config, position, state, cluster, executor, gateway.")] = "",
    worker: Annotated[str, typer.Option(help="Only this executor, with the processes of its tasks.")] = "",
    connector: Annotated[str, typer.Option(help="Only what tasks of this connector say.")] = "",
    lasts: Annotated[float, durations.option("For so long; without it until the process ends.", name="--for")] = 0.0,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """List the levels of loggers, or set one in running services, executors and the processes of their tasks.

    A restart forgets it. Exit code 1 when a process could not be told or asked.
    """
    with api(url) as client:
        if not logger:
            asked: dict[str, str | int] = {"service": service, "workerId": worker}
            answer = client.request("GET", "/v1/loggers", query=asked, like={"processes": [_PROCESS]})
        else:
            path = f"/v1/loggers/{quote(checked_name(logger, 'a logger'), safe='')}"
            body: dict[str, Any] = {"service": service, "workerId": worker, "connector": connector, **_meant(level)}
            if lasts:
                body["lasts"] = f"{lasts:g}s"
            answer = client.request("PUT", path, body=body, like={"processes": [_PROCESS]})
    processes = answer["processes"]
    columns = ("SERVICE", "WORKER", "LOGGER", "LEVEL", "CONNECTOR", "UNTIL")
    emit(output, answer, lambda: table_of(columns, (row for each in processes for row in _rows(each))))
    if silent := [each for each in processes if each.get("problem")]:
        said = "; ".join(f"{each.get('workerId') or each['service']}: {each['problem']}" for each in silent)
        raise ApiError(Exit.FAILED, {"detail": f"not all have answered: {said}"})


def _meant(level: str) -> dict[str, str]:
    if level.upper() == RESET:
        return {}
    if level.upper() not in LEVELS:
        raise ApiError(Exit.WRONG, {"detail": f"{level!r} is no level: give {', '.join(LEVELS)}, or {RESET}"})
    return {"level": f"{_LEVEL}{level.upper()}"}


def _rows(process: dict[str, Any]) -> list[tuple[object, ...]]:
    who = process["service"], process.get("workerId") or "-"
    return [
        (
            *who,
            each.get("logger", ""),
            without_prefix(each.get("level"), _LEVEL),
            each.get("connector") or "-",
            local_time(each.get("until", "")),
        )
        for each in process.get("levels", [])
    ]
