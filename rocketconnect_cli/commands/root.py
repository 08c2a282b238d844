"""The command `rocketconnect` with all its commands."""

from typing import Annotated, Any

import typer

from rocketconnect_cli.commands import cluster, connector, plugins, position, secret, topic, worker
from rocketconnect_cli.commands.apply import apply
from rocketconnect_cli.commands.dead_letters import dlq
from rocketconnect_cli.commands.doctor import doctor
from rocketconnect_cli.commands.preview import preview
from rocketconnect_cli.commands.serve import serve
from rocketconnect_cli.commands.up import up
from rocketconnect_cli.commands.verify import verify
from rocketconnect_cli.mistyped import Commands
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
    "secret",
    "cluster",
    "worker",
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
app.command(name="apply")(apply)
app.command(name="preview")(preview)
app.command(name="verify")(verify)
app.command(name="cluster")(cluster.cluster)
app.command(name="up")(up)
app.command(name="doctor")(doctor)
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
) -> None:
    """RocketConnect: data in and out of Apache RocketMQ, from configuration alone."""
