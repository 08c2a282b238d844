"""What a task reads and writes, as lineage names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Dataset:
    """By the naming rules of OpenLineage: where it is, and what it is called there. Without secrets."""

    namespace: str
    name: str


@dataclass(frozen=True, slots=True)
class Datasets:
    """Those of one task."""

    inputs: tuple[Dataset, ...]
    outputs: tuple[Dataset, ...]
