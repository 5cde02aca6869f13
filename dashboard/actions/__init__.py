"""What a person is asked before something is done: the title, the facts, the consequences in sentences, the form.

`forms` are the fields of each action, `wording` its names, `job_effects` and `queue_effects` what a person must know
before, `bars` which buttons stand on a page, and `off` why some cannot be pressed. Nothing here changes anything: that
is `queues.operations`.
"""
