"""What can be said of a configuration without its plugin: names, sizes, secrets. Pure; always all problems at once."""

import re
from collections.abc import Iterable, Mapping, Sequence

from rocketconnect_kit.errors import AlreadyExists, FieldProblem, InvalidArgument
from rocketconnect_kit.settings import parse_addresses
from rocketconnect_sdk.configuration.nearest import did_you_mean, nearest
from rocketconnect_sdk.configuration.references import REFERENCE, REFERENCE_FIX, wrong_reference
from rocketconnect_sdk.configuration.runtime_options import CLASS
from rocketconnect_sdk.options import names_secret
from rocketconnect_sdk.targets.owned import Target
from rocketconnect_sdk.wording.counts import counted
from services.config.domain import Connector, Draft

MAXIMUM_KEYS = 1_000
MAXIMUM_KEY_BYTES = 256
MAXIMUM_VALUE_BYTES = 64 * 1024
MAXIMUM_CONFIG_BYTES = 256 * 1024
MAXIMUM_NAME = 128
PREVIEW_RECORDS = 10
MAXIMUM_PREVIEW_RECORDS = 100
MAXIMUM_CLEANUP_SECONDS = 3_600
MAXIMUM_VERIFIED_KEYS = 1_000
MAXIMUM_PLUGINS = 2_000

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}", re.ASCII)
_TOKEN = re.compile(r"[\x21-\x7e]{1,128}")
_HIDDEN = "***"
_SHORTEST_GUESSED = 4


def preview_problems(records: int) -> list[FieldProblem]:
    """Return what is wrong with the number of records of a preview."""
    if 0 <= records <= MAXIMUM_PREVIEW_RECORDS:
        return []
    fix = f"give 1 to {MAXIMUM_PREVIEW_RECORDS}, or 0 for {PREVIEW_RECORDS}"
    return [FieldProblem("records", str(records), "is no number of records that can be shown", fix)]


def verification_problems(keys: int) -> list[FieldProblem]:
    """Return what is wrong with the number of rows that are to be compared."""
    if keys <= MAXIMUM_VERIFIED_KEYS:
        return []
    return [FieldProblem("keys", str(keys), "are too many rows", f"ask for at most {MAXIMUM_VERIFIED_KEYS:,} at once")]


def cleanup_problems(seconds: int) -> list[FieldProblem]:
    """Return what is wrong with the time for which a cleanup is taken."""
    if 1 <= seconds <= MAXIMUM_CLEANUP_SECONDS:
        return []
    fix = f"give 1 to {MAXIMUM_CLEANUP_SECONDS:,} seconds"
    return [FieldProblem("seconds", str(seconds), "is no time for which a cleanup can be taken", fix)]


def name_problems(name: str) -> list[FieldProblem]:
    """Return what is wrong with the name of a connector."""
    if _NAME.fullmatch(name):
        return []
    rule = 'use 1 to 128 letters, digits, "_" and "-", beginning with a letter or a digit'
    if not name:
        return [FieldProblem("name", "", "is empty", rule)]
    shown = name if len(name) <= MAXIMUM_NAME else f"{name[:MAXIMUM_NAME]}..."
    reasons = []
    if len(name) > MAXIMUM_NAME:
        reasons.append(f"is {counted(len(name), 'character')} long")
    wrong = sorted(set(re.findall(r"[^A-Za-z0-9_-]", name)))
    if wrong:
        reasons.append("has " + ", ".join(_character(character) for character in wrong[:5]))
    elif name[0] in "_-":
        reasons.append(f"begins with {name[0]!r}")
    return [FieldProblem("name", shown, " and ".join(reasons), rule)]


def draft_problems(draft: Draft) -> list[FieldProblem]:
    """Return what is wrong with what a connector that is to be created is called; its configuration is not looked at."""
    given = {"request_id": draft.request_id, "adopt_uid": draft.adopt_uid, "apply_set": draft.apply_set}
    return [*name_problems(draft.name), *(problem for field, value in given.items() for problem in token_problems(field, value))]


def token_problems(field: str, value: str) -> list[FieldProblem]:
    """Return what is wrong with an id that a caller chose (request id, uid, worker id)."""
    if not value or _TOKEN.fullmatch(value):
        return []
    return [FieldProblem(field, value[:128], "is not an id", "use 1 to 128 printable ASCII characters without spaces")]


def report_problems(worker_id: str, address: str, plugins: int) -> list[FieldProblem]:
    """Return what is wrong with a worker's report of so many plugins."""
    problems = token_problems("worker_id", worker_id)
    if not worker_id:
        problems.append(FieldProblem("worker_id", "", "is empty", "give the id of the worker"))
    if plugins > MAXIMUM_PLUGINS:
        problems.append(FieldProblem("plugins", str(plugins), "are too many", f"report at most {MAXIMUM_PLUGINS:,}"))
    try:
        count = len(parse_addresses(address))
    except ValueError as error:
        return [*problems, FieldProblem("address", address[:256], str(error), "give the one host:port it serves on")]
    if count != 1 or len(address) > 256:
        problems.append(FieldProblem("address", address[:256], "is not one address", "give its host:port"))
    return problems


