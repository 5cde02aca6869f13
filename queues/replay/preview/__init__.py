"""What a plan would do, before it does anything."""

from queues.replay.preview.showing import keys_of, preview, some
from queues.replay.preview.targets import LATELY
from queues.replay.preview.types import Class, Effect, Found, Further, Keys, Preview, Share, Sight, Target

__all__ = [
    "LATELY",
    "Class",
    "Effect",
    "Found",
    "Further",
    "Keys",
    "Preview",
    "Share",
    "Sight",
    "Target",
    "keys_of",
    "preview",
    "some",
]
