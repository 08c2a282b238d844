"""`rocketconnect whoami`."""

from collections.abc import Mapping
from typing import Any

from rocketconnect_cli.output import URL, Output, OutputOption, UrlOption, api, emit, with_api

_ROLE = "ROLE_"
_NOBODY = "Nobody: this gateway asks nobody who calls, so everybody may do everything."


@with_api
def whoami(url: UrlOption = URL, output: OutputOption = Output.TABLE) -> None:
    """Show who the gateway takes this for, what its role is, and when its token ends."""
    with api(url) as client:
        caller = client.request("GET", "/v1/me", like={"name": "", "role": "", "methods": [""]})
    emit(output, caller, lambda: _line(caller))


def _line(caller: Mapping[str, Any]) -> str:
    if not caller["name"]:
        return _NOBODY
    end = f", until {caller['expireTime']}" if caller.get("expireTime") else ""
    return f"{caller['name']}, with the role {caller['role'].removeprefix(_ROLE).lower()}{end}"
