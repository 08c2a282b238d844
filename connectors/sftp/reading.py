"""What sources of files of a server have in common, whatever protocol it speaks."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from connectors.object_store_source import FORGET_AFTER, FORMS, ObjectStoreSource, reader_of
from connectors.objects.files import Files
from connectors.objects.location import Location
from connectors.sftp.whole import AFTER, WHOLE, After, Rules, When, rules_of
from rocketconnect_sdk.context import TaskContext
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.origins.origin import Origin
from rocketconnect_sdk.record import SourceBatch

if TYPE_CHECKING:
    from connectors.sftp.task import FileTask

READING = (*FORMS, *WHOLE, *AFTER, FORGET_AFTER)
"""Which files are read, what they are, when they are whole, and what becomes of them."""
_SAMPLED = 100


class FileSource(ObjectStoreSource):
    """Reads files of a server, each once, and new ones as they come."""

    @abstractmethod
    def place(self, config: Config) -> Location:
        """The folder."""

    @abstractmethod
    def files(self, config: Config) -> Files:
        """The files below it. Asks nobody."""

    def sample(self, config: Config) -> SourceBatch | None:
        """Of files that may not be whole yet. See Source."""
        rules = rules_of(config)
        shown = replace(rules, when=When.RENAME if rules.when is When.REST else rules.when, after=After.KEEP)
        task = self._task(config, (0, 1), TaskContext(batch_records=_SAMPLED), shown)
        task.start({})
        try:
            return task.poll()
        finally:
            task.close()

    def origins(self, config: Config) -> Iterable[Origin]:
        """The folder with its pattern; of folders within each other nothing is known. See Source."""
        place = self.place(config)
        yield Origin("path", f"{place.kind}://{config['username']}@{place.bucket.lower()}", f"{place.prefix}/{config['pattern']}")

    def open(self, config: Config, task: Mapping[str, str], context: TaskContext) -> "FileTask":
        """See Source."""
        number, _, tasks = task["share"].partition("/")
        return self._task(config, (int(number), int(tasks)), context, rules_of(config))

    def _task(self, config: Config, share: tuple[int, int], context: TaskContext, rules: Rules) -> "FileTask":
        from connectors.sftp.task import FileTask, WatchedFolder
        from rocketconnect_sdk.files.gone import GoneObjects

        folder = WatchedFolder(self.place(config), self.files(config), config["temporary.suffixes"], rules)
        every = config["discover.interval"] if config["follow"] else None
        # Where what was read goes away, an empty folder is how it should be.
        missing = GoneObjects(config["positions.forget.after"], may_be_empty=rules.after is not After.KEEP)
        opening = partial(reader_of, config, folder, context)
        return FileTask(folder, config["pattern"], rules, share, opening, every, context, missing)
