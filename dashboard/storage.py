"""Static files under names that change with their content, the modules that a module imports included."""

from __future__ import annotations

from django.contrib.staticfiles.storage import HashedFilesMixin
from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):  # type: ignore[misc]  # WhiteNoise has no types
    """Without this an upgraded page would go on with the old modules out of the browser's cache.

    Only our own modules: what htmx's extensions say of imports in their comments is no import.
    """

    support_js_module_import_aggregation = True
    _js_module_import_aggregation_patterns = ("js/*.js", HashedFilesMixin._js_module_import_aggregation_patterns[1])  # type: ignore[attr-defined]
