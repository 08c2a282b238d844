"""A text that is not what a form says."""


class Unfit(ValueError):
    """A record is no log record of its form.

    Attributes:
        kind: The class of the error, as dead letters have it.
    """

    def __init__(self, kind: str, reason: str) -> None:
        super().__init__(reason)
        self.kind = kind
