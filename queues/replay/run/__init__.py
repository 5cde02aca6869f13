"""Running a plan in slices: its set frozen, ordered, sent and watched, by one worker at a time (`queues.lease`).

`running` is what tasks call. A slice does what the phase of the plan asks for, and gives way to others.
"""
