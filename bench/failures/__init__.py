"""How well failures are grouped and classed, and what indexing and showing them costs."""
