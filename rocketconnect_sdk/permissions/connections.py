"""What connectors of this process may connect to: the hosts that the operator of an executor names, whatever names lead to.

The executor's host processes call `guard`. From then on every connection of Python's sockets is looked at where it is made: a
name is looked up once, its addresses are judged, and what is connected to is one of those, so a redirect, and a name that has
another address a moment later, lead nowhere else. What connects by itself (libpq, Java's drivers) is given `addresses`, so that it
looks nothing up, and clients of HTTP in other languages go through rocketconnect_sdk.permissions.forwarding. In a process that
nobody guards, nothing is limited.
"""

import os
import socket
import sys
import threading
from collections.abc import Mapping
from types import FrameType
from typing import Any

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.permissions.hosts import CONNECTOR_HOSTS, READER_HOSTS, Address, Hosts, address_of, fix, of_urls, plain

_TRUSTED = frozenset({"services", "rocketconnect_kit", "rocketmq_remoting", "py4j", "pyspark"})
"""Code that speaks only to where the operator says: brokers, name servers, the other services, Vault, the Java process of Spark."""
_CONNECTS = frozenset({"socket.connect", "socket.sendto", "socket.sendmsg"})
_INTERNET = (socket.AF_INET, socket.AF_INET6)
_LOCAL = "localhost"
_MOST_KNOWN = 10_000
"""So many addresses are remembered with the names that they were found under, and so many names of each."""
_MOST_NAMES = 100
_look_up = socket.getaddrinfo


class HostRefused(PermanentError):
    """The operator of the executor lets no connector speak to this host."""


