"""Files of this machine as pyiceberg reads them: beneath the folders that the operator lets connectors read."""

import os
from pathlib import Path
from typing import Any, cast
from urllib.parse import unquote

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile

from rocketconnect_sdk.errors import PermanentError
from rocketconnect_sdk.permissions.roots import reading


def local(location: str) -> Path:
    """The path of a file that Iceberg names. Raises PermanentError: it is on no file system of this machine."""
    scheme, found, rest = location.partition(":")
    if not found or "/" in scheme:
        return Path(location)
    if scheme != "file":
        msg = f"{location}: the files of the table are not in a directory of this machine, and only such tables are read"
        raise PermanentError(msg)
    path = "/" + rest.lstrip("/")
    # Iceberg names files as they are; other writers make an address of it.
    return Path(path) if Path(path).exists() else Path(unquote(path))


class _Local(InputFile):
    def __len__(self) -> int:
        return local(self.location).stat().st_size

    def exists(self) -> bool:
        return local(self.location).exists()

    def open(self, seekable: bool = True) -> InputStream:  # as pyiceberg has it
        del seekable
        return cast("InputStream", os.fdopen(reading().open(local(self.location), os.O_RDONLY), "rb"))


class LocalFiles(FileIO):
    """Reads, and writes nothing."""

    def new_input(self, location: str) -> InputFile:
        """See FileIO."""
        return _Local(location)

    def new_output(self, location: str) -> OutputFile:
        """See FileIO."""
        raise NotImplementedError(location)

    def delete(self, location: Any) -> None:
        """See FileIO."""
        raise NotImplementedError(str(location))
