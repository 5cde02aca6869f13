"""Actions over many jobs, in the background: frozen when they are confirmed, done in steps, and taken up again.

`queues.operations` begins and stops them; a task runs them in slices (`running`), one worker at a time (`lease`).
Every outcome is written down together with how far the action is, in one transaction; what was done to Redis and not
written down is asked for again, which does nothing twice.
"""

from queues.bulk.phases import Phase

__all__ = ["Phase"]
