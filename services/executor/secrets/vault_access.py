"""Where Vault is and what connectors may read of it: what the operator of an executor says, and its hosts go by. Pure."""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlsplit

ADDRESS = "ROCKETCONNECT_VAULT_ADDRESS"
TOKEN_FILE = "ROCKETCONNECT_VAULT_TOKEN_FILE"  # noqa: S105 - the name of a variable
NAMESPACE = "ROCKETCONNECT_VAULT_NAMESPACE"
CA = "ROCKETCONNECT_VAULT_CA"
MOUNTS = "ROCKETCONNECT_VAULT_MOUNTS"
PATHS = "ROCKETCONNECT_VAULT_PATHS"

Path = tuple[str, ...]
"""The segments of a path of Vault."""


@dataclass(frozen=True, slots=True)
class VaultAccess:
    """How hosts reach Vault, and what of it they may read.

    Attributes:
        address: Its URL; empty: there is none.
        token_file: The file with the token that is shown to it.
        namespace: The namespace of all paths; empty: the root.
        ca: The file with who signs its certificate; empty: whom the machine trusts.
        mounts: Where secrets engines of the kind KV, version 2, are.
        paths: What connectors may read: these, and all beneath them.
    """

    address: str
    token_file: str
    namespace: str
    ca: str
    mounts: tuple[Path, ...]
    paths: tuple[Path, ...]

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> "VaultAccess":
        """What the environment of a host says."""
        address, token_file, namespace, ca = (environment.get(name, "") for name in (ADDRESS, TOKEN_FILE, NAMESPACE, CA))
        mounts, paths = (tuple(vault_paths(environment.get(name, ""))) for name in (MOUNTS, PATHS))
        return cls(address, token_file, namespace, ca, mounts, paths)

    def allows(self, path: Path) -> bool:
        """Whether connectors may read there. Never what is not written out, such as a way up and down again."""
        return well_formed(path) and any(path[: len(allowed)] == allowed for allowed in self.paths)

    def request(self, path: Path) -> str | None:
        """The target of the request that reads the secret at a path; None: the path is that of no secret in one of the mounts."""
        found = [mount for mount in self.mounts if path[: len(mount)] == mount and len(path) > len(mount)]
        if not found:
            return None
        mount = max(found, key=len)
        return "/".join(("/v1", *map(_quoted, mount), "data", *map(_quoted, path[len(mount) :])))


def vault_path(text: str) -> Path:
    """The segments of a path, with or without slashes at its ends."""
    return tuple(text.strip("/").split("/"))


def vault_paths(text: str) -> list[Path]:
    """The paths in "MOUNT/PATH,MOUNT/PATH".

    Raises:
        ValueError: says which of them is none.
    """
    found = [vault_path(part.strip()) for part in text.split(",") if part.strip()]
    for path in found:
        if not well_formed(path):
            msg = f"{'/'.join(path)!r} is no path of Vault; write it out, such as secret/rocketconnect"
            raise ValueError(msg)
    return found


def well_formed(path: Path) -> bool:
    """Whether every segment names something beneath the one before."""
    return all(segment not in ("", ".", "..") for segment in path)


def check_address(text: str) -> None:
    """Looks whether a token may be sent to an address: over TLS, or within this machine.

    Raises:
        ValueError: says why it may not.
    """
    if not text:
        return
    url = urlsplit(text)
    beside = "@" in url.netloc or url.path not in ("", "/") or url.query or url.fragment
    if url.scheme not in ("https", "http") or not url.hostname or beside:
        msg = "is no address of a server; write https://HOST:PORT"
        raise ValueError(msg)
    if url.port == 0:
        msg = "has no port that can be reached"
        raise ValueError(msg)
    if url.scheme == "http" and not _is_here(url.hostname):
        msg = "would show the token and the secrets to the network; write https://, or http:// to an agent on 127.0.0.1"
        raise ValueError(msg)


def conflicts(address: str, token_file: str, mounts: str, paths: str) -> Iterable[str]:
    """What is wrong with settings together, each of which is right by itself."""
    if bool(address) != bool(token_file):
        yield "--vault-address and --vault-token-file go together; give both or none"
    if not address and paths:
        yield "--vault-paths is given, but no Vault is: give --vault-address and --vault-token-file as well"
    known = vault_paths(mounts)
    for path in vault_paths(paths):
        if not any(path[: len(mount)] == mount for mount in known):
            yield f"--vault-paths: {'/'.join(path)!r} begins with none of the mounts ({mounts}): name its mount in --vault-mounts"


def _quoted(segment: str) -> str:
    return quote(segment, safe="")


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
