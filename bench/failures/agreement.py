"""The scores of the corpus as tables, with what is wrong as notes, and what a signature takes."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

from bench.failures.corpus import PARTS, Entry, load
from bench.failures.scores import ACCURACY, F1, Scores, confusion, judge, score
from bench.report import Row, Table

NAMES = {"tune": "tuned on", "held": "not tuned on"}
WRONG = 40  # lines that are printed of a part
ROUNDS = 5


def tables() -> list[Table]:
    """One table for each part of the corpus."""
    return [_table(part) for part in PARTS]


def _table(part: str) -> Table:
    entries = load(part)
    scores = score(judge(entries))
    return Table(
        f"Failures: signatures and classes of the errors {NAMES[part]}",
        _rows(part, scores, entries),
        [_sizes(scores), _confused(scores), *_wrong(scores)],
    )


def _rows(part: str, scores: Scores, entries: Sequence[Entry]) -> list[Row]:
    aims = (F1, ACCURACY) if part == "held" else (None, None)
    return [
        _share("pairs of one signature that are of one group (precision)", scores.pairs.precision),
        _share("pairs of one group that have one signature (recall)", scores.pairs.recall),
        _share("F1 of both", scores.pairs.f1, aims[0]),
        _share("classes that are right", scores.accuracy, aims[1]),
        Row("one signature, never seen before", f"{_microseconds(entries):.0f} us"),
    ]


def _share(what: str, value: float, least: float | None = None) -> Row:
    aim = "" if least is None else f"at least {100 * least:g} %"
    return Row(what, f"{100 * value:.1f} %", aim=aim, met=None if least is None else value >= least)


def _microseconds(entries: Sequence[Entry]) -> float:
    """A signature takes, the cache passed by; the best of a few rounds, since others use the processor too."""
    from queues.failures.signature import of

    taken = []
    for round_ in range(ROUNDS):
        unseen = [replace(entry.thrown, name=f"{entry.thrown.name} {round_}") for entry in entries]
        began = time.perf_counter()
        for thrown in unseen:
            of(thrown)
        taken.append(1e6 * (time.perf_counter() - began) / len(unseen))
    return min(taken)


def _sizes(scores: Scores) -> str:
    families = len({one.entry.family for one in scores.judged})
    errors = f"{len(scores.judged)} errors in {scores.groups} groups and {families} families."
    pairs = scores.pairs
    return f"{errors} Pairs: {pairs.theirs} by a person, {pairs.ours} by us, {pairs.both} by both."


def _confused(scores: Scores) -> str:
    counts = confusion(scores.judged)
    wrong = [f"{theirs} as {ours} {n}" for (theirs, ours), n in sorted(counts.items()) if theirs != ours]
    return f"Classes that are wrong: {', '.join(wrong) or 'none'}."


def _wrong(scores: Scores) -> list[str]:
    said = [f"- {' '.join(line.split())}" for line in scores.wrong]
    if len(said) > WRONG:
        said[WRONG:] = [f"- and {len(said) - WRONG} more"]
    return ["\n".join(said)] if said else []
