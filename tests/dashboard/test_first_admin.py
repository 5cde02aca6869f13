"""The user `admin` of a fresh installation."""

import stat
from pathlib import Path

import pytest
from django.contrib.auth.models import User

from dashboard import first_admin
from dashboard.first_admin import Refused, ensure

pytestmark = pytest.mark.django_db


def test_a_password_is_made_once_kept_for_its_owner_and_shown_again(tmp_path: Path) -> None:
    first = ensure(var_dir=tmp_path, wanted=None)
    assert first
    assert first.password
    assert ensure(var_dir=tmp_path, wanted=None) == first
    assert stat.S_IMODE((tmp_path / first_admin.FILE).stat().st_mode) == 0o600
    user = User.objects.get(username="admin")
    assert user.is_superuser
    assert user.check_password(first.password)


def test_a_changed_password_is_neither_reset_nor_shown(tmp_path: Path) -> None:
    ensure(var_dir=tmp_path, wanted=None)
    user = User.objects.get(username="admin")
    user.set_password("my own secret")
    user.save()
    for wanted in (None, "another of eight"):
        admin = ensure(var_dir=tmp_path, wanted=wanted)
        assert admin
        assert admin.password is None
        user.refresh_from_db()
        assert user.check_password("my own secret")


def test_a_given_password_is_used_and_not_written_to_a_file(tmp_path: Path) -> None:
    admin = ensure(var_dir=tmp_path, wanted="correct horse battery")
    assert admin
    assert (admin.password, admin.note) == (None, "the one in MIRANTE_ADMIN_PASSWORD")
    assert User.objects.get(username="admin").check_password("correct horse battery")
    assert list(tmp_path.iterdir()) == []


def test_a_weak_password_is_refused_and_no_user_made(tmp_path: Path) -> None:
    with pytest.raises(Refused, match=r"MIRANTE_ADMIN_PASSWORD: This password is too common\."):
        ensure(var_dir=tmp_path, wanted="password")
    assert not User.objects.filter(username="admin").exists()


def test_where_another_admin_is_no_user_is_made(tmp_path: Path) -> None:
    User.objects.create_superuser("ana", password="something long")
    assert ensure(var_dir=tmp_path, wanted=None) is None
    assert not User.objects.filter(username="admin").exists()


def test_a_name_that_belongs_to_somebody_else_is_not_made_an_admin(tmp_path: Path) -> None:
    user = User.objects.create_user("admin", password="something long")
    with pytest.raises(Refused, match="createsuperuser"):
        ensure(var_dir=tmp_path, wanted=None)
    user.refresh_from_db()
    assert not user.is_superuser
