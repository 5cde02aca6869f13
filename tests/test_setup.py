"""That set-up finds a fit Python, says what is missing in words to type, and does nothing when all is done."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from tests import policy

ROOT = Path(settings.BASE_DIR)
# All that the script may use; anything else would be missing on somebody's machine.
_TOOLS = ("sh", "dirname", "basename", "cmp", "rm", "cp", "mkdir")


def _stub(folder: Path, name: str, *, version: str, ensurepip: bool = True, runs: bool = True) -> None:
    """An interpreter that answers the questions of the script, and makes half an environment when asked for one."""
    recent = tuple(int(part) for part in version.split(".")) >= (3, 11)
    answers = [
        "#!/bin/sh",
        "" if runs else "echo 'command not found' >&2; exit 127",
        'case "$*" in',
        f"*'print('*) echo {version} ;;",
        f"*sys.exit*) exit {0 if recent else 1} ;;",
        f"*ensurepip*) exit {0 if ensurepip else 1} ;;",
        '\'-m venv \'*) mkdir -p "$3/bin"; : >"$3/pyvenv.cfg"; exit 1 ;;',
        "*) exit 1 ;;",
        "esac",
    ]
    path = folder / name
    path.write_text("\n".join(answers) + "\n")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for PATH that holds the plain tools and no Python at all."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in _TOOLS:
        found = shutil.which(name)
        assert found, name
        (folder / name).symlink_to(found)
    return folder


def _set_up(tools: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    venv = str(tools.parent / "venv")
    return subprocess.run(
        [ROOT / ".ci/venv", "requirements.txt"],
        env={"PATH": str(tools), "VENV": venv} | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_a_machine_without_python_is_told_what_to_type(tools: Path) -> None:
    result = _set_up(tools)
    assert result.returncode == 1
    assert "Python 3.11 or newer" in result.stderr
    assert "apt install python3 python3-venv" in result.stderr


def test_a_python_that_is_too_old_is_named_with_its_version(tools: Path) -> None:
    _stub(tools, "python3", version="3.9")
    result = _set_up(tools)
    assert result.returncode == 1
    assert "needs Python 3.11 or newer; here is only: python3 (3.9)" in result.stderr
    assert "apt install" not in result.stderr


@pytest.mark.parametrize("version", ["3.11", "3.13"])
def test_a_missing_venv_module_gives_the_line_for_that_very_python(tools: Path, version: str) -> None:
    _stub(tools, "python3", version=version, ensurepip=False)
    result = _set_up(tools)
    assert result.returncode == 1
    assert f"apt install python{version}-venv\n" in result.stderr
    assert not (tools.parent / "venv").exists()


def test_a_name_on_the_path_that_does_not_run_is_passed_over(tools: Path) -> None:
    _stub(tools, "python3.13", version="3.13", runs=False)
    _stub(tools, "python3.11", version="3.11", ensurepip=False)
    assert "apt install python3.11-venv" in _set_up(tools).stderr


def test_an_old_python_beside_a_fit_one_does_no_harm(tools: Path) -> None:
    _stub(tools, "python3", version="3.9")
    _stub(tools, "python3.12", version="3.12")
    assert "with python3.12 (3.12)" in _set_up(tools).stderr


def test_a_python_without_venv_is_passed_over_when_another_has_it(tools: Path) -> None:
    _stub(tools, "python3.13", version="3.13", ensurepip=False)
    _stub(tools, "python3.11", version="3.11")
    assert "with python3.11 (3.11)" in _set_up(tools).stderr


def test_one_can_name_the_python_to_use(tools: Path) -> None:
    _stub(tools, "python3", version="3.12")
    _stub(tools, "mine", version="3.11")
    assert "with mine (3.11)" in _set_up(tools, PYTHON="mine").stderr


def test_half_an_environment_does_not_stay_behind(tools: Path) -> None:
    _stub(tools, "python3", version="3.11")
    result = _set_up(tools)
    assert result.returncode != 0
    assert not (tools.parent / "venv").exists()


def test_half_an_environment_from_before_is_made_anew(tools: Path) -> None:
    _stub(tools, "python3", version="3.11")
    left = tools.parent / "venv"
    left.mkdir()
    (left / "pyvenv.cfg").touch()
    (left / "old").touch()
    assert "Making" in _set_up(tools).stderr
    assert not (left / "old").exists()


def test_a_folder_that_is_no_environment_is_never_deleted(tools: Path) -> None:
    _stub(tools, "python3", version="3.11")
    precious = tools.parent / "venv/precious"
    precious.parent.mkdir()
    precious.touch()
    result = _set_up(tools)
    assert result.returncode == 1
    assert "is in the way" in result.stderr
    assert precious.exists()


def test_a_second_run_asks_for_nothing_and_changes_nothing(tools: Path) -> None:
    venv = tools.parent / "venv"
    (venv / "bin").mkdir(parents=True)
    (venv / "bin/python").symlink_to(sys.executable)
    shutil.copy(ROOT / "requirements.txt", venv / ".requirements.txt")
    result = _set_up(tools)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_make_alone_lists_every_target_that_is_meant_for_people() -> None:
    make = shutil.which("make")
    assert make
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    listed = subprocess.run([make], cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout
    for target in ("help", "demo", "up", "test", "check", "bench", "soak", "format", "lock"):
        assert f"make {target} " in listed


@pytest.mark.parametrize("script", ["venv", "tools", "check", "lock", "run"])
def test_the_scripts_of_set_up_can_be_run_and_read_by_a_shell(script: str) -> None:
    path = ROOT / ".ci" / script
    assert os.access(path, os.X_OK)
    shell = path.read_text().splitlines()[0].removeprefix("#!")
    subprocess.run([shell, "-n", path], check=True)


def test_what_is_missing_skips_a_test_at_home_and_fails_it_on_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "CI", False)
    with pytest.raises(pytest.skip.Exception, match=r"^Node\.js is missing$"):
        policy.unavailable("Node.js is missing")
    monkeypatch.setattr(policy, "CI", True)
    with pytest.raises(pytest.fail.Exception, match=r"^Node\.js is missing"):
        policy.unavailable("Node.js is missing")


def test_a_long_run_is_a_sample_unless_it_is_asked_for_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "SOAK", False)
    assert policy.rounds(sample=3, soak=200) == 3
    monkeypatch.setattr(policy, "SOAK", True)
    assert policy.rounds(sample=3, soak=200) == 200
