"""The ASGI entry point for Daphne."""

from __future__ import annotations

import os

from channels.routing import ProtocolTypeRouter
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dashboard.settings")

django_application = get_asgi_application()

# Both need the settings that the line above has loaded.
from django.conf import settings  # noqa: E402

from dashboard.subpath import SubPath  # noqa: E402

application = SubPath(
    ProtocolTypeRouter({"http": django_application}),
    prefix=settings.FORCE_SCRIPT_NAME or "",
)
