"""The environment: what may be set, and what is refused and how."""

import secrets
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from dashboard.environment import VARIABLES, BadEnvironment, Environment, kept
from dashboard.environment import read as read_environment

KEY = "a key of more than fifty characters for these tests only"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def read(folder: Path, **env: str) -> Environment:
    return read_environment({"SECRET_KEY": KEY, **env}, base_dir=folder)


def problems(folder: Path, **env: str) -> tuple[str, ...]:
    with pytest.raises(BadEnvironment) as caught:
        read(folder, **env)
    return caught.value.problems


def test_nothing_set_is_a_server_for_this_machine_only(folder: Path) -> None:
    env = read_environment({}, base_dir=folder)
    assert env.bind == "127.0.0.1"
    assert env.port is None
    assert not env.debug
    assert not env.trust_proxy
    assert env.sources == ()
    assert env.app_redis is None
    assert env.allowed_hosts == ("127.0.0.1", "localhost", "[::1]")
    assert env.database["NAME"] == folder / "var" / "mirante.sqlite3"


def test_an_empty_value_counts_as_not_set(folder: Path) -> None:
    assert read(folder, **{v.name: "" for v in VARIABLES if v.name != "SECRET_KEY"}) == read(folder)


def test_the_secret_key_is_made_once_and_only_its_owner_can_read_it(folder: Path) -> None:
    first = read_environment({}, base_dir=folder).secret_key
    assert len(first) >= 50
    assert read_environment({}, base_dir=folder).secret_key == first
    assert stat.S_IMODE((folder / "var" / "secret-key").stat().st_mode) == 0o600


def test_all_who_ask_for_a_kept_secret_at_once_get_the_same(folder: Path) -> None:
    for attempt in range(20):
        path = folder / str(attempt) / "secret"
        with ThreadPoolExecutor(8) as pool:
            got = {pool.submit(kept, path, secrets.token_hex).result() for _ in range(8)}
        assert len(got) == 1
        assert [entry.name for entry in path.parent.iterdir()] == ["secret"]


@pytest.mark.parametrize("bind", ["0.0.0.0", "::", "192.0.2.7"])
def test_a_server_open_to_others_needs_a_secret_key(folder: Path, bind: str) -> None:
    with pytest.raises(BadEnvironment) as caught:
        read_environment({"BIND": bind, "ALLOWED_HOSTS": "example.com"}, base_dir=folder)
    (line,) = caught.value.problems
    assert line.startswith("SECRET_KEY: expected a key")
    assert not (folder / "var").exists()


@pytest.mark.parametrize("bind", ["127.0.0.1", "127.8.8.8", "::1", "localhost"])
def test_a_loopback_address_needs_no_secret_key(folder: Path, bind: str) -> None:
    assert read_environment({"BIND": bind}, base_dir=folder).secret_key


def test_a_var_folder_that_cannot_be_written_is_named(folder: Path) -> None:
    (folder / "file").write_text("")
    with pytest.raises(BadEnvironment) as caught:
        read_environment({"MIRANTE_VAR_DIR": str(folder / "file" / "var")}, base_dir=folder)
    assert caught.value.problems[0].startswith("MIRANTE_VAR_DIR: expected a folder to write to")


