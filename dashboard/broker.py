"""How Celery and Channels reach our own Redis."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dashboard.environment import Environment
from dashboard.environment.urls import RedisUrl


def require_servers(environment: Environment) -> None:
    """Ends a process that was started by itself and lacks what `manage.py up` would have started along."""
    missing = [
        name
        for name, there in (
            # One that this machine made for itself signs what no other machine and no other folder can read.
            ("SECRET_KEY", environment.secret_key_file is None),
            ("APP_REDIS_URL", environment.app_redis is not None),
            ("REDIS_URL (or MIRANTE_SOURCES)", bool(environment.sources)),
        )
        if not there
    ]
    if missing:
        raise SystemExit(
            f"Mirante cannot start this process: {', '.join(missing)} not set (docs/configuration.md). "
            "Or let `manage.py up` start everything, with an embedded Valkey."
        )


def channel_layer(server: RedisUrl | None) -> dict[str, Any]:
    if server is None:
        return {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    host: dict[str, Any] = {"address": server.url}
    if server.ca_file:
        host["ssl_ca_certs"] = server.ca_file
    return {
        "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
        "CONFIG": {"hosts": [host], "prefix": "mirante"},
    }


def celery(server: RedisUrl | None, *, var_dir: Path) -> dict[str, Any]:
    """Celery's configuration, except for the schedule."""
    config: dict[str, Any] = {
        "broker_url": _kombu_url(server) if server else "memory://localhost",
        "broker_connection_retry_on_startup": True,
        # A task that a killed worker held comes back after this many seconds; no task may run longer.
        "broker_transport_options": {"visibility_timeout": 600, "global_keyprefix": "mirante:"},
        "task_ignore_result": True,
        "task_acks_late": True,
        "task_default_queue": "mirante",
        "task_serializer": "json",
        "result_serializer": "json",
        "accept_content": ["json"],
        "worker_prefetch_multiplier": 1,
        # Threads: the work is waiting for Redis and HTTP, and a killed worker leaves no child behind.
        "worker_pool": "dashboard.worker:Threads",
        "worker_concurrency": 4,
        "worker_hijack_root_logger": False,
        "worker_redirect_stdouts": False,
        "worker_enable_remote_control": False,
        "worker_send_task_events": False,
        "beat_schedule_filename": str(var_dir / "celery-beat"),
        "enable_utc": True,
        "timezone": "UTC",
    }
    if server and server.tls:
        config["broker_use_ssl"] = {
            "ssl_cert_reqs": ssl.CERT_REQUIRED,
            "ssl_check_hostname": True,
            **({"ssl_ca_certs": server.ca_file} if server.ca_file else {}),
        }
    return config


def _kombu_url(server: RedisUrl) -> str:
    """The same server as kombu writes it, which names the database of a unix socket in its own way."""
    parts = urlsplit(server.url)
    if parts.scheme != "unix":
        return server.url
    return f"redis+socket://{parts.netloc}{parts.path}?{parts.query.replace('db=', 'virtual_host=')}"
