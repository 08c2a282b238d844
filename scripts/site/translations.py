"""Which translated pages are behind their originals.

The last line of a translated page is a comment, `<!-- of ORIGINAL at COMMIT -->`: the path of its original from the root of the
repository, and the commit whose original it says the same as.
"""

import re
import subprocess
from pathlib import Path

_SOURCE = re.compile(r"<!-- of (\S+) at ([0-9a-f]{8,40}) -->\s*\Z")


def source_of(text: str) -> tuple[str, str]:
    """The original and the commit that a translated page names.

    Raises:
        ValueError: It names none.
    """
    found = _SOURCE.search(text)
    if not found:
        missing = "The last line has to be <!-- of ORIGINAL at COMMIT -->"
        raise ValueError(missing)
    return found[1], found[2]


def behind(root: Path, page: Path) -> list[str]:
    """The commits that changed the original of this page since, newest first; one line each, as `git log --oneline` has them.

    Without the history (an archive, a shallow clone) one line says that it is not known.
    """
    original, commit = source_of(page.read_text(encoding="utf-8"))
    asked = ["git", "log", "--oneline", f"{commit}..HEAD", "--", original]
    found = subprocess.run(asked, cwd=root, check=False, capture_output=True, text=True)
    return found.stdout.splitlines() if not found.returncode else [f"what changed since {commit} is not known here"]
