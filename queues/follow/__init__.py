"""The follower: reads the event streams of every source, counts, keeps, and tells who watches. `run` starts it.

`streams` holds one stream in memory, `source` follows all of one source, `store` keeps what is known in the
database, `lease` lets one follower at a time do so, `counting` reads depths, `teller` composes the news; `limits`
bounds a reading, `rates` counts events a second, `failing` speaks with the index of failures.
"""

from queues.follow.run import run

__all__ = ["run"]