class _Guard:
    """Judges addresses by the names under which they were looked up. Safe to use from any thread."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self._lock = threading.Lock()
        self._names: dict[Address, dict[str, None]] = {}

    def narrow(self, hosts: Hosts) -> None:
        """Judge by these from now on, also what was looked up before."""
        with self._lock:
            self.hosts = hosts
            self._names.clear()

    def resolved(self, name: str, found: list[Any], port: int | None) -> list[Any]:
        """The answers of getaddrinfo that are allowed. Raises HostRefused: none is."""
        name = plain(name)
        kept, refused = [], None
        for each in found:
            address = address_of(str(each[4][0]))
            if address is None or self.hosts.may_reach(name, address, port):
                kept.append(each)
                if address is not None:
                    self._know(address, name)
            else:
                refused = address
        if found and not kept:
            raise _refused(self.hosts, name, refused, port)
        return kept

    def check(self, host: str, port: int) -> None:
        """Raises HostRefused: an address is not allowed, nor was it found under a name that is."""
        address = address_of(host)
        if address is None:
            # Its addresses were not judged, and the C library would look them up by itself.
            raise _refused(self.hosts, host, None, port)
        with self._lock:
            names = [str(address), *self._names.get(address, ())]
        if not any(self.hosts.may_reach(name, address, port) for name in names):
            raise _refused(self.hosts, names[-1], address, port)

    def _know(self, address: Address, name: str) -> None:
        with self._lock:
            if address not in self._names and len(self._names) >= _MOST_KNOWN:
                # Who goes on with what is forgotten is refused, and looks the name up again.
                del self._names[next(iter(self._names))]
            names = self._names.setdefault(address, {})
            names[name] = None
            if len(names) > _MOST_NAMES:
                del names[next(iter(names))]


_guard: _Guard | None = None


def guard(hosts: str) -> None:
    """Limits connections of this process from now on, for good; a second call changes nothing. Raises what Hosts.parse does."""
    global _guard  # noqa: PLW0603 - of the process, as the hook is
    if _guard is not None:
        return
    guarding = _guard = _Guard(Hosts.parse(hosts))
    connect, connect_ex = socket.socket.connect, socket.socket.connect_ex

    def getaddrinfo(host: Any, port: Any, *given: Any, **named: Any) -> list[Any]:
        if not host or _is_trusted(sys._getframe(1)):  # noqa: SLF001 - no other way to see who calls
            return _look_up(host, port, *given, **named)
        name = os.fsdecode(host)
        _ask_for(guarding, name, _number(port))
        return guarding.resolved(name, _look_up(host, port, *given, **named), _number(port))

    def resolved(sock: socket.socket, address: Any) -> Any:
        """An address in place of a name, which the C library would look up anew."""
        if sock.family not in _INTERNET or not isinstance(address, tuple) or address_of(os.fsdecode(address[0])) is not None:
            return address
        if _is_trusted(sys._getframe(1)):  # noqa: SLF001 - as above
            return address
        found = getaddrinfo(address[0], address[1], sock.family, sock.type)
        return found[0][4]

    # Not by assignments: for mypy a method is not to be changed.
    setattr(socket, "getaddrinfo", getaddrinfo)  # noqa: B010
    setattr(socket.socket, "connect", lambda sock, address: connect(sock, resolved(sock, address)))  # noqa: B010
    setattr(socket.socket, "connect_ex", lambda sock, address: connect_ex(sock, resolved(sock, address)))  # noqa: B010

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        if event in _CONNECTS:
            sock, address = arguments[0], arguments[1]
            if address is not None and sock.family in _INTERNET and not _is_trusted(sys._getframe(1)):  # noqa: SLF001 - as above
                guarding.check(os.fsdecode(address[0]), address[1])

    # Nobody takes it away again, whatever is put in the place of functions.
    sys.addaudithook(hook)


def narrow(hosts: str) -> None:
    """Limits connections of this process further, for good: what is asked by somebody who may only read; see guard."""
    guard(hosts)
    if _guard is not None:
        _guard.narrow(Hosts.parse(hosts, READER_HOSTS))


def is_guarded() -> bool:
    """Whether connections of this process are limited."""
    return _guard is not None


def libpq(host: str, port: int) -> dict[str, str]:
    """The parameters `host` and `hostaddr` for libpq, with which it looks no name up by itself; see addresses."""
    found = addresses(host, port)
    if found is None:
        return {"host": host}
    return {"host": ",".join(name for name, _ in found), "hostaddr": ",".join(address for _, address in found)}


def addresses(host: str, port: int) -> list[tuple[str, str]] | None:
    """The addresses that connectors may connect to, each with its name; None: nobody guards this process, or no name is in it.

    Args:
        host: As libpq takes it: a name, an address, or several with commas; also the folder of a socket of this machine.
        port: Of all of them.

    Raises:
        HostRefused: one of them is not allowed.
        OSError: a name has no address.
    """
    if _guard is None:
        return None
    if host.startswith(("/", "@")):
        # Whoever names it speaks to this machine.
        check(_LOCAL, port)
        return None
    return [(name, address) for name in filter(None, map(str.strip, host.split(","))) for address in _allowed(name, port)]


def check(host: str, port: int | None) -> None:
    """For what resolves names by itself: judges all addresses that a host has now. A name that has none is left to its user.

    Raises:
        HostRefused: one of them is not allowed.
    """
    if _guard is None:
        return
    name = plain(host)
    _ask_for(_guard, name, port)
    try:
        found = _look_up(name, port, type=socket.SOCK_STREAM)
    except OSError:
        return
    for each in found:
        address = address_of(str(each[4][0]))
        if address is not None and not _guard.hosts.may_reach(name, address, port):
            raise _refused(_guard.hosts, name, address, port)


def check_url(url: str) -> None:
    """The same for the host of a URL."""
    for host, port in of_urls(url):
        check(host, port)


def problem(host: str, port: int | None, environment: Mapping[str, str] = os.environ) -> str | None:
    """Why connectors of this process may not speak to a host; None: they may, as far as its name says it.

    A name is looked up only where ranges of addresses are to say it; one that has no address is no problem here.
    """
    named = setting(environment)
    text = environment.get(named)
    if text is None:
        return None
    hosts = Hosts.parse(text, named)
    name = plain(host)
    if (address := address_of(name)) is not None:
        return None if hosts.may_reach(name, address, port) else hosts.reason(name, address, port)
    if hosts.is_sure_of(name, port):
        return None
    if hosts.may_ask_for(name, port):
        try:
            found = _look_up(name, port, type=socket.SOCK_STREAM)
        except OSError:
            return None
        else:
            judged = [address_of(str(each[4][0])) for each in found]
            if all(each is None or hosts.may_reach(name, each, port) for each in judged):
                return None
    return hosts.reason(name, None, port)


def setting(environment: Mapping[str, str] = os.environ) -> str:
    """The name of the list that says which hosts this process may speak to."""
    return READER_HOSTS if READER_HOSTS in environment else CONNECTOR_HOSTS


def _allowed(name: str, port: int) -> list[str]:
    return [str(each[4][0]) for each in socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)]


def _ask_for(guarding: _Guard, name: str, port: int | None) -> None:
    """Raises HostRefused: a name is refused whatever its addresses are. Then nobody is asked for them: a name can be a message."""
    address = address_of(name)
    if address is None and not guarding.hosts.may_ask_for(plain(name), port):
        raise _refused(guarding.hosts, plain(name), None, port)


def _refused(hosts: Hosts, name: str, address: Address | None, port: int | None) -> HostRefused:
    return HostRefused(f"{hosts.reason(name, address, port)}. {fix(name, hosts.setting)}")


def _number(port: Any) -> int | None:
    return int(port) or None if isinstance(port, int) or (isinstance(port, str) and port.isdigit()) else None


def _is_trusted(frame: FrameType | None) -> bool:
    """Whether the code that wants a connection, of which Python's own is only the hand, is ours."""
    while frame is not None:
        top = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if top not in sys.stdlib_module_names and frame.f_globals is not globals():
            return top in _TRUSTED
        frame = frame.f_back
    return False
