"""What every page's shell needs."""

from __future__ import annotations

from django.http import HttpRequest


def shell(request: HttpRequest) -> dict[str, object]:
    return {}
