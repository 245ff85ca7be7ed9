"""The runner catches what a reader would stumble over."""

import pathlib
import subprocess
import time

import pytest

import run_blocks


@pytest.fixture
def root(tmp_path: pathlib.Path) -> pathlib.Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    return tmp_path


def readme(root: pathlib.Path, text: str, name: str = "README.md") -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    subprocess.run(["git", "add", name], cwd=root, check=True)


def run(root: pathlib.Path, capsys, *arguments: str) -> tuple[int, str]:
    code = run_blocks.main(["--root", str(root), *arguments])
    return code, capsys.readouterr().out


def test_runs_blocks_in_order_in_one_shell_from_the_root(root, capsys):
    readme(root, "# A\n```sh run\nx=1\n```\ntext\n```sh run\necho $x > made\n```\n", "a/README.md")
    code, out = run(root, capsys)
    assert code == 0
    assert (root / "made").read_text() == "1\n"
    assert "a/README.md: 2 blocks passed" in out


def test_other_blocks_are_left_alone(root, capsys):
    readme(root, "```sh\nexit 1\n```\n```\nexit 1\n```\n```sh run later\nexit 1\n```\n")
    assert run(root, capsys) == (0, "")


def test_a_fence_within_a_longer_fence_is_text(root, capsys):
    readme(root, "````md\n```sh run\nexit 1\n```\n````\n")
    assert run(root, capsys) == (0, "")


def test_untracked_readmes_and_other_files_are_left_alone(root, capsys):
    (root / "README.md").write_text("```sh run\nexit 1\n```\n")
    readme(root, "```sh run\nexit 1\n```\n", "NOTES.md")
    assert run(root, capsys) == (0, "")


def test_names_file_and_line_of_the_failing_block_and_shows_its_output(root, capsys):
    readme(root, "# A\n\n```sh run\ntrue\n```\n\n```sh run\necho so far\nfalse\n```\n", "README.b.md")
    code, out = run(root, capsys)
    assert code == 1
    assert out.startswith("README.b.md:7: the block failed with 1\n")
    assert "    so far\n" in out


def test_bash_names_the_line_of_the_readme(root, capsys):
    readme(root, "# A\n\n```sh run\nno_such_command_here\n```\n")
    assert "line 4: no_such_command_here" in run(root, capsys)[1]


@pytest.mark.parametrize("command", ["false | true", "echo $UNSET_NAME", "exit 3"])
def test_is_strict(root, capsys, command):
    readme(root, f"```sh run\n{command}\n```\n")
    assert run(root, capsys)[0] == 1


def test_a_block_that_ends_the_shell_early_does_not_hide_the_next(root, capsys):
    readme(root, "```sh run\nexit 0\n```\n```sh run\nfalse\n```\n")
    code, out = run(root, capsys)
    assert code == 1
    assert out.startswith("README.md:1: the block ended the shell")


def test_a_block_that_hangs_is_ended(root, capsys):
    readme(root, "```sh run\ntrue\n```\n```sh run\nsleep 60\n```\n")
    began = time.monotonic()
    code, out = run(root, capsys, "--seconds", "0.5")
    assert code == 1
    assert "README.md:4: the block was still running" in out
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("start", ["sleep 60 &", "setsid sh -c 'sleep 60; true' &"])
def test_what_a_readme_left_running_is_ended(root, capsys, start):
    readme(root, f"```sh run\n{start}\necho $! > pid\n```\n")
    assert run(root, capsys)[0] == 0
    pid = (root / "pid").read_text().strip()
    status = pathlib.Path(f"/proc/{pid}/stat")
    # Gone, or a zombie that nobody has waited for yet.
    assert not status.exists() or status.read_text().split()[2] == "Z"


def test_an_open_block_is_an_error(root, capsys):
    readme(root, "text\n```sh run\ntrue\n")
    assert run(root, capsys) == (1, "README.md:2: the block is never closed\n")


def test_every_readme_is_run_although_one_fails(root, capsys):
    readme(root, "```sh run\nfalse\n```\n", "a/README.md")
    readme(root, "```sh run\ntouch ran\n```\n", "b/README.md")
    assert run(root, capsys)[0] == 1
    assert (root / "ran").exists()


def test_the_build_folder_has_a_default(root, capsys, monkeypatch):
    monkeypatch.delenv("SYNCLINE_BUILD", raising=False)
    readme(root, '```sh run\ntest "$SYNCLINE_BUILD" = build/dev\n```\n')
    assert run(root, capsys)[0] == 0
