"""The paths of the console: its page at /, and what that loads. Nobody is asked who it is for them; the API asks."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from starlette.responses import Response

from services.gateway.answers import problem_answer
from services.gateway.console.files import BUILT, PAGE, File, read
from services.gateway.pages import not_built
from services.gateway.problems import Problem, RequestRejected
from services.gateway.routing import Call, Handler, Route

_HEADERS: Mapping[str, str] = {
    # No script and no style but the built ones, no request to anybody else, no page around it; and what is text stays text: without
    # a policy of trusted types nothing can become HTML.
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Vary": "Accept-Encoding",
}
_ASKED_EACH_TIME = "no-cache"
_FOR_EVER = "public, max-age=31536000, immutable"
"""The names of what the page loads have a digest of the content."""


def routes(folder: Path = BUILT) -> Iterator[Route]:
    """Yield them. The files are read now: a console that is built later is there when the gateway is started again."""
    files = read(folder)
    if not files:
        yield Route("GET", "/", _not_built, problem_answer, changes=False, summary="how to build the console", is_public=True)
        return
    yield Route("GET", "/", _page(files[PAGE]), problem_answer, changes=False, summary="the console", is_public=True)
    yield Route("GET", "/console/{file}", _loaded(files), problem_answer, changes=False, summary="what it loads", is_public=True)


async def _not_built(_: Call) -> Response:
    return Response(not_built(), 200, {"Cache-Control": "no-store"}, "text/html")


def _page(file: File) -> Handler:
    async def handle(call: Call) -> Response:
        return _answer(file, call.headers, _ASKED_EACH_TIME)

    return handle


def _loaded(files: Mapping[str, File]) -> Handler:
    async def handle(call: Call) -> Response:
        file = files.get(call.path["file"])
        if file is None or call.path["file"] == PAGE:
            detail = "the console has no such file; if it was built anew, load its page again"
            raise RequestRejected(Problem(404, "NO_SUCH_PATH", detail, headers={"Cache-Control": "no-store"}))
        return _answer(file, call.headers, _FOR_EVER)

    return handle


def _answer(file: File, asked: Mapping[str, str], caching: str) -> Response:
    packed = _takes_gzip(asked.get("accept-encoding", ""))
    form = file.packed if packed else file.plain
    headers = {**_HEADERS, "ETag": form.etag, "Cache-Control": caching}
    known = [each.strip().removeprefix("W/") for each in asked.get("if-none-match", "").split(",")]
    if form.etag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(form.content, 200, headers, file.kind)


def _takes_gzip(accepted: str) -> bool:
    for each in accepted.lower().split(","):
        coding, _, weight = each.partition(";")
        if coding.strip() == "gzip":
            return weight.replace(" ", "") not in ("q=0", "q=0.0", "q=0.00", "q=0.000")
    return False
