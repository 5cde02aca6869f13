"""The live parts of pages: what the follower tells, drawn once and sent to all who watch.

Here alone the channel layer is spoken to. `groups` names groups and carries news (`wire`), `hub` is the centre of a
web process, which hears them (`listening`) and has them drawn: `overview`, `queue` and `job` draw what changed, a
`board` keeps what a topic looks like, `frames` are what sockets are sent and `requests` what they send.
`dashboard.consumers` holds the sockets.
"""
