"""Terminal colour and cursor codes in logs and errors, which are noise on a page."""

from __future__ import annotations

import re

# Unterminated strings (OSC, DCS) lose their introducer only: they must not hide the text behind them.
_SEQUENCE = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?"  # CSI: colours, cursor
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x80-\x9f\n]*+(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\\(?:x1b|u001[bB])\[[0-?]*+[ -/]*+[@-~]"  # colours whose ESC was already written out, as in JSON
    r"|\x1b[ -/]++[0-~]"  # character sets
    r"|\x1b[0-~]"
    r"|[\x90\x98\x9d-\x9f]"
)


def strip_ansi(text: str) -> str:
    """`text` without terminal control sequences, also where ESC is written `\\x1b`. Linear; never raises."""
    return _SEQUENCE.sub("", text) if "\x1b" in text or "\\" in text or not text.isascii() else text
