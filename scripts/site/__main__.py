"""`make docs`: builds the site of the documents in .venv/docs/site, and lists the translations that are behind."""

import subprocess
import sys
from pathlib import Path

from scripts.site.navigation import DOCS, ROOT
from scripts.site.staging import foreign, stage
from scripts.site.translations import behind


def main() -> int:
    """Build it; the exit code is 1 for links that lead nowhere, and for pages that would ask other hosts."""
    stage(DOCS, ROOT / ".venv/docs/pages")
    command = [str(Path(sys.executable).with_name("zensical")), "build", "--strict", "--clean", "-f", str(ROOT / "zensical.toml")]
    code = subprocess.run(command, cwd=ROOT, check=False).returncode
    for page in sorted((DOCS / "zh").glob("*.md")):
        if changes := behind(ROOT, page):
            sys.stdout.write(f"{page.relative_to(ROOT)} is behind its original by {len(changes)}: {changes[0]}\n")
    site = ROOT / ".venv/docs/site"
    asked = {host for page in site.rglob("*.html") for host in foreign(page.read_text(encoding="utf-8"))}
    if asked:
        sys.stdout.write(f"Its pages would ask other hosts: {', '.join(sorted(asked))}\n")
    elif not code:
        sys.stdout.write(
            "The site is in .venv/docs/site. To read it: python3 -m http.server --bind 127.0.0.1 --directory .venv/docs/site\n"
        )
    return code or bool(asked)


if __name__ == "__main__":
    sys.exit(main())
