"""The product's own settings over data that goes away: a fresh folder, and a database file that servers can share."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

from dashboard.environment import VARIABLES

if "PYTEST_XDIST_WORKER" in os.environ:
    # A worker inherits its controller's folder, and with it the end of that folder.
    _var = Path(os.environ["TEST_VAR_DIR"]) / os.environ["PYTEST_XDIST_WORKER"]
    _var.mkdir(exist_ok=True)
else:
    _var = Path(tempfile.mkdtemp(prefix="mirante-tests-"))
    atexit.register(shutil.rmtree, _var, ignore_errors=True)
    os.environ["TEST_VAR_DIR"] = str(_var)

# Nothing that the person at the keyboard has set for a server of theirs; DATABASE_URL chooses the suite's database.
for _variable in VARIABLES:
    if _variable.name != "DATABASE_URL":
        os.environ.pop(_variable.name, None)
        os.environ.pop(_variable.file_name, None)
os.environ["MIRANTE_VAR_DIR"] = str(_var)
if os.environ.pop("PYTHONDONTWRITEBYTECODE", ""):
    # Or each of the many processes that tests start compiles the product anew: most of its start.
    os.environ["PYTHONPYCACHEPREFIX"] = str(Path(os.environ["TEST_VAR_DIR"]) / "compiled")
os.environ["SECRET_KEY"] = "a key that is used by nothing but the tests of this project"

from dashboard.settings import *  # noqa: E402, F403
from dashboard.settings import DATABASES  # noqa: E402

if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    # A file, not memory: servers under test open it from their own process.
    DATABASES["default"]["TEST"] = {"NAME": str(_var / "test.sqlite3")}

# Real hashing takes 0.3 s for each login; servers under test know only the real one.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.MD5PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
