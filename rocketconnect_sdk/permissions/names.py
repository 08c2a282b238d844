"""Lists of names that operators write."""

from fnmatch import fnmatchcase


def is_named(name: str, patterns: str) -> bool:
    """Whether a list names it: patterns separated by commas, in which `*` stands for any characters."""
    return any(fnmatchcase(name, pattern) for pattern in map(str.strip, patterns.split(",")) if pattern)
