"""`${vault:PATH:KEY}`: secrets in HashiCorp Vault or OpenBao, in a secrets engine of the kind KV, version 2, over HTTP."""

import http.client
import json
import ssl
import threading
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

from rocketconnect_sdk.configuration.references import VAULT, parts
from rocketconnect_sdk.errors import SystemAway
from services.executor.secrets.providers.provider import Unresolved
from services.executor.secrets.vault_access import ADDRESS, PATHS, VaultAccess, vault_path

SECONDS = 5.0
"""How long one answer may take in all (invariant 8)."""
_LARGEST = 4 << 20
"""What is longer is cut, and no answer then: Vault stores no secret that is so large."""
_STANDBY = (301, 302, 303, 307, 308, 412, 472, 473)
"""What a server says that does not answer by itself now: another one would."""


class Vault:
    """Reads the secrets beneath the paths that the operator lets connectors name, each path once. A Provider.

    The token goes to the one address that the operator has given: no redirect is followed, and no proxy is asked. No text of an
    answer is repeated in an error: whoever answers may repeat the token.

    Args:
        environment: That of this process.
        seconds: How long one answer may take.
    """

    def __init__(self, environment: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._access = VaultAccess.of(environment)
        self._seconds = seconds
        self._found: dict[str, Mapping[str, object]] = {}

    def look_up(self, name: str) -> str:
        """See Provider."""
        if wrong := VAULT.problem(name):
            raise Unresolved(reason=wrong, fix=f"Write {VAULT}, such as ${{vault:secret/db:password}}.")
        path, key = parts(name)
        segments = vault_path(path)
        if not self._access.address:
            raise Unresolved(
                reason="stands for a secret in Vault, of which this executor lets no connector read any: it was told of no Vault",
                fix=f"Start the executor with --vault-address (or {ADDRESS}), --vault-token-file and --vault-paths.",
            )
        if not self._access.allows(segments):
            raise Unresolved(
                reason="stands for a path of Vault that this executor lets no connector read",
                fix=f"Add it, or a path above it, to the executor's --vault-paths (or {PATHS}), and start it again.",
            )
        target = self._access.request(segments)
        if target is None:
            raise Unresolved(
                reason="names no secret in a mount of Vault that this executor knows of",
                fix="Write MOUNT/PATH, as `vault kv get MOUNT/PATH` takes it, and name the mount in the executor's --vault-mounts.",
            )
        if target not in self._found:
            self._found[target] = self._secret(target)
        value = self._found[target].get(key)
        if value is None:
            raise Unresolved(
                reason="stands for a key that the secret in Vault does not have", fix=f"Add it: vault kv patch {path} {key}=VALUE."
            )
        if not isinstance(value, str):
            raise Unresolved(reason="stands for a value in Vault that is no text", fix=f"Store {key} as text.")
        return value

    def _secret(self, target: str) -> Mapping[str, object]:
        """The keys and values of a secret.

        Raises:
            Unresolved: it is not there, or Vault does not let us in.
            SystemAway: Vault can't tell now.
        """
        status, body = self._within_time(target, self._token())
        if status == 403:
            raise Unresolved(
                reason="stands for a path that Vault does not let this executor read (403)",
                fix="See that the token in the executor's --vault-token-file is valid, and that its policy may read the path.",
            )
        if status == 404:
            raise Unresolved(
                reason="stands for nothing in Vault: at this path there is no secret, or it was deleted (404)",
                fix="Correct the path (MOUNT/PATH, without data/), or store the secret; the mount must be of KV, version 2.",
            )
        if status in _STANDBY:
            msg = f"{self._name} sends us to another server ({status}), which is not followed: give the address of the active one"
            raise SystemAway(msg)
        if status == 429 or status >= 500:
            msg = f"{self._name} can't answer now ({status}{', it is sealed or starting' if status == 503 else ''})"
            raise SystemAway(msg)
        if status != 200:
            raise Unresolved(
                reason=f"can't be asked of Vault, which answers {status}",
                fix="Correct the executor's --vault-namespace and --vault-mounts.",
            )
        found = _values(body)
        if found is None:
            msg = f"{self._name} does not answer as Vault does: see that --vault-address is right"
            raise SystemAway(msg)
        return found

    def _within_time(self, target: str, token: str) -> tuple[int, bytes]:
        """Status and body of the answer.

        Raises:
            SystemAway: there is none, or not in time.
        """
        answer: Future[tuple[int, bytes]] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._ask(target, token))
            except BaseException as error:  # raised again below
                answer.set_exception(error)

        # A limit of its own for all of it: that of a socket begins anew with every byte, and finding an address has none.
        threading.Thread(target=ask, name="ask Vault", daemon=True).start()
        try:
            return answer.result(self._seconds)
        except TimeoutError:
            msg = f"{self._name} does not answer within {self._seconds:g} s"
        except OSError as error:
            msg = f"{self._name} cannot be reached: {error.strerror or error}"
        except (http.client.HTTPException, ValueError) as error:
            msg = f"{self._name} does not answer as a server of HTTP does ({type(error).__name__})"
        raise SystemAway(msg)

    def _ask(self, target: str, token: str) -> tuple[int, bytes]:
        headers = {"X-Vault-Token": token, "X-Vault-Request": "true", "Connection": "close"}
        if self._access.namespace:
            headers["X-Vault-Namespace"] = self._access.namespace
        with closing(self._connection()) as connection:
            connection.request("GET", target, headers=headers)
            response = connection.getresponse()
            return response.status, response.read(_LARGEST)

    def _connection(self) -> http.client.HTTPConnection:
        url = urlsplit(self._access.address)
        host = url.hostname or ""
        if url.scheme == "http":
            return http.client.HTTPConnection(host, url.port, timeout=self._seconds)
        return http.client.HTTPSConnection(host, url.port, timeout=self._seconds, context=self._trusted())

    def _trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._access.ca or None)

    def _token(self) -> str:
        """The token, read for each request: who renews it writes the file anew.

        Raises:
            Unresolved: there is none.
        """
        why = "it holds no token, or more than that"
        try:
            token = Path(self._access.token_file).read_text(encoding="ascii").strip()
        except OSError as error:
            token, why = "", error.strerror or type(error).__name__
        except ValueError:
            token = ""
        # What is no header is not given to who would repeat it in an error.
        if not token or not token.isprintable() or " " in token:
            raise Unresolved(
                reason=f"is in Vault, and the file with this executor's token for it cannot be used: {why}",
                fix="Put the token, and nothing else, into the file of the executor's --vault-token-file, readable for it.",
            )
        return token

    @property
    def _name(self) -> str:
        return f"Vault at {self._access.address}"


def _values(body: bytes) -> Mapping[str, object] | None:
    """The keys and values in an answer; None: it is not one of KV, version 2."""
    try:
        found = json.loads(body)["data"]["data"]
    except (ValueError, LookupError, TypeError):
        return None
    return found if isinstance(found, dict) else None
