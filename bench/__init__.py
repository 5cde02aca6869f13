"""Figures of speed and size, each beside the bare work that it cannot go below: `python -m bench`."""
