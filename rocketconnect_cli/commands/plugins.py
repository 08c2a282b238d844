"""`rocketconnect plugins`."""

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.table import Table

from rocketconnect_cli.api import ApiError, Exit
from rocketconnect_cli.documents import examples
from rocketconnect_cli.kafka_plugins import installing as kafka_plugins
from rocketconnect_cli.kafka_plugins.errors import PluginRefused
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.names import completion
from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, err, out, table_of, with_api, without_prefix
from rocketconnect_kit.java.errors import JarsUnavailable, JavaMissing
from rocketconnect_kit.java.jars import listed
from rocketconnect_sdk.errors import ConfigError
from rocketconnect_sdk.plugins.kafka import installed
from rocketconnect_sdk.spark.needs import NOTHING


class _ListByDefault(Commands):
    """A group that takes its flags without a command as those of `list`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts `list` in front where no command and no call for help stands there."""
        if not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names):
            args = ["list", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(cls=_ListByDefault, help="The connectors, converters, transforms and predicates that executors offer.")

FolderOption = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        metavar="FOLDER",
        help="Where plugins of Kafka Connect are; else what ROCKETCONNECT_KAFKA_PLUGINS names, else a folder of this user.",
    ),
]

_GROUPS = {
    "": "",
    "source": "Of every source:",
    "sink": "Of every sink:",
    "converters": "Of every source and every sink:",
    "common": "Of all of its type:",
}
"""The headings of options, by whose they are, in their order."""

_LEAST = 3
"""Characters of a name that say something."""

_WRITTEN_AS = {
    "source": "connector.class={}",
    "sink": "connector.class={}",
    "direct": "connector.class={}, and the options of its source and its sink behind source. and sink.",
    "converter": "value.converter={}, its options behind value.converter.",
    "transform": "transforms=NAME and transforms.NAME.type={}, its options behind transforms.NAME.",
    "predicate": "predicates=NAME and predicates.NAME.type={}, its options behind predicates.NAME.",
}


@app.command(name="list")
@with_api
def list_plugins(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """List what there is, with versions: connectors, converters, transforms and predicates."""
    with api(url) as client:
        rows = list(client.pages("/v1/plugins", "plugins", {"name": ""}))
    facts = ("version", "guarantee", "summary")
    cells = ((row["name"], kind_of(row), *(row.get(fact) or "-" for fact in facts)) for row in rows)
    emit(output, {"plugins": rows}, lambda: table_of(("NAME", "TYPE", "VERSION", "DELIVERY", "WHAT IT DOES"), cells))


@app.command()
@with_api
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Its name or an alias.", autocompletion=completion.plugins)],
    example: Annotated[
        bool, typer.Option("--example", help="Print a configuration that has it, as `rocketconnect apply` takes it.")
    ] = False,
    url: UrlOption = URL,
    output: OutputOption = Output.TABLE,
) -> None:
    """Show what a plugin does, how a configuration names it, and its options with their defaults."""
    with api(url) as client:
        rows = list(client.pages("/v1/plugins", "plugins", {"name": ""}))
    found = [row for row in rows if name == row["name"] or name in row.get("aliases", [])]
    if not found:
        near = nearest(name, rows)
        meant = f"Did you mean {' or '.join(near)}?" if near else "See `rocketconnect plugins list`."
        raise ApiError(Exit.NOT_FOUND, {"detail": f"no executor offers a plugin {name}. {meant}"})
    plugin = found[0]
    if example:
        made, called = examples.settings(plugin, kind_of(plugin), rows), examples.name_of(plugin)
        emit(output, examples.as_document(called, made), lambda: examples.as_yaml(called, plugin["name"], made))
        return
    emit(output, plugin, lambda: ["\n".join(_head(plugin)), *_options(plugin), *_signals(plugin)])


