"""The centre of a web process (of an event loop): receives news, has them drawn once, wakes who lacks something."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakKeyDictionary

from django.db import close_old_connections
from django.utils import translation

from dashboard.live import drawers
from dashboard.live.backlog import merge
from dashboard.live.board import Board
from dashboard.live.frames import Frames
from dashboard.live.listening import Listening
from dashboard.live.outage import Outage
from dashboard.live.pulse import Heard
from dashboard.live.update import Choosy, Drawer, Update
from dashboard.live.viewer import Viewer
from queues import entered, interest
from queues.errors import QueueError
from queues.live import About, News, Topic
from queues.quantities import now_ms
from queues.types import QueueRef, State

TICK_S = 0.5
HEARTBEAT_S = 1.2  # a socket hears something after so long, and a tick
INTEREST_S = 5.0
IDLE_S = 5.0  # without a socket for so long, the hub ends; the next socket begins another
THREADS = 4
MISSED_S = 3.0  # the follower says something about each source once a second

T = TypeVar("T")
Key = tuple[Topic, str]  # with the language

logger = logging.getLogger(__name__)
_pool = ThreadPoolExecutor(THREADS, thread_name_prefix="live")
_hubs: WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = WeakKeyDictionary()


def hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    if loop not in _hubs:
        _hubs[loop] = Hub(loop)
    return _hubs[loop]


async def in_pool(work: Callable[[], T]) -> T:
    """What `work` gives, done in one of the few threads that read and draw for sockets."""
    return await asyncio.get_running_loop().run_in_executor(_pool, _with_fresh_connection, work)


def _with_fresh_connection(work: Callable[[], T]) -> T:
    close_old_connections()
    try:
        return work()
    finally:
        close_old_connections()


class Hub:
    """Everything here runs in one event loop, but for drawing and reading, which is done in threads."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._viewers: set[Viewer] = set()
        self._watching: defaultdict[Topic, set[Viewer]] = defaultdict(set)
        self._boards: dict[Key, Board] = {}
        self._heard: dict[str, Heard] = {}
        self._frames = Frames(self._boards, self._heard, loop.time)
        self._told: frozenset[Topic] = frozenset()
        self._told_at = 0.0
        self._busy_at = loop.time()
        self._telling = Outage(logger, "Saying what is watched")
        self._tasks: set[asyncio.Future[None]] = set()
        self._listening = Listening(self._take)
        self._keeper = loop.create_task(self._keep())

    def join(self, viewer: Viewer) -> None:
        """Begin to tell a socket what it watches. ValueError for a topic that names nothing."""
        boards = [self._board(topic, viewer.language) for topic in viewer.topics]
        viewer.places = tuple(board.place_of(viewer.read_ms) for board in boards)
        viewer.due = {board.topic: dict.fromkeys(board.late(viewer.read_ms, viewer.rows)) for board in boards}
        self._viewers.add(viewer)
        for topic in _with_sources(viewer.topics):
            self._watching[topic].add(viewer)
            self._heard.setdefault(topic.source, Heard(self._loop.time(), now_ms()))
        for board in boards:
            self._learn(viewer, board)
        self._listening.want(self._watching.keys())
        viewer.woken.set()

    def leave(self, viewer: Viewer) -> None:
        """Tell a socket no more. What nobody watches any longer is forgotten."""
        self._viewers.discard(viewer)
        for topic in _with_sources(viewer.topics):
            self._watching[topic].discard(viewer)
            if not self._watching[topic]:
                del self._watching[topic]
        for key in [key for key in self._boards if key[0] not in self._watching]:
            del self._boards[key]
        sources = {topic.source for topic in self._watching}
        for source in self._heard.keys() - sources:
            del self._heard[source]
        self._listening.want(self._watching.keys())
        self._busy_at = self._loop.time()

    def show(self, viewer: Viewer, rows: frozenset[str]) -> None:
        """A socket shows these rows now."""
        added, viewer.rows = rows - viewer.rows, rows
        for topic in viewer.topics:
            board = self._boards[topic, viewer.language]
            viewer.due[topic].update(dict.fromkeys(board.late(viewer.read_ms, added)))
        viewer.woken.set()

    def frame(self, viewer: Viewer) -> str | None:
        """The next frame for a socket, None while it has to acknowledge or there is nothing to say."""
        quiet = self._loop.time() - viewer.told_at < HEARTBEAT_S
        return None if viewer.is_full else self._frames.next(viewer, quiet=quiet)

    def _board(self, topic: Topic, language: str) -> Board:
        if (topic, language) not in self._boards:
            self._boards[topic, language] = Board(topic, drawers.drawer(topic))
        return self._boards[topic, language]

    def _take(self, news: News) -> None:
        topic = news.topic
        heard = self._heard.get(topic.source)
        if heard is None:
            return  # nobody here watches it any longer
        turned = heard.standing is None or heard.standing.pulse is not news.standing.pulse
        if heard.standing is not None and self._loop.time() - heard.at >= MISSED_S:
            self._begin_anew(topic.source)
        heard.at, heard.at_ms, heard.standing = self._loop.time(), now_ms(), news.standing
        self._frames.forget()
        for (about, language), board in self._boards.items():
            if about == topic and board.drawer is not None:
                board.pending = merge(board.pending, news)
                if not board.drawing:
                    board.drawing = True
                    self._start(self._draw(board, board.drawer, language))
        if turned:
            self._wake(viewer for viewer in self._viewers if any(each.source == topic.source for each in viewer.topics))

    def _begin_anew(self, source: str) -> None:
        """News were missed: what is drawn may be old, and pages that read themselves meanwhile may show otherwise."""
        for (topic, _language), board in self._boards.items():
            if topic.source == source:
                board.begin_anew(drawers.drawer(topic))

    async def _draw(self, board: Board, drawer: Drawer, language: str) -> None:
        """Draw what is pending, and what becomes so meanwhile."""
        try:
            while board.pending is not None:
                news, board.pending = board.pending, None
                if isinstance(drawer, Choosy):
                    rows = self._shown(board.topic, language)
                    drawer.show(rows)
                    board.keep(rows)
                update = await in_pool(lambda news=news: _drawn(drawer, news, language))  # type: ignore[misc]
                if board.take(update, now_ms()):
                    self._frames.forget()
                    self._wake(self._watching.get(board.topic, ()))
                    for viewer in self._watching.get(board.topic, ()):
                        self._learn(viewer, board)
        finally:
            board.drawing = False

    def _shown(self, topic: Topic, language: str) -> Collection[str]:
        """The rows that any of its sockets shows."""
        every = (viewer.rows for viewer in self._watching.get(topic, ()) if viewer.language == language)
        return frozenset[str]().union(*every)

    def _learn(self, viewer: Viewer, board: Board) -> None:
        """Have it read what entered each state between the page's last event and what the board counts from."""
        if board.topic.about is About.QUEUE and board.upto and not viewer.learning:
            viewer.learning, viewer.then = True, dict(board.entered)
            self._start(self._base(viewer, board.topic, board.upto))

    async def _base(self, viewer: Viewer, topic: Topic, upto: str) -> None:
        ref = drawers.subject(topic)
        assert isinstance(ref, QueueRef)
        base: Mapping[State, int] = {}
        if viewer.after:
            try:
                base = await in_pool(lambda: entered.since(ref, viewer.after, upto))
            except QueueError:
                base = {}  # it counts from now on
        viewer.base = {state.value: number for state, number in base.items()}
        viewer.woken.set()

    async def _keep(self) -> None:
        """Heartbeats, and what is watched, until no socket was there for some seconds."""
        try:
            while self._viewers or self._loop.time() - self._busy_at < IDLE_S:
                now = self._loop.time()
                self._wake(viewer for viewer in self._viewers if now - viewer.told_at >= HEARTBEAT_S)
                self._frames.forget()
                self._tell(now)
                await asyncio.sleep(TICK_S)
        finally:
            _hubs.pop(self._loop, None)
            self._listening.close()
            for task in self._tasks:
                task.cancel()

    def _tell(self, now: float) -> None:
        """Say what is watched: at once what is new, all of it every five seconds."""
        topics = self._listening.joined
        if topics and (topics - self._told or now - self._told_at >= INTEREST_S):
            self._told, self._told_at = topics, now
            self._start(self._say(topics))

    async def _say(self, topics: frozenset[Topic]) -> None:
        try:
            await in_pool(lambda: interest.tell(topics))
        except QueueError as error:
            self._telling.failed(error)
        else:
            self._telling.over()

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Future[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            logger.error("A live page could not be drawn", exc_info=error)

    def _wake(self, viewers: Iterable[Viewer]) -> None:
        for viewer in viewers:
            viewer.woken.set()


def _drawn(drawer: Drawer, news: News, language: str) -> Update:
    with translation.override(language):
        try:
            return drawer.update(news)
        except QueueError:
            return Update()  # what it had to read cannot be read now: how the view stands says so


def _with_sources(topics: Iterable[Topic]) -> set[Topic]:
    """Topics, and with each how its source stands, which is told also while nothing else is."""
    return {*topics, *(Topic(About.SOURCE, topic.source) for topic in topics)}
