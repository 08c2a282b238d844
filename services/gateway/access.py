"""Who may ask: guards against pages of other sites that reach this port through a browser (DNS rebinding, forged requests).

A browser sends the name that it believes to talk to in Host, and the site of the page in Origin and Sec-Fetch-Site. Programs that
are no browsers send neither Origin nor Sec-Fetch-Site, and pass.
"""

import ipaddress
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from services.gateway.problems import Problem, RequestRejected

_SAME_SITE = ("", "same-origin", "none")
_OF_BROWSERS = ("origin", "referer", "sec-fetch-site", "sec-fetch-mode", "sec-fetch-dest")
_BROWSERS = ("Mozilla/", "Opera/")
"""How all browsers begin to say who they are. Those that send no Sec-Fetch-Site in the clear are known by it."""


@dataclass(frozen=True, slots=True)
class Access:
    """What is let in.

    Attributes:
        bind_host: The address that is listened on.
        hosts: Further names that requests may be addressed to; "*.example.org" stands for all below it, "*" for any.
        origins: Further origins ("https://console.example.org") whose pages may change something.
    """

    bind_host: str
    hosts: Sequence[str] = ()
    origins: Sequence[str] = ()

    def check_host(self, host: str | None) -> None:
        """Refuse a request that is addressed to a name that is not ours.

        Raises:
            RequestRejected: 403 HOST_NOT_ALLOWED.
        """
        try:
            name = _hostname(f"//{host}")
        except ValueError:
            name = None
        if not host or name is None or not self._ours(name):
            shown = f"the name {host[:100]!r}" if host else "no name"
            fix = "use the address it listens on, or name it in ROCKETCONNECT_ALLOWED_HOSTS"
            raise RequestRejected(
                Problem(403, "HOST_NOT_ALLOWED", f"the request is addressed to {shown} (Host), which is not let in; {fix}")
            )

    def check_origin(self, origin: str | None, fetch_site: str | None, host: str | None) -> None:
        """Refuse a change that a page of another origin asks for.

        Raises:
            RequestRejected: 403 ORIGIN_NOT_ALLOWED.
        """
        if origin is None and (fetch_site or "") in _SAME_SITE:
            return
        # The Host is known to be ours, so a page from the same host and port is our own.
        if origin is not None and (origin in self.origins or origin in (f"http://{host}", f"https://{host}")):
            return
        shown = repr(origin[:100]) if origin is not None else f"another site ({fetch_site})"
        fix = "if it is yours, name it in ROCKETCONNECT_ALLOWED_ORIGINS"
        raise RequestRejected(Problem(403, "ORIGIN_NOT_ALLOWED", f"a page of {shown} may change nothing here; {fix}"))

    def check_program(self, headers: Mapping[str, str]) -> None:
        """Refuse a change by GET that a browser asks for: a link, an image or a redirect of any page is enough for that.

        Args:
            headers: Of the request, by name in small letters.

        Raises:
            RequestRejected: 403 BROWSER_NOT_ALLOWED.
        """
        agent = headers.get("user-agent", "")
        if any(name in headers for name in _OF_BROWSERS) or agent.startswith(_BROWSERS):
            fix = "use a program, such as curl, or POST to the /v1 paths"
            detail = f"a browser may change nothing by GET, as a link in any page would be enough; {fix}"
            raise RequestRejected(Problem(403, "BROWSER_NOT_ALLOWED", detail))

    def _ours(self, name: str) -> bool:
        if name in ("localhost", self.bind_host.lower()) or any(fnmatchcase(name, each.lower()) for each in self.hosts):
            return True
        bound, asked = _ip(self.bind_host), _ip(name)
        # Rebinding needs a name: a number can't be pointed elsewhere. So where all addresses are listened on, any number is ours.
        return asked is not None and (asked.is_loopback or (bound is not None and (bound.is_unspecified or bound == asked)))


def _hostname(url: str) -> str | None:
    parts = urlsplit(url)
    # Reading the port checks it.
    return None if parts.port == 0 or parts.username or parts.path else parts.hostname


def _ip(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None
