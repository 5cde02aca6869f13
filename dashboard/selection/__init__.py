"""Jobs that were picked from a list: what the boxes say, what can be done to them, what is asked before it is.

Nothing here changes anything: that is `queues.operations`.
"""

from dashboard.selection.bar import bar
from dashboard.selection.picked import Picked, pick
from dashboard.selection.question import question

__all__ = ["Picked", "bar", "pick", "question"]
