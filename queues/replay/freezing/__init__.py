"""The set of a plan: collected into rows, each looked at on the server, in bounded memory and resumable at any moment.

Steps: collecting, looking, and reading where the terms need the jobs' data; then the plan is a draft.
"""

from queues.replay.freezing.keys import key_of
from queues.replay.freezing.steps import Progress, Step, progress, relook, reread, step_after
from queues.replay.freezing.work import Freezing

__all__ = ["Freezing", "Progress", "Step", "key_of", "progress", "relook", "reread", "step_after"]
