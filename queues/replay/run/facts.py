"""What the runner keeps between slices in `Replay.facts`, by these names; nobody else writes there."""

from __future__ import annotations

from queues import lease

LOST = lease.LOST  # true: a worker was lost, and nobody has looked into that yet
UNSETTLED = "unsettled"  # true: some rows that are READY may have been sent
LATE_MS = "late_ms"  # until when, by the server's clock, what was cut off may still reach the server
PACE = "pace"  # queues.replay.pacing.Pacer.kept
PACES = "paces"  # by which the climb began: from, to, seconds
CLIMB = "climb"  # seconds of climbing by now: what is waited for does not count
RESTED = "rested"  # true: nothing was sent lately, for a reason
TICKED = "ticked"  # seconds since 1970 of the last moment at which something could have been sent
CLIMBED = "climbed"  # the pace that the feed has told
CANARY_AT = "canary_at"  # seconds since 1970 when all of the canary was sent
ORIGINALS = "originals"  # keys of rows that were sent, and whose originals are to be removed now
HALTED = "halted"  # why it was halted ("": by a person), until it goes on
FRESH = "fresh"  # `ended_ms` up to which ends count no more: those that a person has seen
IDLE = "idle"  # by key of a queue: since when it has had no worker, ms of the server
TOLD_HELD = "told_held"  # seconds since 1970 when the feed last told that it holds
SAID_HELD = "said_held"  # true: the feed has told of this hold, and will of its end
QUIET = "quiet"  # seconds to wait for more, as long as nothing happens
OVER_AT = "over_at"  # seconds since 1970 when all that was sent had ended
DROPPED = "dropped"  # key of the row up to which receipts of copies are dropped
