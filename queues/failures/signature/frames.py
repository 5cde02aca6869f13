"""Where it happened: the top frame of one's own code, as file and function, without line and deployment."""

from __future__ import annotations

import re
from functools import lru_cache

LINES = 80  # frames that are looked at

_PYTHON = "Traceback (most recent call last)"
_AT = re.compile(r"[ \t]*+at ")
_LIBRARY = re.compile(
    r"node_modules|\bnode:|\(?internal/|\bbun:|\bext:|<anonymous>\)?$|\(?native\b|\(index \d|[/\\]\.(?:pnpm|yarn)[/\\]"
    r"|webpack/(?:bootstrap|runtime)|//(?:deno\.land|esm\.sh|jsr\.io)/|/bullmq/dist/"
    r"|(?:site|dist)-packages|[/\\]lib[/\\]python\d|<(?:frozen|string|stdin)|/usr/lib/|\bnode\.js:"
)
_LOCATION = re.compile(r"(?:\?[^:()]*+)?:\d++(?::\d++)?$")
_PYTHON_FRAME = re.compile(r'[ \t|]*+File "([^"\n]{1,500})", line \d++(?:, in ([^\n]{1,200}))?')
_MINIFIED = re.compile(r":\d{1,3}:\d{4,}$")  # lines that nobody wrote
_EVAL = re.compile(r"^eval at [^(]{1,100}\(([^()]{1,500})\)")
_ALIAS = re.compile(r" \[as [^\]]{1,100}\]$")
_OWNERS = ("Object.", "Module.", "Function.", "exports.", "module.exports.", "global.", "globalThis.", "Class.")
_HELPERS_WORDS = (
    "step fulfilled rejected adopt __awaiter __generator asyncGeneratorStep _next _throw Generator.next "
    "Generator.throw Generator.invoke Promise.all Promise.race new__awaiter verb tryCatch"
)
_HELPERS = frozenset(_HELPERS_WORDS.split())
_ANONYMOUS = re.compile(r"\.?(?:<anonymous>|<computed>|\(anonymous\)|_callee\d*\$?|\$_?\d*)|^\{anonymous\}$")
_ROOT = re.compile(
    r"^(?:[A-Za-z]:/(?:Users/[^/]+/|inetpub/(?:wwwroot/)?)?|/)"
    r"(?:opt/render/project/(?:src/)?|home/runner/[^/]+/[^/]+/[^/]+/|usr/src/(?:app/)?|usr/local/(?:app/)?|app/|(?:home|Users)/[^/]+/|root/|srv/|opt/|var/(?:www/(?:html/)?|task/|app/)"
    r"|workspaces?/|code/|data/|mnt/[^/]+/|tmp/)?"
)
_SOURCES = (
    re.compile(r"(?:^|/)((?:packages|apps|services|libs|modules)/[^/]+/.*)$"),
    re.compile(r"(?:^|/)((?:src|dist|lib|build|out|\.next|\.output|\.build|compiled)/.*)$"),
    re.compile(r"(?:^|/)((?:app|server|workers?|jobs)/.*)$"),
)
_RELEASE = re.compile(r"(?:releases|versions|deploys?)/[^/]+/")
_HASH = re.compile(  # of a build, in the name of a file
    r"(?:[.\-_](?=[a-f]*\d)[0-9a-f]{6,64}"
    r"|[.-](?=[A-Za-z]*\d)(?![a-z]+\d{1,4}\.)[A-Za-z0-9]{6,64}"
    r"|[.-](?:(?=[\w-]*[A-Z])(?=[\w-]*[a-z])(?=[\w-]*\d)|(?=(?:\w*?[a-z][A-Z]){2}))[\w-]{8})(?=\.\w{1,4}$)"
)
_NUMBERED = re.compile(r"(?<![^/.])\d++(?=\.\w{1,4}$)")
_DEEPEST_KNOWN = 6  # folders and file that remain
_DEEPEST = 3  # the same where no folder of sources is known


def place(stack: str) -> tuple[str, str]:
    """`function (file)` and "frame", or a file and "file", or "" twice where no frame is of one's own code."""
    start = begin(stack)
    return _place(stack[start:]) if start >= 0 else ("", "")


