"""Our Lua: every key that a script touches is declared, as servers that check it (Dragonfly) want it."""

from __future__ import annotations

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

# As Dragonfly does, refuse what is not declared. Lua's own table of functions cannot be changed, so it is shadowed.
_CHECKED = """
local declared, real = {}, redis
for _, key in ipairs(KEYS) do declared[key] = true end
local function checked(command, key, ...)
  local subject = command == "XINFO" and (...) or key  -- it names what it tells about first
  if not declared[subject] then error("undeclared key: " .. tostring(subject)) end
  return command, key, ...
end
local redis = {
  call = function(...) return real.call(checked(...)) end,
  pcall = function(...) return real.pcall(checked(...)) end,
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
    reader.connection.close()
    assert checked == {scripts.script(name).digest for name in NAMES}
    with pytest.raises(redis.ResponseError, match="undeclared key: bull:x:id"):
        store.eval(_CHECKED + 'return redis.call("GET", "bull:x:id")', 0)


def test_every_script_says_what_it_is_for_and_is_used() -> None:
    sources = "".join(path.read_text() for path in FOLDER.parent.glob("*.py"))
    for name in NAMES:
        assert (FOLDER / f"{name}.lua").read_text().startswith("-- ")
        assert f'script("{name}")' in sources


def test_the_digest_is_that_of_the_text(store: redis.Redis) -> None:
    for name in NAMES:
        made = scripts.script(name)
        assert store.script_load(made.text) == made.digest
        assert replace(made, text="x") != made
