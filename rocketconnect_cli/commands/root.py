"""The command `rocketconnect` with all its commands."""

import os
from typing import Annotated, Any

import typer

from rocketconnect_cli.access import tokens
from rocketconnect_cli.access.profile import CURRENT, Profile, chosen
from rocketconnect_cli.access.whoami import whoami
from rocketconnect_cli.api import ApiError
from rocketconnect_cli.commands import cluster, connector, plugins, position, secret, topic, worker
from rocketconnect_cli.commands.apply import apply
from rocketconnect_cli.commands.backup import backup, restore
from rocketconnect_cli.commands.dead_letters import dlq
from rocketconnect_cli.commands.doctor import doctor
from rocketconnect_cli.commands.preview import preview
from rocketconnect_cli.commands.serve import serve
from rocketconnect_cli.commands.support.diagnose import diagnose
from rocketconnect_cli.commands.support.log_level import log_level
from rocketconnect_cli.commands.up import up
from rocketconnect_cli.commands.verify import verify
from rocketconnect_cli.imports import command as imports
from rocketconnect_cli.imports.rocketmq_connect.command import rocketmq_connect
from rocketconnect_cli.mistyped import Commands
from rocketconnect_cli.output import show_error
from rocketconnect_cli.projects.init import init
from rocketconnect_sdk.version import __version__

_ORDER = (
    "up",
    "doctor",
    "connector",
    "plugins",
    "topic",
    "dlq",
    "position",
    "preview",
    "verify",
    "apply",
    "import",
    "secret",
    "token",
    "whoami",
    "cluster",
    "worker",
    "backup",
    "restore",
    "diagnose",
    "log-level",
    "init",
)
"""As people meet them; what is not named comes behind."""
_FIRST = (
    "The first steps: `rocketconnect doctor` and `rocketconnect up`; then, in another terminal, `rocketconnect plugins list`, "
    "`rocketconnect connector create NAME -s connector.class=PLUGIN -s ...`, and `rocketconnect connector status NAME`."
)


class _Root(Commands):
    """All commands."""

    def list_commands(self, ctx: Any) -> list[str]:
        """See Commands."""
        return sorted(super().list_commands(ctx), key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))


app = typer.Typer(
    cls=_Root,
    epilog=_FIRST,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(connector.app, name="connector")
app.add_typer(position.app, name="position")
app.add_typer(dlq.app, name="dlq")
app.add_typer(plugins.app, name="plugins")
app.add_typer(secret.app, name="secret")
app.add_typer(topic.app, name="topic")
app.add_typer(worker.app, name="worker")
app.add_typer(tokens.app, name="token")
app.add_typer(imports.app, name="import")
imports.app.command(name="rocketmq-connect")(rocketmq_connect)
app.command(name="whoami")(whoami)
app.command(name="apply")(apply)
app.command(name="preview")(preview)
app.command(name="verify")(verify)
app.command(name="cluster")(cluster.cluster)
app.command(name="up")(up)
app.command(name="doctor")(doctor)
app.command(name="diagnose")(diagnose)
app.command(name="log-level")(log_level)
app.command(name="init")(init)
app.command(name="backup")(backup)
app.command(name="restore")(restore)
app.command(
    name="serve",
    # Flags after the service's name belong to the service, --help too.
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(serve)


def _say_version(asked: bool) -> None:
    if asked:
        typer.echo(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Print the version.")] = False,
    profile: Annotated[
        str, typer.Option(envvar="ROCKETCONNECT_PROFILE", help="How the gateway is reached: a table of the file of profiles.")
    ] = "",
    token: Annotated[
        str, typer.Option(help="Shown to the gateway. Others see it on the command line: rather set ROCKETCONNECT_TOKEN.")
    ] = "",
    token_file: Annotated[str, typer.Option(help="A file with the token, and nothing else (or ROCKETCONNECT_TOKEN_FILE).")] = "",
    cacert: Annotated[str, typer.Option(help="Who signed the gateway's certificate, PEM (or ROCKETCONNECT_CACERT).")] = "",
    cert: Annotated[str, typer.Option(help="The own certificate, PEM (or ROCKETCONNECT_CERT).")] = "",
    key: Annotated[str, typer.Option(help="The key of that certificate, PEM (or ROCKETCONNECT_KEY).")] = "",
) -> None:
    """RocketConnect: data in and out of Apache RocketMQ, from configuration alone."""
    del version
    try:
        CURRENT.set(chosen(Profile("", token, token_file, cacert, cert, key), profile, os.environ))
    except ApiError as error:
        show_error(error)
        raise typer.Exit(int(error.exit_code)) from None
