#!/usr/bin/env python
"""Mirante's command line: `manage.py up` starts everything, `manage.py help` lists the rest."""

import os
import signal
import sys


def main() -> None:
    if sys.argv[1:2] in (["up"], ["demo"]):
        # Until they have a handler of their own: Python's is an exception, which can get lost during an import.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
