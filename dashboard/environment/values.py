"""One variable at a time: fetched, parsed and, when wrong, remembered with what was expected."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from django.core.exceptions import ImproperlyConfigured

from dashboard.credentials import redact
from dashboard.environment.variables import VARIABLES, known_names

T = TypeVar("T")

_VARIABLES = {variable.name: variable for variable in VARIABLES}
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}


class Wrong(ValueError):
    """A value cannot be used. The text says what was expected and never quotes a value."""


class BadEnvironment(ImproperlyConfigured):
    """Every problem of the environment at once, a line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        what = "a setting is" if len(problems) == 1 else f"{len(problems)} settings are"
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"Mirante cannot start: {what} wrong (docs/configuration.md lists them all).{lines}")


class Values:
    """The variables that are set, and the problems met so far. An empty value counts as not set."""

    def __init__(self, env: Mapping[str, str]) -> None:
        self._env = env
        self.problems: list[str] = []
        self._refuse_unknown()

    def text(self, name: str) -> str | None:
        variable = _VARIABLES[name]
        direct = self._env.get(name, "").strip()
        file = self._env.get(variable.file_name, "").strip() if variable.secret else ""
        if direct and file:
            self.problem(name, f"set either {name} or {variable.file_name}, not both")
            return None
        if file:
            return self._from_file(variable.file_name, Path(file))
        return direct or None

    def parsed(self, name: str, parse: Callable[[str], T], default: T) -> T:
        """The value as `parse` understands it; `default` when it is not set or wrong."""
        text = self.text(name)
        if text is None:
            return default
        try:
            return parse(text)
        except Wrong as wrong:
            shown = "" if _VARIABLES[name].secret else f", got {redact(text)!r}"
            self.problem(name, f"{wrong}{shown}")
            return default

    def problem(self, name: str, text: str) -> None:
        line = f"{name}: {text}"
        if line not in self.problems:
            self.problems.append(line)

    def is_wrong(self, name: str) -> bool:
        return any(problem.startswith((f"{name}:", f"{name}_FILE:")) for problem in self.problems)

    def _from_file(self, name: str, path: Path) -> str | None:
        try:
            text = path.read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
            self.problem(name, f"expected a readable file, but {str(path)!r} cannot be read: {reason}")
            return None
        if not text:
            self.problem(name, f"expected a file with the value in it, but {str(path)!r} is empty")
            return None
        return text

    def _refuse_unknown(self) -> None:
        known = known_names()
        for name in sorted(self._env):
            if name.startswith("MIRANTE_") and name not in known:
                near = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.0)
                self.problem(name, f"there is no such setting, the nearest one is {near[0]}")


def boolean(text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise Wrong("expected 1 or 0 (also true, false, yes, no, on, off)")


def whole_number(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        if not (text.isascii() and text.isdigit() and len(text) < 12 and least <= int(text) <= most):
            raise Wrong(f"expected a whole number from {least} to {most}")
        return int(text)

    return parse


def rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 50:
        raise Wrong("expected a number from 0 to 50 by which the demo's flow of jobs is multiplied")
    return value


def choice(*allowed: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in allowed:
            raise Wrong(f"expected one of {', '.join(allowed)}")
        return text.lower()

    return parse


def readable_file(text: str) -> str:
    path = Path(text).expanduser()
    try:
        with path.open("rb"):
            return str(path.resolve())
    except OSError:
        raise Wrong("expected the path of a readable file") from None


def words(text: str) -> tuple[str, ...]:
    """A list separated by commas, blanks or line breaks, each entry once."""
    return tuple(dict.fromkeys(text.replace(",", " ").split()))


def endings(text: str) -> tuple[str, ...]:
    """Endings of queues' names: a separator and a word each."""
    found = words(text)
    if not all(re.fullmatch(r"[-._][A-Za-z0-9_.-]{1,40}", ending) for ending in found):
        raise Wrong("expected endings of names such as -errors or .poison, with commas between them")
    return found
