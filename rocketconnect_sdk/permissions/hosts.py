"""Which hosts connectors may speak to, as a list that the operator of an executor writes. Pure: nobody is asked or connected."""

import ipaddress
import re
import socket
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

CONNECTOR_HOSTS = "ROCKETCONNECT_CONNECTOR_HOSTS"
"""Hosts that connectors may speak to, separated by commas."""

READER_HOSTS = "ROCKETCONNECT_READER_HOSTS"
"""The same for what is asked by somebody who may only read, in a process that answers that."""

EVERYWHERE = "*"
"""What executors allow unless they are told otherwise: every host, METADATA left out."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network
Reaches = Callable[..., Iterable[tuple[str, int | None]]]
"""The hosts, and their ports where they are known, that the value of an option names."""

METADATA: tuple[Network, ...] = tuple(
    map(
        ipaddress.ip_network,
        ("169.254.0.0/16", "fd00:ec2::/32", "fd20:ce::254/128", "100.100.100.200/32", "168.63.129.16/32"),
    )
)
"""Where clouds (AWS, Google, Azure, Alibaba) tell a machine its credentials: any program there may ask without a password."""

_NUMBER = re.compile(r"[0-9a-fx.]+", re.IGNORECASE)
_NAME = re.compile(r"(?:\*|(?:\*\.)?[a-z0-9_](?:[a-z0-9_.-]*[a-z0-9_])?)")
_BRACKETS = re.compile(r"\[([^]]*)](?::(.*))?")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_HIGHEST_PORT = 65535
_HOW = "write NAME, *.NAME, an address or a range such as 10.0.0.0/8, and :PORT behind it where only that is meant"


@dataclass(frozen=True, slots=True)
class _Rule:
    name: str
    network: Network | None
    port: int | None

    def covers(self, port: int | None) -> bool:
        return port is None or self.port is None or self.port == port

    def names(self, host: str) -> bool:
        if self.network is not None:
            return False
        return self.name in ("*", host) or (self.is_pattern and host.endswith(self.name[1:]))

    @property
    def is_pattern(self) -> bool:
        return self.name.startswith("*.")


@dataclass(frozen=True, slots=True)
class Hosts:
    """A list of hosts.

    A name stands for every address that it has. One with `*.` stands for public addresses alone: who may make a name of that domain
    must not lead connectors into the network of the executor. `*` stands for every host. What is in METADATA is named by none of
    them, only as an address or in a range.

    Attributes:
        text: As it was written.
        setting: Under which name.
    """

    text: str
    rules: tuple[_Rule, ...]
    setting: str = CONNECTOR_HOSTS

    @staticmethod
    def parse(text: str, setting: str = CONNECTOR_HOSTS) -> "Hosts":
        """The list that a text stands for.

        Raises:
            ValueError: says which parts are no hosts.
        """
        rules, wrong = [], []
        for part in filter(None, map(str.strip, text.split(","))):
            rule = _rule(part)
            if rule is None:
                wrong.append(repr(part))
            else:
                rules.append(rule)
        if wrong:
            msg = f"{', '.join(wrong)} {'is no host' if len(wrong) == 1 else 'are no hosts'}; {_HOW}"
            raise ValueError(msg)
        return Hosts(text.strip(), tuple(rules), setting)

    def may_reach(self, name: str, address: Address, port: int | None) -> bool:
        """Whether connectors may speak to an address that a name has, or that stands for itself; without a port: at any."""
        if any(rule.network is not None and address in rule.network and rule.covers(port) for rule in self.rules):
            return True
        if is_metadata(address):
            return False
        named = [rule for rule in self.rules if rule.names(name) and rule.covers(port)]
        return any(not rule.is_pattern for rule in named) or (bool(named) and address.is_global)

    def may_ask_for(self, name: str, port: int | None) -> bool:
        """Whether it takes the addresses of a name to say whether it is allowed: False: it is not, whatever they are."""
        return any(rule.covers(port) and (rule.network is not None or rule.names(name)) for rule in self.rules)

    def is_sure_of(self, name: str, port: int | None) -> bool:
        """Whether a name is allowed by itself, as long as none of its addresses is one that its kind of name does not stand for."""
        return any(rule.names(name) and rule.covers(port) for rule in self.rules)

    def reason(self, name: str, address: Address | None, port: int | None) -> str:
        """Why a host is not allowed, for people."""
        place = f"{name}{'' if port is None else f':{port}'}"
        # Where a name leads within the network is not for everybody who may write a configuration.
        if address is not None and is_metadata(address):
            return (
                f"{place} is where clouds tell this machine its credentials, which connectors get only where {_flag(self.setting)} "
                "of the executor names that address itself"
            )
        named = f"names {self.text}" if self.rules else "names none"
        inside = ", and a name that one with *. stands for may have public addresses alone" if self.is_sure_of(name, port) else ""
        whom = "connectors" if self.setting == CONNECTOR_HOSTS else "what readers ask"
        return f"{place} is no host that this executor lets {whom} speak to: its {_flag(self.setting)} {named}{inside}"


def fix(name: str, setting: str = CONNECTOR_HOSTS) -> str:
    """What to do about a host that is not allowed."""
    if setting == READER_HOSTS:
        return f"Show a token with the role write, or ask whoever runs the executors to name {name} in {_flag(setting)}."
    return (
        f"Name a host that is allowed, or ask whoever runs the executors to name {name}, or the range of its addresses, in "
        f"{_flag(setting)}."
    )


def _flag(setting: str) -> str:
    return f"--{setting.removeprefix('ROCKETCONNECT_').lower().replace('_', '-')} ({setting})"


def is_metadata(address: Address) -> bool:
    """Whether an address is in METADATA."""
    return any(address in network for network in METADATA)


def plain(host: str) -> str:
    """A name in the one form in which names are compared; of an address its usual form."""
    if (address := address_of(host)) is not None:
        return str(address)
    try:
        return host.rstrip(".").encode("idna").decode().casefold()
    except UnicodeError:
        return host.rstrip(".").casefold()


def address_of(host: str) -> Address | None:
    """The address that a text is, in any form that the C library takes (2852039166 and 0xa9fea9fe, too); None: it is a name.

    One of IPv6 that stands for one of IPv4 is that one.
    """
    text = host.strip("[]").partition("%")[0]
    try:
        address: Address = ipaddress.ip_address(text)
    except ValueError:
        if not _NUMBER.fullmatch(text):
            return None
        try:
            return ipaddress.IPv4Address(socket.inet_aton(text))
        except OSError:
            return None
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def of_host(host: str) -> Iterator[tuple[str, int | None]]:
    """The hosts of an option that is a host, or several with commas between them, as libpq takes them."""
    return ((each.strip(), None) for each in host.split(",") if each.strip())


def of_urls(urls: str | Iterable[str]) -> Iterator[tuple[str, int | None]]:
    """The hosts of an option that is a URL, also one of JDBC, or a list of them. What is none, and one without a host, has none."""
    for url in (urls,) if isinstance(urls, str) else urls:
        try:
            parts = urlsplit(url.removeprefix("jdbc:"))
            host, port = parts.hostname, parts.port
        except ValueError:
            continue
        if host:
            yield host, port or {"http": 80, "https": 443}.get(parts.scheme)


def _rule(text: str) -> _Rule | None:
    bracketed = _BRACKETS.fullmatch(text)
    if bracketed:
        host, port = bracketed[1], bracketed[2]
    elif text.count(":") > 1:
        host, port = text, None
    else:
        host, colon, behind = text.partition(":")
        port = behind if colon else None
    if port is not None and not (port.isascii() and port.isdigit() and 0 < int(port) <= _HIGHEST_PORT):
        return None
    number = None if port is None else int(port)
    try:
        return _Rule("", ipaddress.ip_network(host), number)
    except ValueError:
        name = host if host.startswith("*") else plain(host)
    # What looks like an address, or a range, and is none, would name nothing.
    if "/" in host or address_of(host) is not None or not _NAME.fullmatch(name.casefold()):
        return None
    return _Rule(name.casefold(), None, number)
