"""Replays as pages tell them: their drafts, how they run, and what came of them. No URL knows of these modules."""
