"""Who is at the other end of a call, as far as it is known."""

from dataclasses import dataclass
from urllib.parse import unquote

from rocketconnect_kit.access.current import IDENTITY
from rocketconnect_kit.access.roles import Role
from rocketconnect_kit.serving.interception import ServicerContext


@dataclass(frozen=True, slots=True)
class Caller:
    """The other end of a call.

    Attributes:
        proved: the name that its token has in the file of callers; else the common name in its certificate, or the first name that
            this is for; "" without either.
        address: where it called from, without the port: "10.0.0.7", "unix".
        passes_on: its token is that of a service, which may speak for everybody.
    """

    proved: str
    address: str
    passes_on: bool = False

    def named(self, said: str) -> str:
        """Return who it is, for people: the name that it proved wins over what it says, which wins over the address.

        A service passes on what somebody ordered: whom it names is who it is.
        """
        return (said if self.passes_on else "") or self.proved or said or self.address


def caller(context: ServicerContext) -> Caller:
    """Return who calls."""
    address = _host(unquote(context.peer()))
    if (known := IDENTITY.get()) is not None:
        return Caller(known.name, address, known.role is Role.SERVICE)
    shown = context.auth_context()
    names = [*shown.get("x509_common_name", ()), *shown.get("x509_subject_alternative_name", ())]
    certificate = names[0].decode(errors="replace") if names else ""
    return Caller(certificate, address)


def _host(peer: str) -> str:
    """Return the host in what gRPC calls a peer: "ipv4:10.0.0.7:51234", "ipv6:[::1]:51234", "unix:"."""
    family, _, rest = peer.partition(":")
    return rest.rpartition(":")[0].strip("[]") or family
