"""What people do to a plan. Each act takes the phases it expects and changes the plan in one statement, with a line in
its feed and an entry in the log of actions, or not at all; then it wakes the runner.

Where a plan is in another phase by then, `WrongState` says in which, by whom and since when. The same form sent again
does nothing and gives the first entry. Rights are the web's.

What this leaves to the runner:

- `cancel` of a plan that was started, or of more than a few jobs, makes it CANCELLING. `step` is then "taking-back"
  where what was sent and not begun shall be taken back too, else empty. The runner sends nothing more; it asks the
  server by `receipts` about rows that are READY, as a lost worker may have sent some of them (none where `started_at`
  is empty: then no server is needed); it writes these down as SENT and puts the others, and those that are HELD, BACK,
  in bounded steps; takes back what was asked for; then it makes the plan CANCELLED, with `ended_at`, and completes
  `entry`, where there is one. What was sent and has not ended it awaits after that, as it does at the end of any plan.
- `take_back`, and `cancel` before anything was sent, take the lease from whoever prepares the plan: `LeaseLost`.
- `go_on` finds out where a plan was by its columns: `started_at`, `rest_at` and `sent_at`, whether it has a canary.
  Out of a canary that failed or was too late it makes it RUNNING with `rest_at`. After BLOCKED it sets
  `Terms.key_failed` to GO_ON: rows that are HELD behind one that failed again have to be made READY then.
- `change_pace` writes `terms` alone: who sends reads them anew, and climbs from the new `pace_from`.
"""

from queues.replay.steering.drafts import discard, look_again, save
from queues.replay.steering.running import cancel, change_pace, go_on, pause
from queues.replay.steering.said import ChangedMeanwhile
from queues.replay.steering.starting import approve, refuse, start, take_back
from queues.replay.steering.wanted import Wanted, typed_name, wanted

__all__ = [
    "ChangedMeanwhile",
    "Wanted",
    "approve",
    "cancel",
    "change_pace",
    "discard",
    "go_on",
    "look_again",
    "pause",
    "refuse",
    "save",
    "start",
    "take_back",
    "typed_name",
    "wanted",
]
