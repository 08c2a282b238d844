"""Secrets that stand elsewhere than in the header Authorization."""

from rocketconnect_sdk.http.login import Login


class Unsaid(Login):
    """Secrets that are hidden in what servers say, as those of every Login, and stand in no header of it."""

    @property
    def header(self) -> str:
        """See Login."""
        return ""
