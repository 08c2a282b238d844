"""Topics into files of a server of SFTP: Parquet, ORC, JSON lines, CSV."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from connectors.object_store_sink import FORM_CHECKS, FORMS, ObjectStoreSink, form_of, layout_of
from connectors.sftp.options import SERVER, key_problems, login_of, login_problems, place_of, write_problems
from rocketconnect_sdk.errors import Problem
from rocketconnect_sdk.options import Config, run_checks
from rocketconnect_sdk.targets.owned import Target

if TYPE_CHECKING:
    from connectors.object_store_sink.task import SinkSettings


class SftpSink(ObjectStoreSink):
    """Writes files to a server of SFTP, exactly once: Parquet, ORC, JSON lines, CSV. Nobody ever sees half of one."""

    name = "sftp_sink"
    options = (*SERVER, *FORMS)

    def check(self, config: Config) -> Iterable[Problem]:
        """See Sink."""
        return run_checks(config, *FORM_CHECKS, login_problems, key_problems, write_problems)

    def targets(self, config: Config) -> Iterable[Target]:
        """The folder. See Sink."""
        place = place_of(config)
        yield Target("path", f"{place.kind}://{config['username']}@{place.bucket.lower()}/{place.prefix}")

    def written(self, config: Config) -> "SinkSettings":
        """See ObjectStoreSink."""
        from connectors.object_store_sink.task import SinkSettings

        return SinkSettings(place_of(config), login_of(config), form_of(config), layout_of(config))
