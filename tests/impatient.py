"""The ASGI application as it is, but that rights of open sockets are looked at each second, not each half minute."""

from importlib import import_module

from dashboard.asgi import application

# Not before the application has set Django up.
vars(import_module("dashboard.consumers")).update(FIRST_MESSAGE_S=3.0, RIGHTS_S=1.0)

__all__ = ["application"]
