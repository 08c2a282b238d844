"""A client of a schema registry, in the REST form of Confluent's. Karapace has the same, and Apicurio at /apis/ccompat/v7."""

from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import quote

from rocketconnect_sdk.errors import PermanentError, SystemAway
from rocketconnect_sdk.options import Config
from rocketconnect_sdk.registry import answers
from rocketconnect_sdk.registry.answers import NoAnswer, RegistryRejected
from rocketconnect_sdk.registry.model import Incompatible, RegisteredSchema, Unknown, Version
from rocketconnect_sdk.registry.transport import Transport

_T = TypeVar("_T")

_NOT_FOUND = (40401, 40402, 40403, 40408)
"""The registry's codes for a subject, a version, a schema and a level of compatibility that it does not have."""
_MOST_ID = 2**63 - 1
_MOST_VERSION = 2**31 - 1


class Registry:
    """A registry. Safe to use from any thread; connects when it is asked for something.

    Every method raises SystemAway where no URL answers as a registry does, and PermanentError where the registry lets nobody in or
    does not take what it is given. Nothing is changed here then: call it again. It remembers nothing, which is its user's part.

    Args:
        config: Has the options of rocketconnect_sdk.registry.options, with references resolved.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._made: Transport | None = None

    def by_id(self, number: int) -> RegisteredSchema:
        """The schema of an id. Raises Unknown where there is none."""
        try:
            return self._call("GET", f"/schemas/ids/{number}", answers.schema)
        except RegistryRejected as error:
            if error.status == 404:
                msg = f"the schema registry has no schema {number} ({error.reason}): was it deleted, or is it another registry's?"
                raise Unknown(msg) from None
            raise _permanent(error, f"the schema {number}") from None

    def version(self, subject: str, number: int | None = None) -> Version | None:
        """A version of a subject, the latest by default; None: there is none."""
        which = "latest" if number is None else str(number)
        try:
            return self._call("GET", f"/subjects/{_quoted(subject)}/versions/{which}", _version)
        except RegistryRejected as error:
            if error.code in _NOT_FOUND:
                return None
            raise _permanent(error, f"the version {which} of the subject {subject}") from None

    def find(self, subject: str, schema: RegisteredSchema, *, normalize: bool = False) -> int | None:
        """The id of a schema that a subject has; None: it has not."""
        try:
            return self._call("POST", f"/subjects/{_quoted(subject)}", _id, answers.asked(schema), _normalized(on=normalize))
        except RegistryRejected as error:
            if error.code in _NOT_FOUND:
                return None
            raise _permanent(error, f"a schema of the subject {subject}") from None

    def register(self, subject: str, schema: RegisteredSchema, *, normalize: bool = False) -> int:
        """Registers a schema, if it is not there yet; its id.

        Raises:
            Incompatible: it breaks what the subject promises.
        """
        path = f"/subjects/{_quoted(subject)}/versions"
        try:
            return self._call("POST", path, _id, answers.asked(schema), _normalized(on=normalize))
        except RegistryRejected as error:
            if error.status == 409:
                raise incompatible(subject, schema, [error.reason]) from None
            raise _permanent(error, f"a schema for the subject {subject}") from None

    def conflicts(self, subject: str, schema: RegisteredSchema) -> list[str]:
        """Why a schema cannot follow the latest one of a subject; empty: it can, or is the first."""
        path = f"/compatibility/subjects/{_quoted(subject)}/versions/latest"
        try:
            return self._call("POST", path, _conflicts, answers.asked(schema), {"verbose": "true"})
        except RegistryRejected as error:
            if error.code in _NOT_FOUND:
                return []
            raise _permanent(error, f"a schema for the subject {subject}") from None

    def compatibility(self, subject: str) -> str | None:
        """What versions of a subject may change; None: what the registry says of all of them."""
        try:
            return self._call("GET", f"/config/{_quoted(subject)}", lambda body: answers.text(body, "compatibilityLevel"))
        except RegistryRejected as error:
            if error.code in _NOT_FOUND:
                return None
            raise _permanent(error, f"the compatibility of the subject {subject}") from None

    def set_compatibility(self, subject: str, level: str) -> bool:
        """Sets what versions of a subject may change: one of COMPATIBILITIES. False: not before there is the subject (Apicurio)."""
        try:
            self._call("PUT", f"/config/{_quoted(subject)}", lambda _: None, {"compatibility": level})
        except RegistryRejected as error:
            if error.code in _NOT_FOUND:
                return False
            raise _permanent(error, f"the compatibility {level} of the subject {subject}") from None
        return True

    def _call(
        self,
        method: str,
        path: str,
        read: Callable[[object], _T],
        body: object = None,
        parameters: Mapping[str, str] | None = None,
    ) -> _T:
        if self._made is None:
            self._made = Transport(self._config)
        found = self._made.call(method, path, body, parameters)
        try:
            return read(found)
        except NoAnswer as error:
            msg = f"the schema registry does not answer: one of {', '.join(self._config['schema.registry.url'])} {error}"
            raise SystemAway(msg) from None


def incompatible(subject: str, schema: RegisteredSchema, reasons: list[str]) -> Incompatible:
    """What says that a schema breaks what its subject promises."""
    why = "; ".join(reasons)[:2_000]
    return Incompatible(
        f"the schema registry does not take a schema for the subject {subject}, which is not compatible with what is there: {why}. "
        "Change it so that it is, use another subject or topic, or set the option compatibility for the subject, such as NONE. "
        f"The schema: {schema.text[:1_000]}"
    )


def _permanent(error: RegistryRejected, what: str) -> PermanentError:
    return PermanentError(f"the schema registry refuses {what}: {error.reason} (code {error.code})")


def _version(body: object) -> Version:
    return Version(answers.number(body, "version", most=_MOST_VERSION), _id(body), answers.schema(body))


def _id(body: object) -> int:
    return answers.number(body, "id", most=_MOST_ID)


def _conflicts(body: object) -> list[str]:
    fits = body.get("is_compatible") if isinstance(body, dict) else None
    if not isinstance(body, dict) or not isinstance(fits, bool):
        msg = "answers without is_compatible, as no schema registry does"
        raise NoAnswer(msg)
    said = body.get("messages")
    return [] if fits else [str(one)[:500] for one in said] if isinstance(said, list) and said else ["no reason given"]


def _normalized(*, on: bool) -> Mapping[str, str] | None:
    return {"normalize": "true"} if on else None


def _quoted(subject: str) -> str:
    return quote(subject, safe="")
