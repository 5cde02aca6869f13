"""Static files under names that change with their content, the modules that a module imports included."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage


class StaticFiles(CompressedManifestStaticFilesStorage):
    """Without this an upgraded page would go on with the old modules out of the browser's cache."""

    support_js_module_import_aggregation = True
