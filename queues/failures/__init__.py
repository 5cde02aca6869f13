"""Failures and dead letters: indexed, grouped by signature, classified, remembered. See `docs/failures.md`.

- `types` are the nouns, `windows` the times in which failures are counted.
- `signature` tells failures apart, `classes` says what a retry can do, `letters` reads dead letters.
- `index` keeps the database equal to the queues, over the `desk` that it shares with the follower; `store` alone
  writes; `regroup` moves what is there to signatures of a new version.
- People say things by `life` (open, resolved, ignored), `merging` (and `splitting`) and `classes`; where they change
  what is counted, the index waits (`locking`).
- `find` reads the list of groups, `about` one of them, `occurrences` its single failures, `standing` how far the index
  is; `of_jobs` and `tops` say to which groups the jobs and queues of other pages belong.
"""
