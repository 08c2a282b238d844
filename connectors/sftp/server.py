"""How a server of SFTP is reached, who it has to be, and who we are there."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SftpServer:
    """How a server of SFTP is reached, who it has to be, and who we are there.

    Attributes:
        host: Its name or address.
        port: Its port.
        user: Of the server.
        password: Of the user; empty: there is none.
        key: A private key, as text; empty: see key_file.
        key_file: The path of a private key; empty: there is none.
        passphrase: Of the private key; empty: it has none.
        known_hosts: The path of a file of known hosts; empty: there is none.
        fingerprints: Of host keys that the server may have, as OpenSSH writes them: SHA256:...
        seconds: How long the server may be silent.
    """

    host: str
    port: int
    user: str
    password: str = field(default="", repr=False)
    key: str = field(default="", repr=False)
    key_file: str = ""
    passphrase: str = field(default="", repr=False)
    known_hosts: str = ""
    fingerprints: tuple[str, ...] = ()
    seconds: float = 30.0
