"""Whether the gateway answers: the only service that is asked over HTTP."""

import http.client
import ssl

from rocketconnect_kit.settings import ServiceSettings, parse_addresses

_PATH = "/healthz"


def ask(address: str, settings: ServiceSettings, seconds: float) -> str:
    """Ask one gateway, or several ("ip:port,ip:port") until one answers; return why none does, or nothing.

    Any answer below 500 counts: one that refuses the name under which it was asked is there.

    Args:
        address: Where it listens.
        settings: TLS, as for the other services.
        seconds: How long they have to answer, together.
    """
    cause = ""
    pairs = parse_addresses(address)
    for host, port in pairs:
        connection = _connection(host, port, settings, max(seconds / len(pairs), 0.001))
        try:
            connection.request("GET", _PATH, headers={"Connection": "close"})
            status = connection.getresponse().status
        except (OSError, http.client.HTTPException) as error:
            cause = str(error) or type(error).__name__
        else:
            if status < 500:
                return ""
            cause = f"HTTP status {status}"
        finally:
            connection.close()
    return cause


def _connection(host: str, port: int, settings: ServiceSettings, timeout: float) -> http.client.HTTPConnection:
    if settings.tls_ca is None and settings.tls_cert is None:
        return http.client.HTTPConnection(host, port, timeout=timeout)
    context = ssl.create_default_context(cafile=settings.tls_ca)
    if settings.tls_cert is not None:
        context.load_cert_chain(settings.tls_cert, settings.tls_key)
    return http.client.HTTPSConnection(host, port, timeout=timeout, context=context)
