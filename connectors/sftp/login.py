"""A server of SFTP as a place of files. Picklable."""

from dataclasses import dataclass

from connectors.objects.files import FilesLogin, StagedFiles
from connectors.objects.location import Location
from connectors.sftp.server import SftpServer


@dataclass(frozen=True, slots=True)
class SftpLogin(SftpServer, FilesLogin):
    """A server of SFTP as a place of files."""

    def files(self, place: Location) -> StagedFiles:
        """See FilesLogin."""
        from connectors.sftp.files import SftpFiles

        return SftpFiles(place.prefix, self)