def begin(stack: str) -> int:
    """Where the frames of a stack begin; -1 where there are none."""
    if _PYTHON in stack[:200] or f"\n{_PYTHON}" in stack:
        return stack.index(_PYTHON)
    start = stack.find("\n    at ")
    if start >= 0:
        return start + 1
    if stack.startswith("    at "):
        return 0
    found = re.search(r"\n[ \t]*+at (?=[^\n]*:\d)", stack)
    return found.start() + 1 if found else -1


@lru_cache(maxsize=1024)
def _place(frames: str) -> tuple[str, str]:
    shown = told(*top(frames))
    return shown, "" if not shown else "frame" if shown.endswith(")") else "file"


def top(frames: str) -> tuple[str, str, str]:
    """The line of the top own frame, its function and its file, both normalised; "" three times without one."""
    return _python(frames) if frames.startswith(_PYTHON) else _node(frames)


def told(_line: str, function: str, file: str) -> str:
    return f"{function} ({file})" if function and file else file


def _node(frames: str) -> tuple[str, str, str]:
    for line in frames.split("\n", LINES)[:LINES]:
        found = _AT.match(line)
        if found is None or len(line) > 1000 or _LIBRARY.search(line):
            continue
        function, where = _split(line[found.end() :].strip())
        file = file_of(where)
        if file and function.removeprefix("async ") not in _HELPERS:
            return line, function_of(function, 3 if _MINIFIED.search(where) else 2), file
    return "", "", ""


def _split(frame: str) -> tuple[str, str]:
    """Function and place of a V8 frame: `fn (place)` or the place alone."""
    if not frame.endswith(")"):
        return "", frame.removeprefix("async ")
    function, _, where = frame[:-1].partition(" (")
    if inner := _EVAL.match(where):
        where = inner[1]
    return function, where


def _python(frames: str) -> tuple[str, str, str]:
    last = ("", "", "")
    for line in frames.split("\n", 4 * LINES)[: 4 * LINES]:
        if 'File "' in line[:40] and (found := _PYTHON_FRAME.match(line)) and not _LIBRARY.search(line):
            function = found[2] or ""
            last = (line, "" if function.startswith("<") else function[:100], file_of(found[1]))
    return last


def function_of(name: str, short: int = 2) -> str:
    """A function without `async`, alias and owners that say nothing; "" where it is anonymous or minified.

    Names of so many letters at most that are `short` were made by a minifier.
    """
    name = _ALIAS.sub("", name.removeprefix("async "))
    name = _ANONYMOUS.sub("", name)
    made = name.startswith("new ")
    name = name.removeprefix("new ")
    for owner in _OWNERS:
        name = name.removeprefix(owner)
    parts = [
        part.removeprefix("_")
        for part in name.split(".")
        if len(part.lstrip("_")) > short and not part.startswith("_0x")
    ]
    if not parts or name in ("Object", "Function", "Module", "eval", "default", "exports", "anonymous"):
        return ""
    shown = ".".join(parts)[:100]
    return f"new {shown}" if made else shown


@lru_cache(maxsize=2048)
def file_of(path: str) -> str:
    """A source file from its folder of sources on, without line, query, hash and where it was deployed to."""
    path = _LOCATION.sub("", path[-500:])
    path = path.replace("\\", "/").partition("?")[0]
    for scheme in ("file://", "webpack-internal://", "webpack://", "app://", "rsc://"):
        if path.startswith(scheme):
            path = path.removeprefix(scheme)
            path = path.partition("/./")[2] or path
    if "://" in path or not path or path.startswith("<"):
        path = path.partition("://")[2].partition("/")[2]
    path = path.removeprefix("/") if re.match(r"/[A-Za-z]:/", path) else path
    path = _RELEASE.sub("", _ROOT.sub("", path))
    while path.startswith(("./", "../")):
        path = path.partition("/")[2]
    found = next(filter(None, (pattern.search(path) for pattern in _SOURCES)), None)
    parts = [part for part in (found[1] if found else path).split("/") if part]
    parts = parts[-_DEEPEST_KNOWN:] if found else parts[-_DEEPEST:]
    return _NUMBERED.sub("‹n›", _HASH.sub("", "/".join(parts)))[:200]
