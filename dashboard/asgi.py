"""The ASGI entry point for Daphne."""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

from dashboard import broker
from dashboard.subpath import SubPath

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
broker.require_servers(settings.ENV)

application = SubPath(
    ProtocolTypeRouter({"http": get_asgi_application()}),
    prefix=settings.FORCE_SCRIPT_NAME or "",
)
