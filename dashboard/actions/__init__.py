"""What a person is asked before something is done: the title, the facts, the consequences in sentences, the form.

`forms` are the fields of each action, `wording` its names, `consequences` what a person must know before, `bars` which
buttons stand on a page and why some are off. Nothing here changes anything: that is `queues.operations`.
"""
