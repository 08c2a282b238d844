"""Where secrets are: a provider for each kind of reference."""

from collections.abc import Mapping

from rocketconnect_sdk.configuration.references import ENV, FILE, KEYSTORE, VAULT
from services.executor.secrets.providers.files import Files
from services.executor.secrets.providers.keystore import Keystore
from services.executor.secrets.providers.provider import Provider, Unresolved
from services.executor.secrets.providers.variables import Variables
from services.executor.secrets.providers.vault import Vault

__all__ = ["Provider", "Unresolved", "providers"]


def providers(environment: Mapping[str, str]) -> dict[str, Provider]:
    """The providers of all kinds of references, as the operator of the executor has set them up.

    See rocketconnect_sdk.configuration.references.

    Args:
        environment: That of this process. services.executor.environment has put into it what connectors may read.
    """
    return {
        ENV.kind: Variables(environment),
        FILE.kind: Files(environment),
        VAULT.kind: Vault(environment),
        KEYSTORE.kind: Keystore(environment),
    }
