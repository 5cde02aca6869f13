"""Every URL of the product. The noun in the path is the noun of the view module and the template folder."""

from __future__ import annotations

from django.urls import URLPattern, URLResolver

urlpatterns: list[URLPattern | URLResolver] = []
