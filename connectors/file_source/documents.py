"""Files that are one JSON value where each line should be one: how they begin, and how they become lines. Pure."""

from rocketconnect_sdk.converters.json.reading import NotJson, check_text

ARRAY_FIX = "Write its elements as lines, jq -c '.[]' in.json > out.jsonl, and read that file."
OBJECT_FIX = "Write it as a line, jq -c . in.json > out.jsonl, and read that file."
ARRAY = "it is one JSON array, and format=jsonlines reads a JSON value from each line"
OBJECT = "it is one JSON object over several lines, and format=jsonlines reads a JSON value from each line"
MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8, with which a file may begin."""


def document(head: bytes) -> tuple[str, str] | None:
    """What is wrong with a file that begins so, and what to do; None: it may well be lines of JSON.

    Lines that are arrays are lines. One array of objects on the first line, with nothing behind it, is the whole file.

    Args:
        head: The first bytes of the file, or all of them.
    """
    line, newline, rest = head.removeprefix(MARK).lstrip().partition(b"\n")
    if newline:
        return _of_line(line) or (None if rest.strip() or not _holds_objects(line) else (ARRAY, ARRAY_FIX))
    return (ARRAY, ARRAY_FIX) if _holds_objects(line) else None


def beginning(line: bytes) -> str:
    """What to say of a line that is not JSON, where it looks as if the file were one value: " ..."; empty: it does not."""
    found = _of_line(line)
    return "" if found is None else f"; if the file begins so, {found[0]}. {found[1]}"


def _of_line(line: bytes) -> tuple[str, str] | None:
    """Of a whole line."""
    begun = line.strip()
    if begun == b"{":
        return OBJECT, OBJECT_FIX
    return (ARRAY, ARRAY_FIX) if begun.startswith(b"[") and not _is_json(begun) else None


def _holds_objects(line: bytes) -> bool:
    return line[:1] == b"[" and line[1:].lstrip()[:1] == b"{"


def _is_json(text: bytes) -> bool:
    try:
        check_text(text)
    except NotJson:
        return False
    return True
