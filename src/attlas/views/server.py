"""The viewer behind a local address: a form to ask with, and the one viewer below it.

Whoever can reach this server can make it open models and read texts, so it listens on this machine alone and answers
only those who know its token: a random word that stands in the address that is printed. Whoever opens that address
gets a cookie in exchange and is led to the page without the token, so that it stays in no address bar and no history.
The cookie counts only for the page itself and for requests of its script, which send a header that pages of other
addresses cannot send unasked; a program may send the token in a header instead. Pages of other sites know no token,
may not read answers (no CORS headers are ever sent), and cannot pretend to be this host under a name of theirs, since
the Host header must be our own.

Looking is somebody else's work: the server is handed a function from a :class:`Question` to a scene, runs it in a
thread, one look at a time, and keeps the last few answers for the browser to fetch their blocks and exact rows.
"""

from __future__ import annotations

import asyncio
import hmac
import json
import secrets
import socket
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any, TypeVar

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.convertors import Convertor, register_url_convertor
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attlas.corpora.limits import in_force
from attlas.errors import AttlasError, PlanError, TextError
from attlas.views.app import app_page
from attlas.views.card import Card
from attlas.views.figures import Known
from attlas.views.payload import EXACT_CELLS, Payload, pack
from attlas.views.publishing import as_pdf
from attlas.views.question import MOST_WRITTEN, Question
from attlas.views.scene import Scene, Strand
from attlas.views.writing import Writing

Answer = TypeVar("Answer")
LOOPBACK = "127.0.0.1"
TOKEN_HEADER = "x-attlas-token"
ASKING_HEADER = "x-attlas-asking"  # which the page's own script sends
MOST_BYTES = 1_000_000  # of a request
MOST_FIGURE = 16_000_000  # of a figure that is to become PDF
MOST_READ = 20_000_000  # bytes after which nobody listens any more
WAITING = 16  # looks that may wait for their turn
SHOWN = 80  # letters of an address in a sentence
KEPT = 3  # answers whose blocks can still be fetched, at most
_HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
_NOTHING = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class Server:
    """A server that is bound to a port of this machine when it is made, and answers while :meth:`run` runs.

    ``models`` are offered by name, the first one as the default; any other name can be typed. Scenes of more than
    ``exact_cells`` numbers are sent rounded, and their rows exactly where somebody points at them. A ``card`` is
    shown beside the scenes of its model, and what is ``known`` of heads beside those of its models. ``writing`` is
    what a model writes while it writes, ``room`` says what a look will take before it is taken, ``sizes`` how large
    models are.

    >>> server = Server(lambda question: Scene(question.model, (question.text,), ()), ["a model"])
    >>> server.address.startswith("http://127.0.0.1:"), "?token=" in server.address
    (True, True)
    >>> server.close()
    """

    def __init__(
        self,
        look: Callable[[Question], Scene],
        models: Sequence[str],
        *,
        port: int = 0,
        exact_cells: int = EXACT_CELLS,
        card: Card | None = None,
        known: Sequence[Known] = (),
        writing: Writing | None = None,
        room: Callable[[Question], str] | None = None,
        sizes: Mapping[str, str] | None = None,
    ) -> None:
        self.token, self.pass_word = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
        self._socket = _listen(port)
        self.port: int = self._socket.getsockname()[1]
        self.desk = _Desk(
            look, models, exact_cells, card, tuple(known), writing or Writing(), room, dict(sizes or {})
        )
        self.app = _Gate(_routes(self.desk), self.token, self.pass_word, self.port)
        self._running: Any = None
        self._stopped = False

    @property
    def address(self) -> str:
        """Where the page is opened first, token included: not for the eyes of others.

        >>> server = Server(lambda question: Scene(question.model, (), ()), [])
        >>> len(server.address.partition("token=")[2])
        43
        >>> server.close()
        """
        return f"http://{LOOPBACK}:{self.port}/?token={self.token}"

    @property
    def busy(self) -> bool:
        """Whether a look is under way.

        >>> server = Server(lambda question: Scene(question.model, (), ()), [])
        >>> server.close()
        >>> server.busy
        False
        """
        return self.desk.looking

    def run(self) -> None:
        """Answer until :meth:`stop` is called, or until Ctrl-C, which is raised again when all is closed.

        >>> server = Server(lambda question: Scene(question.model, (), ()), [])
        >>> from threading import Thread
        >>> running = Thread(target=server.run)
        >>> running.start()
        >>> server.stop()
        >>> running.join()
        """
        import uvicorn

        desk = self.desk

        class Ending(uvicorn.Server):
            async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
                desk.abandon()  # or it would wait for looks that nothing can interrupt
                await super().shutdown(sockets)

        config = uvicorn.Config(
            self.app, log_config=None, access_log=False, server_header=False, lifespan="off", ws="none",
            timeout_graceful_shutdown=1,
        )  # fmt: skip
        self._running = Ending(config)
        self._running.should_exit = self._stopped
        try:
            self._running.run(sockets=[self._socket])
        finally:
            self.close()

    def stop(self) -> None:
        """Let :meth:`run` end, now or as soon as it begins.

        >>> server = Server(lambda question: Scene(question.model, (), ()), [])
        >>> server.stop()
        >>> server.close()
        """
        self._stopped = True
        if self._running is not None:
            self._running.should_exit = True

    def close(self) -> None:
        """Give the port back, of a server that is not running.

        >>> server = Server(lambda question: Scene(question.model, (), ()), [])
        >>> server.close()
        """
        self._socket.close()
        self.desk.close()