def test_all_wrong_values_are_named_at_once_a_line_each(folder: Path) -> None:
    wrong = {"PORT": "80o0", "BIND": "everywhere", "LOG_LEVEL": "loud", "MIRANTE_DEBUG": "maybe"}
    with pytest.raises(BadEnvironment) as caught:
        read(folder, **wrong)
    text = str(caught.value)
    assert len(text.splitlines()) == 5
    for name, value in wrong.items():
        assert f"  {name}: expected " in text
        assert repr(value) in text


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "0"),
        ("PORT", "65536"),
        ("PORT", "-1"),
        ("PORT", "٨٠٠٠"),
        ("BIND", "example.com"),
        ("MIRANTE_DEMO_RATE", "nan"),
        ("MIRANTE_DEMO_RATE", "51"),
        ("MIRANTE_HSTS_SECONDS", "a year"),
        ("MIRANTE_BASE_URL", "example.com"),
        ("MIRANTE_BASE_URL", "ftp://example.com"),
        ("MIRANTE_BASE_URL", "https://example.com/?a=1"),
        ("MIRANTE_BASE_URL", "https://example.com/a//b"),
        ("MIRANTE_BASE_URL", "https://example.com/.."),
        ("MIRANTE_BASE_URL", "https://example.com/a b"),
        ("MIRANTE_BASE_URL", "https://example.com:port/"),
        ("ALLOWED_HOSTS", "https://example.com"),
        ("ALLOWED_HOSTS", "example.com:8000"),
        ("CSRF_TRUSTED_ORIGINS", "example.com"),
        ("CSRF_TRUSTED_ORIGINS", "https://example.com/path"),
        ("DATABASE_URL", "mysql://localhost/x"),
        ("DATABASE_URL", "postgres://localhost"),
        ("DATABASE_URL", "postgres://localhost/a/b"),
        ("DATABASE_URL", "postgres://localhost/a?sslmod=require"),
        ("DATABASE_URL", "sqlite://"),
        ("EMAIL_URL", "mail.example.com"),
        ("EMAIL_URL", "smtp://"),
        ("DEFAULT_FROM_EMAIL", "nobody"),
        ("REDIS_CA_FILE", "/no/such/file"),
        ("MIRANTE_ADMIN_PASSWORD", "short"),
        ("MIRANTE_READ_ONLY", "elsewhere"),
        ("MIRANTE_BULK_MAX", "many"),
        ("MIRANTE_UNDO_HOURS", "-1"),
        ("MIRANTE_UNDO_MB", "0"),
        ("MIRANTE_AUDIT_DAYS", "a year"),
        ("MIRANTE_FAILURES_DAYS", "0"),
        ("MIRANTE_REPLAYS_DAYS", "-1"),
        ("MIRANTE_DEAD_LETTERS", "errors"),
        ("SECRET_KEY", "short"),
        ("SECRET_KEY", "a" * 60),
        ("SECRET_KEY_FALLBACKS", f"{'k' * 49}"),
    ],
)
def test_a_wrong_value_is_refused_with_what_was_expected(folder: Path, name: str, value: str) -> None:
    (line,) = problems(folder, **{name: value})
    assert line.startswith(f"{name}: expected ")


@pytest.mark.parametrize("name", [v.name for v in VARIABLES if v.secret])
def test_a_secret_can_be_a_file(folder: Path, name: str) -> None:
    value = {
        "REDIS_URL": "redis://h/1",
        "MIRANTE_SOURCES": "a=redis://h/1",
        "APP_REDIS_URL": "redis://h/1",
        "DATABASE_URL": "postgres://h/n",
        "EMAIL_URL": "smtp://h",
    }.get(name, KEY.replace(" ", "-"))
    path = folder / "secret"
    path.write_text(f"{value}\n")
    others = {} if name == "SECRET_KEY" else {"SECRET_KEY": KEY}
    from_value = read_environment({**others, name: value}, base_dir=folder)
    assert read_environment({**others, f"{name}_FILE": str(path)}, base_dir=folder) == from_value
    assert from_value != read_environment(others, base_dir=folder)


@pytest.mark.parametrize("name", [v.name for v in VARIABLES if v.secret and v.name != "SECRET_KEY"])
def test_a_secret_cannot_be_both_value_and_file(folder: Path, name: str) -> None:
    assert problems(folder, **{name: "x", f"{name}_FILE": "/y"}) == (
        f"{name}: set either {name} or {name}_FILE, not both",
    )


