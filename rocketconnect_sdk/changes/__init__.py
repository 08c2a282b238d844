"""Changes of the rows of tables, as sources that capture them send them: one form for all databases.

docs/changes.md describes the form for those who read it.
"""

from rocketconnect_sdk.changes.column_masks import MASK_OPTIONS, ColumnMasks
from rocketconnect_sdk.changes.envelope import Operation, Origin, envelope, key_of
from rocketconnect_sdk.changes.form import OPTIONS, ChangeForm
from rocketconnect_sdk.changes.message_keys import KEY_OPTION, MessageKeys
from rocketconnect_sdk.changes.table import TableChanges, Transaction

__all__ = [
    "KEY_OPTION",
    "MASK_OPTIONS",
    "OPTIONS",
    "ChangeForm",
    "ColumnMasks",
    "MessageKeys",
    "Operation",
    "Origin",
    "TableChanges",
    "Transaction",
    "envelope",
    "key_of",
]
