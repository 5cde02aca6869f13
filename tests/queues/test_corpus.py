"""The corpus of errors is well formed; signatures and classes agree with it where nothing was tuned."""

import json
from collections import Counter, defaultdict

import pytest

from bench.failures import scores
from bench.failures.corpus import FOLDER, PARTS, Entry, load
from bench.failures.scores import Judged, Pairs
from queues.failed import REASON_CAP, STACK_CAP
from queues.failures.types import Kind, Signature, Thrown, Verdict

KEYS = {"id", "group", "class", "reason", "stack", "name"}


@pytest.fixture(scope="module", params=PARTS)
def part(request: pytest.FixtureRequest) -> list[Entry]:
    return load(request.param)


def test_each_part_is_large_enough_to_say_something(part: list[Entry]) -> None:
    assert len(part) >= 200
    assert len({entry.group for entry in part}) >= 80
    assert {kind for kind, count in Counter(entry.kind for entry in part).items() if count >= 40} == set(Kind)


def test_both_parts_hold_the_same_families() -> None:
    tune, held = ({file.name for file in (FOLDER / part).glob("*.json")} for part in PARTS)
    assert tune == held
    assert len(tune) >= 40


def test_each_entry_is_well_formed() -> None:
    for part in PARTS:
        for file in (FOLDER / part).glob("*.json"):
            for raw in json.loads(file.read_text()):
                assert set(raw) == KEYS, raw["id"]
                assert raw["id"].startswith(f"{file.stem}-")
                assert raw["group"].startswith(f"{file.stem}-")
                assert all(isinstance(raw[key], str) and raw[key] for key in ("id", "group", "class", "name"))


def test_ids_are_unique_and_groups_have_two_to_six_members(part: list[Entry]) -> None:
    assert len({entry.id for entry in part}) == len(part)
    sizes = Counter(entry.group for entry in part)
    assert {group: size for group, size in sizes.items() if not 2 <= size <= 6} == {}


def test_a_group_has_one_class(part: list[Entry]) -> None:
    kinds: dict[str, set[Kind]] = defaultdict(set)
    for entry in part:
        kinds[entry.group].add(entry.kind)
    assert [group for group, found in kinds.items() if len(found) > 1] == []


def test_texts_are_cut_as_a_backend_cuts_them(part: list[Entry]) -> None:
    for entry in part:
        assert len((entry.thrown.reason or "").encode()) <= REASON_CAP
        assert len(entry.thrown.stack.encode()) <= STACK_CAP
    assert max(entry.thrown.reason_size for entry in part) > 1_000_000


def test_the_parts_share_no_place_of_their_own_code() -> None:
    tune, held = ({line for entry in load(part) for line in _own_lines(entry)} for part in PARTS)
    assert tune
    assert held
    assert tune & held == set()


def test_signatures_agree_with_the_part_that_nothing_is_tuned_on() -> None:
    told = scores.score(scores.judge(load("held")))
    assert told.pairs.f1 >= scores.F1, "\n".join([*told.torn, *told.thrown_together])


def test_classes_agree_with_the_part_that_nothing_is_tuned_on() -> None:
    told = scores.score(scores.judge(load("held")))
    assert told.accuracy >= scores.ACCURACY, "\n".join(told.misjudged)


def test_pairs_are_counted_over_all_errors() -> None:
    judged = [_judged(group, digest) for group, digest in [("a", "1"), ("a", "1"), ("a", "2"), ("b", "2"), ("b", "3")]]
    found = scores.pairs(judged)
    assert found == Pairs(both=1, ours=2, theirs=4)
    assert (found.precision, found.recall) == (0.5, 0.25)
    assert found.f1 == pytest.approx(1 / 3)


def test_what_is_wrong_is_said() -> None:
    judged = [_judged("a", "1"), _judged("a", "2"), _judged("b", "2", Kind.TRANSIENT)]
    told = scores.score(judged)
    assert told.accuracy == pytest.approx(2 / 3)
    assert [line.split(":")[:2] for line in told.wrong] == [
        ["torn", " a"],
        ["thrown together", " a, b"],
        ["misjudged", " b-2"],
    ]


def _own_lines(entry: Entry) -> list[str]:
    frames = [line for line in entry.thrown.stack.splitlines() if line.lstrip().startswith("at ")]
    return [line for line in frames if "node_modules" not in line and "node:" not in line and "<anonymous>" not in line]


def _judged(group: str, digest: str, kind: Kind = Kind.UNKNOWN) -> Judged:
    entry = Entry(f"{group}-{digest}", group, group, Kind.UNKNOWN, Thrown("x"))
    mark = Signature(1, digest, "error", "Error", "", f"x {digest}", "", "none", "x")
    return Judged(entry, mark, Verdict(kind))
