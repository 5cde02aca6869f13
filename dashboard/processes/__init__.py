"""The processes that `manage.py up` runs: what they are, how they start, live, are watched and end."""
