"""Failures and dead letters: indexed, grouped by signature, classified, remembered. See `docs/failures.md`.

`signature` tells failures apart, `classes` says what a retry can do, `letters` reads dead letters, `index` keeps the
database equal to the queues, `store` alone writes it, `life` is how groups stand, `find` reads them.
"""
