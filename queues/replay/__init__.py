"""Replays: a frozen set of jobs, brought back in an order and at a pace that were looked at first, once each.

`types` and `terms` are the nouns; `making` begins a plan, `freezing` builds its set, `preview` tells what it would do,
`steering` is what people do to it (each audited), `run` sends, `watching` sees what becomes of what was sent, `report`
sums it up. State is in the database (`queues.models.replays`); what a plan did to a server is known exactly after any
crash, since each sending leaves a receipt there in the same script (`queues.backend.Replays`).
"""