@pytest.mark.parametrize("content", [None, b"", b" \n", b"\xff\xfe"])
def test_a_secret_file_that_is_missing_empty_or_no_text_is_named(folder: Path, content: bytes | None) -> None:
    path = folder / "secret"
    if content is not None:
        path.write_bytes(content)
    (line,) = problems(folder, REDIS_URL_FILE=str(path))
    assert line.startswith("REDIS_URL_FILE: expected a ")
    assert str(path) in line


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("MIRANTE_SOURCE", "MIRANTE_SOURCES"),
        ("MIRANTE_BASEURL", "MIRANTE_BASE_URL"),
        ("MIRANTE_VAR", "MIRANTE_VAR_DIR"),
    ],
)
def test_an_unknown_variable_of_ours_is_refused_with_the_nearest_known_one(folder: Path, name: str, near: str) -> None:
    assert problems(folder, **{name: "x"}) == (f"{name}: there is no such setting, the nearest one is {near}",)


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("redis://host", "redis://host/0"),
        ("redis://host:7000/3", "redis://host:7000/3"),
        ("redis://host?db=3", "redis://host/3"),
        ("redis://:pass@host", "redis://:pass@host/0"),
        ("redis://user:p%40ss%2F@host/1", "redis://user:p%40ss%2F@host/1"),
        ("rediss://user:pass@host:6380/0", "rediss://user:pass@host:6380/0"),
        ("redis://[::1]:6379/2", "redis://[::1]:6379/2"),
        ("unix:///run/redis.sock", "unix:///run/redis.sock?db=0"),
        ("unix://user:pass@/run/redis.sock?db=2", "unix://user:pass@/run/redis.sock?db=2"),
    ],
)
def test_every_form_of_a_redis_address_is_understood(folder: Path, given: str, url: str) -> None:
    env = read(folder, REDIS_URL=given, APP_REDIS_URL=given)
    assert [(source.name, source.url) for source in env.sources] == [("main", url)]
    assert env.app_redis is not None
    assert env.app_redis.url == url


@pytest.mark.parametrize(
    "url",
    [
        "http://:hunter22@host",
        "redis://:hunter22/x@host",
        "redis://:hunter22#x@host",
        "redis://:hunter22?x@host",
        "redis://user:hunter22@",
        "redis://:hunter22@host:port",
        "redis://:hunter22@host:0",
        "redis://:hunter22@host:70000",
        "redis://:hunter22@host/zero",
        "redis://:hunter22@host/1?db=2",
        "redis://:hunter22@host/-1",
        "redis://:hunter22@host?database=1",
        "redis://:hunter22@host?ca_file=/etc/hosts",
        "redis://:hunter22@host?prefix=",
        "redis://:hunter22@[::1",
        "redis://:hunter22 @host",
        "rediss://:hunter22@host?ca_file=/no/such/file",
        "unix://:hunter22@host/run/redis.sock",
        "unix://:hunter22@",
        "hunter22",
    ],
)
@pytest.mark.parametrize("form", ["REDIS_URL", "APP_REDIS_URL", "MIRANTE_SOURCES"])
def test_a_wrong_redis_address_is_refused_without_showing_its_password(folder: Path, form: str, url: str) -> None:
    found = "\n".join(problems(folder, **{form: f"orders={url}" if form == "MIRANTE_SOURCES" else url}))
    assert found.startswith(f"{form}: ")
    assert "expected" in found or "ca_file is of use" in found
    assert "hunter22" not in found


def test_several_sources_have_names_and_prefixes_of_their_own(folder: Path) -> None:
    ca_file = folder / "ca.pem"
    ca_file.write_text("")
    env = read(
        folder,
        MIRANTE_SOURCES=f"""
            orders=redis://:one@a:6379/0?prefix=bull&prefix=shop%3Aeu%2C1,
            mails_2=rediss://b?ca_file={ca_file}
        """,
    )
    orders, mails = env.sources
    assert (orders.name, orders.url, orders.prefixes) == ("orders", "redis://:one@a:6379/0", ("bull", "shop:eu,1"))
    assert (mails.name, mails.url, mails.ca_file) == ("mails_2", "rediss://b/0", str(ca_file))


def test_a_lone_source_may_have_prefixes_and_a_ca_file_too(folder: Path) -> None:
    ca_file = folder / "ca.pem"
    ca_file.write_text("")
    (source,) = read(folder, REDIS_URL="rediss://a?prefix=x&prefix=y", REDIS_CA_FILE=str(ca_file)).sources
    assert (source.prefixes, source.ca_file) == (("x", "y"), str(ca_file))


@pytest.mark.parametrize(
    ("value", "names"),
    [("1", ["a", "b"]), ("yes", ["a", "b"]), ("0", []), ("", []), ("b", ["b"]), ("a, b", ["a", "b"])],
)
def test_all_or_some_sources_can_be_read_only(folder: Path, value: str, names: list[str]) -> None:
    env = read(folder, MIRANTE_SOURCES="a=redis://a b=redis://b", MIRANTE_READ_ONLY=value)
    assert [source.name for source in env.sources if source.read_only] == names


