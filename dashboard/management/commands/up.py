"""`manage.py up`: everything that Mirante consists of, in one console, until Ctrl-C."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import Error, connections

from dashboard import first_admin
from dashboard.credentials import redact
from dashboard.environment import Environment
from dashboard.first_admin import FirstAdmin
from dashboard.processes import ready
from dashboard.processes.child import Program
from dashboard.processes.console import Console
from dashboard.processes.listen import CannotListen, reachable, web_socket
from dashboard.processes.lock import Busy, FolderLock
from dashboard.processes.plan import Plan
from dashboard.processes.supervisor import STOP_SIGNALS, Supervisor
from dashboard.processes.valkey import EmbeddedValkey, NoServer
from queues import identity


class Command(BaseCommand):
    help = "Run the web server, the worker, the clock and, unless APP_REDIS_URL is set, an embedded Valkey."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--demo-traffic",
            action="store_true",
            help="also write demo jobs to the watched server, even if it is one that you named",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        for number in STOP_SIGNALS:
            signal.signal(number, _leave)
        try:
            code = self._run(settings.ENV, traffic=self.wants_traffic(options), asked=options["demo_traffic"])
        except (Busy, CannotListen, NoServer, first_admin.Refused) as error:
            raise CommandError(str(error)) from None
        except Error as error:
            named = f"DATABASE_URL: the database {_place(settings.ENV)}cannot be used"
            raise CommandError(f"{named}: {redact(str(error)).strip()}") from None
        sys.exit(code)

    def wants_traffic(self, options: dict[str, Any]) -> bool:
        return bool(options["demo_traffic"])

    def _run(self, env: Environment, *, traffic: bool, asked: bool) -> int:
        # What the processes write into the var folder holds job data and passwords: for this user only.
        os.umask(0o077)
        with contextlib.ExitStack() as held:
            with _written_to(env.var_dir):
                held.callback(FolderLock(env.var_dir).release)
                web = held.enter_context(web_socket(env.bind, env.port))
                ready.migrate()
                ready.collect_static()
                identity.recognise()
                admin = first_admin.ensure(var_dir=env.var_dir, wanted=env.admin_password)
                connections.close_all()
                embedded = EmbeddedValkey(env.var_dir / "valkey") if _needs_embedded(env) else None
                if embedded:
                    held.callback(embedded.close)
            plan = Plan(env, base_dir=settings.BASE_DIR, web=web, embedded=embedded)
            programs = plan.programs() + ([plan.demo_traffic(asked=asked)] if traffic else [])
            return self._supervise(env, programs, admin, embedded, port=web.getsockname()[1])

    def _supervise(
        self,
        env: Environment,
        programs: list[Program],
        admin: FirstAdmin | None,
        embedded: EmbeddedValkey | None,
        *,
        port: int,
    ) -> int:
        console = Console(
            sys.stdout,
            secrets=_passwords(env, admin, embedded),
            colour=sys.stdout.isatty() and "NO_COLOR" not in os.environ,
            width=max(len(program.name) for program in programs),
        )
        console.say(f"starting {', '.join(program.name for program in programs)}")

        def announce() -> None:
            for line in _banner(env, admin, port=port):
                console.plain(line)

        return Supervisor(programs, console=console, announce=announce).run()


@contextlib.contextmanager
def _written_to(var_dir: Path) -> Iterator[None]:
    """A full or read-only disk is nothing to find in our code."""
    try:
        yield
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        raise CommandError(f"MIRANTE_VAR_DIR: {var_dir} cannot be written to: {error.strerror}{where}") from None


def _place(env: Environment) -> str:
    """The file of SQLite, which nobody may have named."""
    name = env.database["NAME"]
    return f"{name} " if isinstance(name, Path) else ""


def _needs_embedded(env: Environment) -> bool:
    return env.app_redis is None or not env.sources


def _passwords(env: Environment, admin: FirstAdmin | None, embedded: EmbeddedValkey | None) -> list[str]:
    """Whatever must never be seen in a child's output, in both its spellings."""
    urls = [source.url for source in env.sources] + ([env.app_redis.url] if env.app_redis else [])
    found = [urlsplit(url).password or "" for url in urls]
    found += [str(env.database.get("PASSWORD", "")), env.email.password if env.email else ""]
    found += [env.secret_key, *env.secret_key_fallbacks, env.admin_password or ""]
    found += [admin.password or "" if admin else "", embedded.password if embedded else ""]
    return [secret for password in found for secret in (password, unquote(password))]


def _banner(env: Environment, admin: FirstAdmin | None, *, port: int) -> list[str]:
    host = reachable(env.bind)
    local = f"http://{f'[{host}]' if ':' in host else host}:{port}{env.path_prefix}/"
    public = f"{env.base_url.origin}{env.base_url.path}/" if env.base_url else local
    behind = f"  (here: {local})" if public != local else ""
    return ["", f"  Mirante is ready:  {public}{behind}", *_sign_in(admin), ""]


def _sign_in(admin: FirstAdmin | None) -> list[str]:
    if admin is None:
        return [f"  User:              one of yours: there is no active “{first_admin.NAME}”"]
    password = f"{admin.password}  ({admin.note})" if admin.password else admin.note
    return [f"  User:              {first_admin.NAME}", f"  Password:          {password}"]


def _leave(_number: int, _frame: FrameType | None) -> None:
    """Asked to stop before anything was started. An exception could get lost, as in a callback during an import."""
    os._exit(0)
