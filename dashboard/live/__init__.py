"""The live parts of pages: what the follower tells, drawn once and sent to all who watch.

Here alone the channel layer is spoken to. `groups` names groups and carries news, `hub` is the one listener of a
web process, `overview`, `queue` and `job` draw what changed, `dashboard.consumers` holds the sockets.
"""
