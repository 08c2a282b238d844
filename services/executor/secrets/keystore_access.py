"""What hosts are told of the keystore, as variables."""

KEYS = "ROCKETCONNECT_KEYSTORE_KEYS"
"""The file with the keys that open it."""

NAMES = "ROCKETCONNECT_KEYSTORE_NAMES"
"""Names of secrets that `${keystore:NAME}` may stand for, separated by commas; `*` stands for any characters."""

CONFIG_ADDRESS = "ROCKETCONNECT_CONFIG_ADDRESS"
TLS_CA = "ROCKETCONNECT_TLS_CA"
TLS_CERT = "ROCKETCONNECT_TLS_CERT"
TLS_KEY = "ROCKETCONNECT_TLS_KEY"
OWN_TOKEN = "ROCKETCONNECT_TOKEN_FILE"  # noqa: S105 - the name of a variable
"""The file with the token that the services are shown."""