@app.command()
@with_api
def reload(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Let every executor look for plugins again; tasks that run keep what they began with until they are restarted."""
    with api(url) as client:
        answer = client.request("POST", "/v1/plugins:reload", body={}, like={"workers": [""]})
    emit(output, answer, lambda: f"reloaded by {', '.join(answer['workers']) or 'nobody'}")


@app.command()
def install(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="A connector of this installation, or an alias; GROUP:ARTIFACT:VERSION or the path of a .zip, .tar.gz, .jar or "
            "folder: a plugin of Kafka Connect or RocketMQ Connect.",
            autocompletion=completion.plugins,
        ),
    ],
    folder: FolderOption = None,
) -> None:
    """Fetch what a connector needs beyond Spark itself into the cache of this machine and user; or a plugin in Java.

    Asks no service: run it where executors run, as their user, or while an image is made. A plugin of Kafka Connect or RocketMQ
    Connect is offered by executors that are started with --kafka-plugins FOLDER, after `rocketconnect plugins reload`. Exit code 2
    when there is no such connector, or it is no plugin, 5 when something can't be fetched.
    """
    if kafka_plugins.is_kafka(name):
        return _install_kafka(name, folder or kafka_plugins.folder_of())
    from rocketconnect_cli.embedded.download import show_download
    from rocketconnect_sdk.columns.sinks import DataFrameSink
    from rocketconnect_sdk.plugins.loader import find

    try:
        connector = find(name)
    except ConfigError as error:
        (problem,) = error.problems
        _end(Exit.WRONG, f"{name} {problem.reason}. {problem.fix}")
    needs = connector.needs if isinstance(connector, DataFrameSink) else NOTHING
    if not needs.jars:
        return out.print(f"{connector.name} needs nothing that is not installed.", markup=False, soft_wrap=True)
    try:
        fetched = show_download(err, listed(needs.title, Path(needs.jars)))
    except (JarsUnavailable, JavaMissing) as error:
        _end(Exit.UNAVAILABLE, str(error))
    return out.print(f"{needs.title} is in {fetched}", markup=False, soft_wrap=True)


def _install_kafka(given: str, folder: Path) -> None:
    from rocketconnect_cli.embedded.download import show_download

    try:
        show_download(err, kafka_plugins.library_jars())
        plugin = kafka_plugins.install(given, folder)
    except PluginRefused as error:
        _end(Exit.WRONG, str(error))
    except (JarsUnavailable, JavaMissing) as error:
        _end(Exit.UNAVAILABLE, str(error))
    lines = [f"{plugin.name} {plugin.version} is in {plugin.folder}:"]
    lines += [f"  {connector.direction:6}  {connector.name}  {connector.version}" for connector in plugin.connectors]
    lines += [f"  {kind}  {name}" for name, kind in plugin.stages.items()]
    out.print("\n".join(lines), markup=False, soft_wrap=True)


@app.command()
def upgrade(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `installed` shows it.")],
    to: Annotated[
        str,
        typer.Argument(
            metavar="VERSION",
            help="Of the artifact that it was installed from, also an older one; or the path of a .zip, .tar.gz, .jar or folder.",
        ),
    ],
    folder: FolderOption = None,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Also where classes or options are gone, or are needed now.")] = False,
) -> None:
    """Put another version of a plugin of Kafka Connect in its place, if it loads and loses nothing.

    Tasks that run keep the old version until they are restarted: its jars stay until the next upgrade, or `uninstall`. Exit code 2
    when there is no such plugin, or the other version is refused: the one that is there stays. 5 when it can't be fetched.
    """
    from rocketconnect_cli.embedded.download import show_download
    from rocketconnect_cli.kafka_plugins.upgrading import upgrade as upgraded

    try:
        show_download(err, kafka_plugins.library_jars())
        done = upgraded(name, to, folder or kafka_plugins.folder_of(), anyway=yes)
    except PluginRefused as error:
        _end(Exit.WRONG, str(error))
    except (JarsUnavailable, JavaMissing) as error:
        _end(Exit.UNAVAILABLE, str(error))
    for line in done.lost:
        err.print(f"Warning: {line}", style="yellow", markup=False, soft_wrap=True)
    out.print(
        f"{done.now.name} {done.now.version} is in {done.now.folder}, in the place of {done.before.version}.\n"
        f"Tasks that run keep {done.before.version}: run `rocketconnect plugins reload`, then restart their connectors "
        "(`rocketconnect connector restart NAME`).\n"
        f"The way back: rocketconnect plugins upgrade {done.now.name} {done.before.version}",
        markup=False,
        soft_wrap=True,
    )


@app.command()
def uninstall(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As `installed` shows it.")], folder: FolderOption = None
) -> None:
    """Remove a plugin of Kafka Connect from this machine. Tasks that run with it go on until they are restarted.

    Exit code 2 when there is none of this name.
    """
    try:
        plugin = kafka_plugins.uninstall(name, folder or kafka_plugins.folder_of())
    except PluginRefused as error:
        _end(Exit.WRONG, str(error))
    out.print(f"{plugin.name} {plugin.version} is removed", markup=False, soft_wrap=True)


@app.command(name="installed")
def list_installed(folder: FolderOption = None, output: OutputOption = Output.TABLE) -> None:
    """List the plugins of Kafka Connect on this machine, with what of their jars is not as it was installed.

    Asks no service.
    """
    place = folder or kafka_plugins.folder_of()
    try:
        found = [(plugin, kafka_plugins.changed(plugin)) for plugin in installed(place)]
    except ValueError as error:
        _end(Exit.WRONG, str(error))
    rows = [
        {
            "name": plugin.name,
            "version": plugin.version,
            "origin": plugin.origin,
            "connectors": [connector.name for connector in plugin.connectors],
            "stages": dict(plugin.stages),
            "digests": dict(plugin.digests),
            "changed": changed,
        }
        for plugin, changed in found
    ]
    cells = [
        (
            plugin.name,
            plugin.version,
            plugin.origin,
            "\n".join([*(each.name for each in plugin.connectors), *plugin.stages]),
            ", ".join(changed) or "-",
        )
        for plugin, changed in found
    ]
    emit(
        output,
        {"folder": str(place), "plugins": rows},
        lambda: table_of(("NAME", "VERSION", "FROM", "CLASSES", "CHANGED"), cells),
    )


def _end(code: Exit, text: str) -> NoReturn:
    err.print(text, markup=False, soft_wrap=True)
    raise typer.Exit(int(code))


def kind_of(plugin: Mapping[str, Any]) -> str:
    """Its type, in one word: source, sink, direct, converter, transform or predicate."""
    return without_prefix(plugin.get("type"), "PLUGIN_TYPE_").lower()


def told(option: Mapping[str, Any]) -> str:
    """All that is to be said of the values of an option: what they do, which there are, and their limits."""
    parts = [option.get("documentation", "")]
    if option.get("choices"):
        parts.append(f"One of {', '.join(filter(None, option['choices']))}.")
    match option.get("minimum", ""), option.get("maximum", ""):
        case "", "":
            pass
        case least, "":
            parts.append(f"At least {least}.")
        case "", most:
            parts.append(f"At most {most}.")
        case least, most:
            parts.append(f"From {least} to {most}.")
    if option.get("secret"):
        parts.append("A secret: a reference such as ${env:NAME}.")
    return " ".join(parts)


def _head(plugin: Mapping[str, Any]) -> Iterator[str]:
    kind = kind_of(plugin)
    package = plugin.get("package", "")
    version = f"version {plugin['version']}" if plugin.get("version") else "version not known"
    yield f"{plugin['name']}: {kind}, {version}{f' of {package}' if package else ''}"
    yield plugin.get("summary", "")
    if plugin.get("documentation"):
        yield plugin["documentation"]
    yield ""
    if kind in _WRITTEN_AS:
        yield f"configured as  {_WRITTEN_AS[kind].format(plugin['name'])}"
    if plugin.get("aliases"):
        yield f"also known as  {', '.join(plugin['aliases'])}"
    if plugin.get("guarantee"):
        yield f"delivery       {plugin['guarantee']}"
    if plugin.get("engines"):
        yield f"engines        {', '.join(plugin['engines'])}"
    yield ""


def _options(plugin: Mapping[str, Any]) -> Iterator[Table | str]:
    """Its own first, and then, under a heading each, those that others have as well."""
    options = plugin.get("options", [])
    if not options:
        yield "It has no options."
    first = True
    for group, heading in _GROUPS.items():
        of_group = [option for option in options if option.get("group", "") == group]
        if of_group:
            if heading:
                yield heading if first else f"\n{heading}"
            yield table_of(("OPTION", "TYPE", "DEFAULT", "WHAT IT DOES"), map(_row, of_group))
            first = False


def nearest(name: str, plugins: Iterable[Mapping[str, Any]]) -> list[str]:
    """The names of plugins that this one may be meant for, at most three: those that it is a part of first."""
    called = {each: plugin["name"] for plugin in plugins for each in (plugin["name"], *plugin.get("aliases", []))}
    folded = {each.casefold(): own for each, own in called.items()}
    wanted = name.casefold()
    parts = [own for each, own in folded.items() if len(wanted) >= _LEAST and wanted in each]
    alike = [folded[each] for each in get_close_matches(wanted, folded, n=3)]
    return list(dict.fromkeys([*sorted(parts, key=len), *alike]))[:3]


def _signals(plugin: Mapping[str, Any]) -> Iterator[Table | str]:
    """What people can tell its running tasks."""
    for signal in plugin.get("signals", []):
        yield f"\nsignal {signal['name']}: {signal.get('documentation', '')}"
        if signal.get("arguments"):
            yield table_of(("ARGUMENT", "TYPE", "DEFAULT", "WHAT IT SAYS"), map(_row, signal["arguments"]))


def _row(option: Mapping[str, Any]) -> tuple[str, str, str, str]:
    default = "required" if option.get("required") else option.get("defaultValue", "")
    also = f" Also {', '.join(option['aliases'])}." if option.get("aliases") else ""
    return option["key"], option.get("type", ""), default, told(option) + also
