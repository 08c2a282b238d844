"""`rocketconnect cluster` and `rocketconnect plugins`."""

from typing import Annotated, Any

import typer
from rich.table import Table
from typer.core import TyperGroup

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, table_of, with_api, without_prefix


class _ListByDefault(TyperGroup):
    """A group that takes its flags without a command as those of `list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `list` in front where no command and no call for help stands there."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


plugins = typer.Typer(cls=_ListByDefault, help="The connectors, converters and transforms that executors offer.")


@with_api
def cluster(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Show the workers, and who holds which task."""
    with api(url) as client:
        workers = list(client.pages("/v1/workers", "workers", {"workerId": ""}))
        assignments = list(client.pages("/v1/assignments", "assignments", {"connector": ""}))

    def table() -> Table:
        held: dict[str, list[str]] = {}
        for item in assignments:
            task = "plan" if item.get("task", 0) < 0 else item.get("task", 0)
            held.setdefault(item.get("workerId", ""), []).append(f"{item['connector']}/{task}")
        rows = [
            (
                worker["workerId"],
                worker.get("address", ""),
                "alive" if worker.get("alive") else "gone",
                ", ".join(sorted(held.pop(worker["workerId"], []))),
            )
            for worker in workers
        ]
        orphans = [("-", "", "nobody", ", ".join(sorted(tasks))) for tasks in held.values()]
        return table_of(("WORKER", "ADDRESS", "LEASE", "TASKS"), rows + orphans)

    emit(output, {"workers": workers, "assignments": assignments}, table)


@plugins.command(name="list")
@with_api
def list_plugins(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """List what can be written into connector.class, key.converter and value.converter."""
    with api(url) as client:
        rows = list(client.pages("/v1/plugins", "plugins", {"name": ""}))
    cells = ((row["name"], _type(row), row.get("version", ""), row.get("guarantee", ""), row.get("summary", "")) for row in rows)
    emit(output, {"plugins": rows}, lambda: table_of(("NAME", "TYPE", "VERSION", "DELIVERY", "WHAT IT DOES"), cells))


@plugins.command()
@with_api
def show(
    name: Annotated[str, typer.Argument(help="Its name or an alias.")], url: UrlOption = URL, output: OutputOption = Output.TABLE
) -> None:
    """Show a plugin's options with their defaults."""
    with api(url) as client:
        found = [
            row
            for row in client.pages("/v1/plugins", "plugins", {"name": ""})
            if name == row["name"] or name in row.get("aliases", [])
        ]
    if not found:
        raise ApiError(Exit.NOT_FOUND, {"detail": f"no executor offers a plugin {name}. See `rocketconnect plugins list`."})
    plugin = found[0]
    emit(output, plugin, lambda: table_of(("OPTION", "TYPE", "DEFAULT", "WHAT IT DOES"), map(_option, plugin.get("options", []))))


@plugins.command()
@with_api
def reload(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Let every executor look for plugins again."""
    with api(url) as client:
        answer = client.request("POST", "/v1/plugins:reload", body={}, like={"workers": [""]})
    emit(output, answer, lambda: f"reloaded by {', '.join(answer['workers']) or 'nobody'}")


def _type(plugin: dict[str, Any]) -> str:
    return without_prefix(plugin.get("type"), "PLUGIN_TYPE_").lower()


def _option(option: dict[str, Any]) -> tuple[str, str, str, str]:
    kind = option.get("type", "") + (" (secret)" if option.get("secret") else "")
    default = "required" if option.get("required") else option.get("defaultValue", "")
    choices = f" One of {', '.join(option['choices'])}." if option.get("choices") else ""
    return option["key"], kind, default, option.get("documentation", "") + choices
