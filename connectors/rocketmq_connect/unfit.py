"""What is told of a value that has no counterpart. Pure."""

from rocketconnect_sdk.errors import RecordError


class Unfit(RecordError):
    """A value, or its schema, has no counterpart.

    Args:
        what: Of it, as a part of a sentence.
        path: The fields that it is in, the outermost first.
    """

    def __init__(self, what: str, path: tuple[str, ...] = ()) -> None:
        where = f"the field {'.'.join(path)}" if path else "the record"
        super().__init__(f"{where} {what}")
        self._what, self._path = what, path

    def within(self, name: str) -> "Unfit":
        """The same, in a field of that name."""
        return Unfit(self._what, (name, *self._path))
