"""The command `rocketconnect`."""

import typer

from rocketconnect_cli import cluster, connector
from rocketconnect_cli.serve import serve
from rocketconnect_cli.up import up
from rocketconnect_sdk.version import __version__

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="RocketConnect: data in and out of Apache RocketMQ, from configuration alone.",
)
app.add_typer(connector.app, name="connector")
app.add_typer(cluster.plugins, name="plugins")
app.command(name="cluster")(cluster.cluster)
app.command(name="up")(up)
app.command(
    name="serve",
    # Flags after the service's name belong to the service, --help too.
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []},
)(serve)


@app.command()
def version() -> None:
    """Print the version."""
    typer.echo(__version__)


def main() -> None:
    """Runs the command line."""
    app()