class _Desk:
    """What is behind the gate: looks, one at a time, and the answers that are kept."""

    def __init__(
        self, look: Callable[[Question], Scene], models: Sequence[str], exact_cells: int, card: Card | None,
        known: Sequence[Known], writing: Writing, room: Callable[[Question], str] | None, sizes: dict[str, str],
    ) -> None:  # fmt: skip
        self._look, self._models, self._exact_cells, self._card = look, tuple(models), exact_cells, card
        self._known, self._writing, self._room, self._sizes = tuple(known), writing, room, sizes
        self._answers: dict[str, Payload] = {}
        self._turns = ThreadPoolExecutor(1, "look")  # of one thread, so that nobody looks while another does
        self._awaited: set[asyncio.Future[Payload]] = set()
        self._publishing = asyncio.Lock()
        self.looking = False

    async def page(self, request: Request) -> Response:
        nonce = secrets.token_urlsafe(16)
        policy = f"script-src 'nonce-{nonce}'; style-src 'unsafe-inline'; img-src data: blob:; connect-src 'self'"
        settings = {"models": self._models, "sizes": self._sizes, "written": MOST_WRITTEN, "header": ASKING_HEADER}
        html = app_page(nonce, settings)
        return HTMLResponse(html, headers={"content-security-policy": f"{_NOTHING}; {policy}"})

    async def look(self, request: Request) -> Response:
        asked = _questions(await _body(request))
        if len(self._awaited) >= WAITING:
            raise HTTPException(429, f"{WAITING} looks are waiting for their turn already; ask again later")
        coming = asyncio.get_running_loop().run_in_executor(self._turns, self._answer, asked)
        self._awaited.add(coming)
        try:
            payload = await coming
        except asyncio.CancelledError:
            raise HTTPException(503, "attlas was stopped while it looked; start it again") from None
        finally:
            self._awaited.discard(coming)
        name = secrets.token_hex(8)
        self._answers[name] = payload
        while len(self._answers) > KEPT or (len(self._answers) > 1 and self._weights() > in_force().weights):
            del self._answers[next(iter(self._answers))]
        return JSONResponse({"id": name, "header": payload.header})

    async def block(self, request: Request) -> Response:
        payload, index = self._kept(request), request.path_params["index"]
        if index >= payload.size:
            raise HTTPException(404, f"there is no block {index}; this answer has {payload.size}")
        return _bytes(await run_in_threadpool(payload.block, index))

    async def row(self, request: Request) -> Response:
        payload = self._kept(request)
        scene, strand, *place = (request.path_params[name] for name in ("scene", "strand", "layer", "head", "query"))
        if scene >= len(payload.scenes):
            raise HTTPException(404, f"there is no scene {scene}; this answer has {len(payload.scenes)}")
        strands = payload.scenes[scene].strands
        if strand >= len(strands):
            raise HTTPException(404, f"there is no strand {strand}; this scene has {len(strands)}")
        for what, at, count in zip(("layer", "head", "query"), place, _shape(strands[strand]), strict=True):
            if at >= count:
                raise HTTPException(404, f"there is no {what} at place {at}; this strand has {count}")
        layer, head, query = place
        return _bytes(payload.row(scene, strand, layer, head, query))

    async def room(self, request: Request) -> Response:
        """What the looks that are asked for will take, one sentence each."""
        asked = _questions(await _body(request))
        if self._room is None:
            return JSONResponse({"told": []})
        room, loop = self._room, asyncio.get_running_loop()
        told = [await loop.run_in_executor(self._turns, _guarded, room, question) for question in asked]
        return JSONResponse({"told": told})

    async def written(self, request: Request) -> Response:
        """What a model has written by now, and the rows of its map from one on."""
        asked = request.query_params.get("since", "")
        since = int(asked) if asked.isascii() and asked.isdigit() and len(asked) < 6 else 0
        return JSONResponse(self._writing.told(since))

    async def stop(self, request: Request) -> Response:
        """Let what is being written end here."""
        self._writing.stop()
        return JSONResponse(self._writing.told())

    async def pdf(self, request: Request) -> Response:
        """A figure of our page as PDF; made one at a time, for nobody needs many."""
        body = await _body(request, MOST_FIGURE)
        try:
            svg = body.decode("utf-8")
        except UnicodeDecodeError:
            raise TextError("the figure is no text; save it again") from None
        async with self._publishing:
            made = await run_in_threadpool(as_pdf, svg)
        return Response(made, media_type="application/pdf")

    def abandon(self) -> None:
        for coming in self._awaited:
            coming.cancel()

    def close(self) -> None:
        self._turns.shutdown(wait=False, cancel_futures=True)

    def _weights(self) -> int:
        """How many the answers hold together: the earlier ones go where one look could not have as many."""
        scenes = (scene for payload in self._answers.values() for scene in payload.scenes)
        return sum(strand.weights.size for scene in scenes for strand in scene.strands)

    def _answer(self, asked: Sequence[Question]) -> Payload:
        self.looking = True
        try:
            scenes = [self._asked(question) for question in asked]
            apart = []  # what is of other models than those that are shown
            for known in self._known:
                named = [known.is_of(scene.model) for scene in scenes]
                scenes = [known.beside(scene) if ours else scene for scene, ours in zip(scenes, named, strict=True)]
                if not any(named):
                    apart.append(known.said)
            card = self._card
            if card is not None and not any(card.is_of(scene.model) for scene in scenes):
                apart.append(f"card that was given is of {card.model}")
                card = None
            payload = pack(scenes, exact_cells=self._exact_cells, card=card)
            if apart:
                payload.header["apart"] = [f"The {what}, not of what is shown." for what in apart]
            return payload
        finally:
            self.looking = False

    def _asked(self, question: Question) -> Scene:
        return _guarded(self._look, question)

    def _kept(self, request: Request) -> Payload:
        payload = self._answers.get(request.path_params["name"])
        if payload is None:
            raise HTTPException(404, f"only the last {KEPT} looks are kept, and this one is gone; look again")
        return payload


