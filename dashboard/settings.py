"""Django's settings, all from the environment as `dashboard.environment` reads it."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from csp.constants import SELF
from django.utils.translation import gettext_lazy as _

from dashboard import broker, logging_config
from dashboard.environment import BadEnvironment, read

BASE_DIR = Path(__file__).resolve().parent.parent
try:
    ENV = read(os.environ, base_dir=BASE_DIR)
except BadEnvironment as error:
    # Not an exception that each of manage.py, Daphne and Celery would dress in a trace of its own.
    raise SystemExit(str(error)) from None

DEBUG = ENV.debug
SECRET_KEY = ENV.secret_key
SECRET_KEY_FALLBACKS = list(ENV.secret_key_fallbacks)
ALLOWED_HOSTS = list(ENV.allowed_hosts)
CSRF_TRUSTED_ORIGINS = list(ENV.csrf_trusted_origins)
FORCE_SCRIPT_NAME = ENV.path_prefix or None

INSTALLED_APPS = [
    "daphne",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "csp",
    "django_htmx",
    "template_partials",
    "channels",
    "queues",
    "dashboard",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "csp.middleware.CSPMiddleware",
    "dashboard.middleware.no_store",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "dashboard.access.SignInMiddleware",
    "dashboard.access.RoleMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "dashboard.middleware.MaskingMiddleware",
    "dashboard.middleware.method_page",
    "dashboard.http.QueueErrorMiddleware",
]

ROOT_URLCONF = "dashboard.urls"
ASGI_APPLICATION = "dashboard.asgi.application"

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "dashboard.context.shell",
            ],
            "builtins": ["django.templatetags.i18n", "dashboard.templatetags.mirante"],
        },
    },
]

DATABASES = {"default": ENV.database}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]
USE_I18N = True
USE_TZ = True
TIME_ZONE = "UTC"

STATIC_URL = f"{ENV.path_prefix}/static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = ENV.var_dir / "static"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "dashboard.storage.StaticFiles"},
}
# WhiteNoise compares with the path that is left when the sub-path is gone.
WHITENOISE_STATIC_PREFIX = "/static/"

LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "overview"
LOGOUT_REDIRECT_URL = "login"

# Cookies carry our own names, as browsers share them between all ports of a host.
SESSION_COOKIE_NAME = "mirante_session"
CSRF_COOKIE_NAME = "mirante_csrf"
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = LANGUAGE_COOKIE_PATH = ENV.path_prefix or "/"
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = LANGUAGE_COOKIE_SECURE = ENV.https
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_AGE = 7 * 24 * 3600
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = LANGUAGE_COOKIE_SAMESITE = "Lax"

# Anybody can send X-Forwarded-*: believed only when the operator says that a proxy sets it.
USE_X_FORWARDED_HOST = ENV.trust_proxy
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if ENV.trust_proxy else None
# Without the proxy's word every request looks like plain HTTP, and a redirect would never end.
SECURE_SSL_REDIRECT = ENV.https and ENV.trust_proxy
# Health checks and scrapers come from inside, past the proxy. The path is compared whole, with the sub-path.
SECURE_REDIRECT_EXEMPT = [
    f"^{re.escape(f'{ENV.path_prefix}/{name}'.removeprefix('/'))}$" for name in ("healthz", "metrics")
]
SECURE_HSTS_SECONDS = ENV.hsts_seconds
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Whether subdomains and preload lists are meant is for the owner of the domain to say, in the proxy.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

CSRF_FAILURE_VIEW = "dashboard.views.errors.csrf_failure"

# One constant policy for every page: nothing inline, nothing from elsewhere.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "base-uri": ["'none'"],
        "form-action": [SELF],
        "frame-ancestors": ["'none'"],
        "object-src": ["'none'"],
    },
}

CHANNEL_LAYERS: dict[str, dict[str, Any]] = {"default": broker.channel_layer(ENV.app_redis)}
CELERY = broker.celery(ENV.app_redis, var_dir=ENV.var_dir)
CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}

EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if ENV.email else 'dummy'}.EmailBackend"
if ENV.email:
    EMAIL_HOST = ENV.email.host
    EMAIL_PORT = ENV.email.port
    EMAIL_HOST_USER = ENV.email.user
    EMAIL_HOST_PASSWORD = ENV.email.password
    EMAIL_USE_TLS = ENV.email.starttls
    EMAIL_USE_SSL = ENV.email.tls
    EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = SERVER_EMAIL = ENV.from_email

LOGGING = logging_config.config(level=ENV.log_level, form=ENV.log_format)
logging_config.configure_structlog(ENV.log_format)

MIRANTE_SOURCES = ENV.sources
MIRANTE_APP_REDIS = ENV.app_redis
MIRANTE_BASE_URL = f"{ENV.base_url.origin}{ENV.base_url.path}" if ENV.base_url else ""
MIRANTE_BULK_MAX = ENV.bulk_max
MIRANTE_UNDO_HOURS = ENV.undo_hours
MIRANTE_UNDO_MB = ENV.undo_mb
MIRANTE_AUDIT_DAYS = ENV.audit_days
MIRANTE_FAILURES_DAYS = ENV.failures_days
MIRANTE_REPLAYS_DAYS = ENV.replays_days
MIRANTE_DEAD_LETTERS = ENV.dead_letters
