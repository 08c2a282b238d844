"""Who has sent messages: the names of connectors, of which messages say the uids."""

from collections.abc import Sequence
from typing import Any

from rocketconnect_cli.api import Api, ApiError


class Senders:
    """Names of connectors by their uids, asked for when one is met that is not known.

    Args:
        client: Is asked.
    """

    def __init__(self, client: Api) -> None:
        self._client = client
        self._names: dict[str, str | None] = {}

    def name(self, records: Sequence[dict[str, Any]]) -> None:
        """Put the name of its connector beside the uid in the source of each record: empty of one that is gone.

        Where nobody tells names there are none.
        """
        sources = [source for record in records if (source := record.get("source"))]
        if any(source.get("connectorUid") not in self._names for source in sources):
            self._learn([source.get("connectorUid", "") for source in sources])
        for source in sources:
            if (name := self._names.get(source.get("connectorUid", ""))) is not None:
                source["connectorName"] = name

    def _learn(self, uids: Sequence[str]) -> None:
        self._names.update(dict.fromkeys(uids))
        try:
            found = {row["uid"]: row["name"] for row in self._client.pages("/v1/connectors", "connectors", {"name": "", "uid": ""})}
        except ApiError:
            # Messages are shown also where nobody tells names.
            return
        self._names.update(dict.fromkeys(uids, ""))
        self._names.update(found)