def _guarded(ask: Callable[[Question], Answer], question: Question) -> Answer:
    """What somebody says to a question; what the system refuses on the way (a name that no disk can have) is a
    refusal too."""
    try:
        return ask(question)
    except OSError as error:
        raise TextError(f"the model cannot be read ({error.strerror or type(error).__name__})") from error


class _Gate:
    """Lets through whoever knows the token, or has the cookie that is given for it, and calls us by our own name;
    puts our headers on every answer."""

    def __init__(self, app: ASGIApp, token: str, pass_word: str, port: int) -> None:
        self._app, self._token, self._pass_word = app, token, pass_word
        self._hosts = (f"{LOOPBACK}:{port}", f"localhost:{port}")
        self._cookie = f"attlas-{port}"  # since a cookie is sent to all ports of a host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in {**_HEADERS, "content-security-policy": _NOTHING}.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._answer(Request(scope))(scope, receive, send_guarded)

    def _answer(self, request: Request) -> ASGIApp:
        if request.headers.getlist("host") not in [[host] for host in self._hosts]:
            names = " or ".join(self._hosts)
            return _refusal(f"this server answers only as {names}; open the address that attlas printed")
        at_door = request.scope["path"] == "/"
        if at_door and _same(request.query_params.get("token", ""), self._token):
            led = RedirectResponse("/", 303)
            led.set_cookie(self._cookie, self._pass_word, path="/", httponly=True, samesite="strict")
            return led
        known = _same(request.cookies.get(self._cookie, ""), self._pass_word)
        if (known and (at_door or self._from_our_page(request))) or (
            not at_door and _same(request.headers.get(TOKEN_HEADER, ""), self._token)
        ):
            return self._app
        return _refusal("the token is missing or wrong; open the address that attlas printed when it was started")

    def _from_our_page(self, request: Request) -> bool:
        """Whether a request is one of our page's script: a page of another address cannot send its header without
        being let, which nobody is."""
        origin = request.headers.get("origin")
        ours = origin is None or origin in [f"http://{host}" for host in self._hosts]
        return ours and ASKING_HEADER in request.headers


