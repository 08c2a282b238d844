"""What people are told of files that were copied, emptied or replaced."""

from collections.abc import Mapping
from pathlib import Path
from shlex import quote

from connectors.file_source.checks.doubts import unended_fix
from connectors.file_source.folders import files
from connectors.file_source.identity import FileCoordinate
from connectors.file_source.rotation.formers import Former
from rocketconnect_sdk.wording.counts import counted


def copied(path: Path, original: Former) -> str:
    """Of a copy that is read in the place of another file."""
    read = original.path or "another file"
    return f"{path} holds what was read of {read}: it is a copy, and is read on behind byte {original.offset[0]}"


def lost(path: Path, former: Former) -> str:
    """What is told of a file that does not hold any more what was read of it, and of which no copy was found."""
    here = quote(str(path.parent))
    return (
        f"{path} does not hold any more what was read of it up to byte {former.offset[0]}: it was emptied, written anew or "
        f"replaced, and is read from its beginning. Lines that were written behind that byte before are missing, if there were "
        f"any, and no copy of the file is in its directory. To look for one: `ls -lat {here}`. Lines of a copy from there on: "
        f"`tail -c +{former.offset[0] + 1} COPY >> {quote(str(path))}` sends them. Where files are rotated, rename them (logrotate "
        "without copytruncate): then nothing is missed"
    )


def unended(path: Path, waiting: int, others: int = 0) -> str:
    """Of a last line without a newline: so many bytes of it wait, and those of so many other files."""
    more = f" (and of {counted(others, 'other file')})" if others else ""
    left = counted(waiting, "byte", "is", "are")
    return f"the last line of {path}{more} has no newline: {left} not sent before one follows. {unended_fix(path)}"


def replaced(path: Path, alike: Mapping[int, FileCoordinate]) -> str:
    """Of a file that took the place of one that was read, and begins alike: it may be that one with changes. Empty: nothing.

    Args:
        path: Where it is.
        alike: Where other files that began alike were read to, by their inodes.
    """
    # What was rotated away is still there.
    former = alike.keys() - dict(files([path.parent]))
    if not former:
        return ""
    read = max(alike[inode].offset[0] for inode in former)
    return (
        f"{path} is another file than the one of which {counted(read, 'byte')} were read, and begins as that did: all of its "
        "records are sent, those that were read before once more. To change a file that is read write into it "
        f"(cp CHANGED {quote(str(path))}) and do not replace it"
    )