def size_problems(config: Mapping[str, str]) -> list[FieldProblem]:
    """Return what is wrong with the sizes and keys of a configuration.

    Values are never repeated: which of them are secrets is not known here.
    """
    problems = []
    if len(config) > MAXIMUM_KEYS:
        problems.append(FieldProblem("", "", f"has {counted(config, 'key')}", f"use at most {MAXIMUM_KEYS:,}"))
    total = 0
    for key, value in config.items():
        key_bytes, value_bytes = len(key.encode()), len(value.encode())
        total += key_bytes + value_bytes
        if not key.strip() or not key.isprintable() or key_bytes > MAXIMUM_KEY_BYTES:
            fix = f"use 1 to {MAXIMUM_KEY_BYTES} printable characters"
            problems.append(FieldProblem(key[:MAXIMUM_KEY_BYTES], "", "is not a key", fix))
        if value_bytes > MAXIMUM_VALUE_BYTES:
            fix = f"use at most {MAXIMUM_VALUE_BYTES:,}; put what is longer into a file and give its path"
            problems.append(FieldProblem(key[:MAXIMUM_KEY_BYTES], "", f"has a value of {counted(value_bytes, 'byte')}", fix))
    if total > MAXIMUM_CONFIG_BYTES:
        problems.append(FieldProblem("", "", f"holds {counted(total, 'byte')}", f"use at most {MAXIMUM_CONFIG_BYTES:,}"))
    return problems


def fits(config: Mapping[str, str]) -> bool:
    """Return whether a configuration as a whole is small enough to be given to an executor."""
    total = sum(len(key.encode()) + len(value.encode()) for key, value in config.items())
    return len(config) <= MAXIMUM_KEYS and total <= MAXIMUM_CONFIG_BYTES


def class_problems(config: Mapping[str, str]) -> list[FieldProblem]:
    """Return the problem of a configuration that names no plugin."""
    if config.get(CLASS.key, "").strip():
        return []
    fix = f"set {CLASS.key} to the name of a plugin, such as file_source (rocketconnect plugins lists them)"
    return [FieldProblem(CLASS.key, "", f"Request config key: {CLASS.key}", fix)]


def unknown_class(class_name: str, available: Iterable[str]) -> FieldProblem:
    """Return the problem of a class that no executor offers."""
    names = sorted(available)
    meant = did_you_mean(nearest(class_name.strip(), names))
    among = f"se one of: {', '.join(names) or 'none'}"
    fix = f"{meant} U{among}" if meant else f"u{among}"
    return FieldProblem(CLASS.key, class_name[:200], "no executor offers a plugin of this name", fix)


def taken(target: Target, owner: str) -> FieldProblem:
    """Return the problem of a connector that names what another one writes."""
    reason = f"the connector {owner!r} writes there already, and one alone may"
    return FieldProblem(target.key, target.name, reason, f"name another place, or delete {owner!r} first")


def refuse(problems: Sequence[FieldProblem]) -> None:
    """Raise InvalidArgument (CONFIG_INVALID) with all problems, if there are any."""
    if problems:
        heading = counted(problems, "problem")
        # Executors end what they say with a full stop, the checks here do not.
        message = f"{heading}: " + ". ".join(str(problem).removesuffix(".") for problem in problems)
        raise InvalidArgument("CONFIG_INVALID", message[:4_000], problems)


def together(first: Iterable[FieldProblem], more: Iterable[FieldProblem]) -> list[FieldProblem]:
    """Return all problems; of those in `more` only the ones of fields that the first say nothing of."""
    told = list(first)
    fields = {problem.field for problem in told if problem.field}
    return told + [problem for problem in more if problem.field not in fields]


def secret_problems(config: Mapping[str, str], secret_keys: Iterable[str]) -> list[FieldProblem]:
    """Return the secrets that are no references which a worker can resolve (invariant 6: only references are stored)."""
    return [
        FieldProblem(key, _shown(config[key]), reason, REFERENCE_FIX)
        for key in sorted(set(secret_keys) & config.keys())
        if config[key] and (reason := wrong_reference(config[key]))
    ]


def without_secrets(problems: Iterable[FieldProblem], config: Mapping[str, str], secret_keys: Iterable[str]) -> list[FieldProblem]:
    """Return the problems with every literal secret hidden, in whatever field it was repeated (invariant 6).

    What stands under a key that only looks like that of a secret is hidden, too; in other fields, unless it is so short that it
    may well be there by chance.
    """
    guessed = {key for key, value in config.items() if names_secret(key) and len(value) >= _SHORTEST_GUESSED}
    keys = {key for key in {*secret_keys, *guessed} if config.get(key) and not REFERENCE.fullmatch(config[key])}
    # The longest first, so that no rest of a longer secret stays when a shorter one is a part of it.
    literals = sorted((config[key] for key in keys), key=len, reverse=True)

    def clean(text: str) -> str:
        for secret in literals:
            text = text.replace(secret, _HIDDEN)
        return text

    return [
        FieldProblem(
            problem.field,
            _HIDDEN if (problem.field in keys or _hides(problem)) and problem.value else clean(problem.value),
            clean(problem.reason),
            clean(problem.fix),
        )
        for problem in problems
    ]


def _hides(problem: FieldProblem) -> bool:
    return names_secret(problem.field) and not REFERENCE.fullmatch(problem.value)


def _shown(secret: str) -> str:
    return secret if REFERENCE.fullmatch(secret) else _HIDDEN


def _character(character: str) -> str:
    names = {"/": "a slash", ".": "a dot", " ": "a space", "\\": "a backslash", "\n": "a line break", "\t": "a tab"}
    return names.get(character) or (repr(character) if character.isprintable() else f"the character U+{ord(character):04X}")


def refuse_same(connector: Connector, config: Mapping[str, str]) -> None:
    """Raise AlreadyExists (SAME_CONFIG) when the connector has this configuration already."""
    if connector.config == dict(config):
        message = f"connector {connector.name!r} has this configuration already; nothing was written"
        raise AlreadyExists("SAME_CONFIG", message, connector=connector.name)