def _same(given: str, word: str) -> bool:
    return hmac.compare_digest(given.encode(errors="surrogateescape"), word.encode())


def _refusal(sentence: str) -> ASGIApp:
    return JSONResponse({"error": sentence}, 403)


class _Place(Convertor[int]):
    """A number in an address, of as many digits as a place can have."""

    regex = "[0-9]{1,9}"

    def convert(self, value: str) -> int:
        return int(value)

    def to_string(self, value: int) -> str:
        return str(value)


def _routes(desk: _Desk) -> Starlette:
    def refused(request: Request, error: Exception) -> Response:
        if not isinstance(error, HTTPException):
            return JSONResponse({"error": str(error)}, 422)
        plain = error.detail == HTTPStatus(error.status_code).phrase
        asked = f"{request.method} {request.scope['path'][:SHOWN]}"
        sentence = f"{asked} is nothing that this server knows" if plain else error.detail
        return JSONResponse({"error": sentence}, error.status_code)

    def broken(request: Request, error: Exception) -> Response:
        sentence = f"something went wrong inside attlas ({type(error).__name__}); its terminal says more"
        return JSONResponse({"error": sentence}, 500)

    register_url_convertor("place", _Place())
    where = "/api/row/{name}/{scene:place}/{strand:place}/{layer:place}/{head:place}/{query:place}"
    return Starlette(
        routes=[
            Route("/", desk.page),
            Route("/api/look", desk.look, methods=["POST"]),
            Route("/api/room", desk.room, methods=["POST"]),
            Route("/api/written", desk.written),
            Route("/api/stop", desk.stop, methods=["POST"]),
            Route("/api/pdf", desk.pdf, methods=["POST"]),
            Route("/api/block/{name}/{index:place}", desk.block),
            Route(where, desk.row),
        ],
        exception_handlers={AttlasError: refused, HTTPException: refused, Exception: broken},
    )


def _shape(strand: Strand) -> tuple[int, int, int]:
    return len(strand.layers), len(strand.heads), strand.queries.length


def _questions(body: bytes) -> list[Question]:
    try:
        given = json.loads(body)
    except (ValueError, RecursionError):  # too deep, too
        raise TextError("the request is no JSON; send an object with a list of questions") from None
    asked = given.get("questions") if isinstance(given, dict) else None
    if not isinstance(asked, list) or len(asked) not in (1, 2):
        raise TextError("one question, or two to compare, must be sent as a list under the name questions")
    return [Question.of(each) for each in asked]


async def _body(request: Request, most: int | None = None) -> bytes:
    """What was sent, up to a limit; the rest is read and forgotten, so that the sentence about it arrives."""
    kept, size = bytearray(), 0
    most = MOST_BYTES if most is None else most
    async for part in request.stream():
        size += len(part)
        if size <= most:
            kept += part
        elif size > MOST_READ:
            break
    if size > most:
        sent = f"{size:,} bytes{' or more' if size > MOST_READ else ''}"
        raise HTTPException(413, f"{sent} were sent and {most:,} are the most; shorten the text")
    return bytes(kept)


def _bytes(content: bytes) -> Response:
    return Response(content, media_type="application/octet-stream")


def _listen(port: int) -> socket.socket:
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if sys.platform != "win32":  # where it means that somebody else may take the port as well
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((LOOPBACK, port))
        made.listen(128)
    except (OSError, OverflowError) as error:
        made.close()
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise PlanError(
            f"port {port} of this machine cannot be had ({reason}); choose another, or 0 for any that is free"
        ) from None
    return made
