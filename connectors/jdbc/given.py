"""Rows that a database is given in a transaction, and what is done with them there."""

from abc import ABC, abstractmethod
from typing import Self


class Given(ABC):
    """Rows for a table, each of another key."""

    @abstractmethod
    def delete(self) -> None:
        """Deletes the rows of the table that have these keys."""

    @abstractmethod
    def merge(self) -> None:
        """Inserts the rows, or updates those of the table that have their keys."""

    @abstractmethod
    def update(self) -> None:
        """Gives the rows of the table that have these keys the values, of which there is one at least beside the key."""

    @abstractmethod
    def missing(self) -> int:
        """How many have a key that the table lacks."""

    @abstractmethod
    def merge_missing(self) -> None:
        """Merges those that `missing` counted last."""

    @abstractmethod
    def rename(self, now: Self) -> None:
        """Gives the row of the table that has this key the other one; each of the two is one key."""
