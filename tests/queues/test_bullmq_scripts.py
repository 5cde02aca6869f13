"""Our Lua: what reads touches declared keys only, as servers that check it (Dragonfly) want it; nothing is unused."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import redis

from queues.backends.bullmq import scripts
from queues.backends.bullmq.reader import BullMQ
from queues.types import State
from tests.hostile import write_corpus
from tests.valkey import Server

FOLDER = Path(scripts.__file__).parent / "lua"
NAMES = sorted(path.stem for path in FOLDER.glob("*.lua"))
ACTIONS = sorted((FOLDER / "actions").glob("*.lua"))
PARTS = sorted((FOLDER / "parts").glob("*.lua"))

# As Dragonfly does, refuse what is not declared. Lua's own table of functions cannot be changed, so it is shadowed.
_CHECKED = """
local declared, real = {}, redis
for _, key in ipairs(KEYS) do declared[key] = true end
local function checked(command, key, ...)
  local asks = command == "XINFO" or command == "MEMORY"  -- which name what they tell about first
  local subject = asks and (...) or key
  if not declared[subject] then error("undeclared key: " .. tostring(subject)) end
  return command, key, ...
end
local redis = {
  call = function(...) return real.call(checked(...)) end,
  pcall = function(...) return real.pcall(checked(...)) end,
  sha1hex = real.sha1hex,
}
"""


Command = tuple[bytes | str | int | float, ...]


@pytest.fixture
def checked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Every script refuses keys that its caller did not declare; gives the digests of those that ran."""
    plain, ran = scripts.with_text, set()

    def with_check(command: Command) -> Command:
        ran.add(str(command[1]))
        eval_, text, *rest = plain(command)
        return (eval_, _CHECKED + str(text), *rest)

    monkeypatch.setattr("queues.backends.bullmq.connection.with_text", with_check)
    return ran


def test_every_script_touches_declared_keys_only(server: Server, store: redis.Redis, checked: set[str]) -> None:
    corpus = write_corpus(store)
    reader = BullMQ(server.config())
    store.script_flush()  # so that each script is sent as text, with the check before it
    reader.counts([*corpus.queues, corpus.queue, corpus.wrong_types])
    reader.queue(corpus.queue)
    reader.positions(corpus.queues)
    reader.jobs(corpus.queue, [State.FAILED], size=200)
    reader.jobs(corpus.queue, [State.COMPLETED, State.FAILED], size=200, name="x")
    reader.jobs(corpus.queue, [State.WAITING])
    reader.job(corpus.jobs["large-all"])
    reader.logs(corpus.jobs["markup"])
    reader.find(corpus.queues, b"2")
    reader.failed_marks([*corpus.queues, corpus.wrong_types])
    reader.failed_page(corpus.queue, newest_first=True, most=1000)
    reader.failed_jobs(corpus.queue, [b"markup"], data=True)
    reader.failed_ids(corpus.queue, most=10)
    reader.letters_marks([*corpus.queues, corpus.wrong_types])
    reader.letters(corpus.queue, list(reader.letter_ids(corpus.queue, most=10).ids))
    reader.payloads(corpus.queue, [b"large-data"], most=100_000)
    for schedule in (b"every", b"name:id::UTC:1000"):
        store.zadd(b"bull:%b:repeat" % corpus.queue.name, {schedule: 5})
    store.hset(b"bull:%b:repeat:every" % corpus.queue.name, "name", "n")
    store.hset(b"bull:%b:repeat:every:5" % corpus.queue.name, "data", "{}")
    reader.schedules([*corpus.queues, corpus.queue, corpus.wrong_types])
    reader.connection.close()
    assert checked == {scripts.script(name).digest for name in NAMES}
    with pytest.raises(redis.ResponseError, match="undeclared key: bull:x:id"):
        store.eval(_CHECKED + 'return redis.call("GET", "bull:x:id")', 0)


def test_every_script_says_what_it_is_for_and_is_used() -> None:
    sources = "".join(path.read_text() for path in FOLDER.parent.glob("*.py"))
    for name in NAMES:
        assert (FOLDER / f"{name}.lua").read_text().startswith("-- ")
        assert f'script("{name}")' in sources


def _code(path: Path) -> str:
    """A script without its comments."""
    return re.sub(r"--.*", "", path.read_text())


def _names(path: Path) -> set[str]:
    """What a part defines for scripts and other parts."""
    found = re.findall(r"^local (?:function )?([A-Za-z_, ]+?)(?: =|\()", path.read_text(), re.MULTILINE)
    return {name.strip() for names in found for name in names.split(",")}


def _says(text: str, names: set[str]) -> bool:
    return any(re.search(rf"\b{name}\b", text) for name in names)


@pytest.mark.parametrize("path", ACTIONS, ids=lambda path: path.stem)
def test_every_action_says_what_it_is_for_is_used_and_needs_its_parts(path: Path) -> None:
    first, second, *_more = path.read_text().splitlines()
    assert second.startswith("-- ")
    sources = "".join(path.read_text() for path in FOLDER.parent.glob("*.py"))
    assert f'"{path.stem}"' in sources or f'"actions/{path.stem}"' in sources
    needs = first.removeprefix("-- needs: ").split(", ")
    for at, part in enumerate(needs):
        behind = [FOLDER / "parts" / f"{each}.lua" for each in needs[at + 1 :]]
        text = "".join(_code(each) for each in (path, *behind))
        assert _says(text, _names(FOLDER / "parts" / f"{part}.lua")), f"{part} is not needed"


@pytest.mark.parametrize("path", PARTS, ids=lambda path: path.stem)
def test_every_part_says_what_it_is_for_and_each_thing_in_it_is_used(path: Path) -> None:
    assert path.read_text().startswith("-- ")
    everything = "".join(_code(each) for each in (*ACTIONS, *PARTS))
    assert _names(path)
    for name in _names(path):
        assert len(re.findall(rf"\b{name}\b", everything)) > 1, name


def test_no_two_parts_have_one_name_for_two_things() -> None:
    counted = Counter(name for path in PARTS for name in _names(path))
    assert [name for name, count in counted.items() if count > 1] == []


def test_the_digest_is_that_of_the_text(store: redis.Redis) -> None:
    for name in NAMES:
        made = scripts.script(name)
        assert store.script_load(made.text) == made.digest
        assert replace(made, text="x") != made


def test_no_line_of_a_script_is_longer_than_the_code_around_it() -> None:
    for path in FOLDER.rglob("*.lua"):
        assert max(map(len, path.read_text().splitlines())) <= 120, path.name
