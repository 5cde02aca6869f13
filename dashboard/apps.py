"""The web interface as a Django application."""

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        # So that a task which a page starts finds its broker.
        import dashboard.celery  # noqa: F401
