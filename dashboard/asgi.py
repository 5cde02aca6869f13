"""The ASGI entry point for Daphne."""

from __future__ import annotations

import gc
import os

from channels.routing import ProtocolTypeRouter
from django.conf import settings
from django.core.asgi import get_asgi_application

from dashboard import broker, sockets
from dashboard.subpath import SubPath

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")
broker.require_servers(settings.ENV)

application = SubPath(
    ProtocolTypeRouter({"http": get_asgi_application(), "websocket": sockets.router(*sockets.routes())}),
    prefix=settings.FORCE_SCRIPT_NAME or "",
)

# What is loaded by now stays. Left out of the count, the collector comes round sooner for what requests leave behind,
# and is done sooner: else dead pages of half a megabyte pile up by the dozen.
gc.collect()
gc.freeze()