def test_a_source_that_is_not_there_cannot_be_read_only(folder: Path) -> None:
    (line,) = problems(folder, MIRANTE_SOURCES="a=redis://a", MIRANTE_READ_ONLY="a,orders")
    assert line == "MIRANTE_READ_ONLY: expected 1, 0 or names of sources (a), got 'a,orders'"


def test_the_server_that_comes_with_it_can_be_read_only_too(folder: Path) -> None:
    assert read(folder, MIRANTE_READ_ONLY="main").sources == ()
    (source,) = read(folder, REDIS_URL="redis://a", MIRANTE_READ_ONLY="main").sources
    assert source.read_only


def test_a_day_of_undo_and_a_year_of_audit_unless_somebody_says_otherwise(folder: Path) -> None:
    env = read(folder)
    assert (env.bulk_max, env.undo_hours, env.undo_mb, env.audit_days) == (0, 24, 256, 365)
    assert (env.failures_days, env.replays_days) == (30, 90)


@pytest.mark.parametrize(
    "sources",
    [
        "redis://:hunter22@a",
        "Orders=redis://:hunter22@a",
        "-a=redis://:hunter22@a",
        "a=redis://:hunter22@a a=redis://b",
        "a=",
    ],
)
def test_sources_without_a_right_name_each_are_refused(folder: Path, sources: str) -> None:
    (line,) = problems(folder, MIRANTE_SOURCES=sources)
    assert line.startswith("MIRANTE_SOURCES: ")
    assert "hunter22" not in line


def test_one_and_several_sources_together_are_refused(folder: Path) -> None:
    found = problems(folder, REDIS_URL="redis://a", MIRANTE_SOURCES="b=redis://b")
    assert found == ("MIRANTE_SOURCES: set either REDIS_URL or MIRANTE_SOURCES, not both",)


def test_nothing_that_can_be_printed_shows_a_secret(folder: Path) -> None:
    env = read(
        folder,
        REDIS_URL="redis://:hunter22@a",
        APP_REDIS_URL="redis://:hunter22@b",
        DATABASE_URL="postgres://u:hunter22@c/d",
        EMAIL_URL="smtps://u:hunter22@e",
        MIRANTE_ADMIN_PASSWORD="hunter22",
        SECRET_KEY_FALLBACKS=("hunter22" * 7),
        SECRET_KEY="hunter22" * 7,
    )
    assert "hunter22" not in f"{env!r} {env} {env.sources!r} {env.app_redis!r} {env.email!r}"


def test_a_database_url_becomes_djangos_settings(folder: Path) -> None:
    database = read(folder, DATABASE_URL="postgresql://u%40x:p%2Fw@db.example:5433/name?sslmode=verify-full").database
    assert database["ENGINE"] == "django.db.backends.postgresql"
    assert [database[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT")] == [
        "name", "u@x", "p/w", "db.example", "5433",
    ]  # fmt: skip
    assert database["OPTIONS"] == {"connect_timeout": "5", "sslmode": "verify-full"}
    socket = read(folder, DATABASE_URL="postgres:///name?host=/run/postgresql&connect_timeout=30").database
    assert (socket["HOST"], socket["NAME"]) == ("/run/postgresql", "name")
    assert socket["OPTIONS"] == {"connect_timeout": "30"}


@pytest.mark.parametrize(("url", "path"), [("sqlite:///data/x.db", "data/x.db"), ("sqlite:////srv/x.db", "/srv/x.db")])
def test_sqlite_files_may_be_relative_or_absolute(folder: Path, url: str, path: str) -> None:
    assert read(folder, DATABASE_URL=url).database["NAME"] == folder / path


def test_the_base_url_gives_host_origin_and_sub_path(folder: Path) -> None:
    env = read(folder, MIRANTE_BASE_URL="https://Ops.example.com/tools/mirante/")
    assert env.path_prefix == "/tools/mirante"
    assert "ops.example.com" in env.allowed_hosts
    assert env.csrf_trusted_origins == ("https://ops.example.com",)
    assert env.https


def test_an_address_open_to_all_needs_a_name_for_itself(folder: Path) -> None:
    (line,) = problems(folder, BIND="0.0.0.0")
    assert line.startswith("ALLOWED_HOSTS: expected ")
    assert read(folder, BIND="0.0.0.0", ALLOWED_HOSTS="a.example .b.example").allowed_hosts[:2] == (
        "a.example", ".b.example",
    )  # fmt: skip
