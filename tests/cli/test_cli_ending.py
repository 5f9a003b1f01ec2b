"""How commands end: with the right code whatever other threads do, by Ctrl-C, and where nobody reads what they print."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from commands import done, lopub, refused
from test_cli import DRAFT

from tiers import FULL

RUNS = 500 if FULL else 4
SLOW_THREAD = """
import atexit, sys, threading, time
atexit.register(lambda: print("told at the end"))
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
sys.argv = ["lopub", *sys.argv[1:]]
from lopub.__main__ import main
main()
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "draft.json").write_text(json.dumps(DRAFT))
    (tmp_path / "empty.csv").write_text("a,b\n")
    (tmp_path / "full.csv").write_text("a,b\n1,2\n2,3\n")
    return tmp_path


def started(
    folder: Path, *arguments: str, interrupts: signal.Handlers = signal.SIG_DFL
) -> subprocess.Popen[str]:
    """interrupts: what the starter does about SIGINT; these tests may run where it is ignored."""
    command = [sys.executable, "-m", "lopub", *arguments]
    return subprocess.Popen(
        command,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
    )


# ---- the exit code


def test_a_refusal_ends_with_its_own_code_every_time(folder: Path):
    """A thread of Arrow's that still held a Python object while Python ended made this SIGABRT, about once in 13 to 40 runs.
    Four at a time, so that threads have to wait for a processor."""
    for _ in range(RUNS // 4):
        runs = [started(folder, "evaluate", "empty.csv", "full.csv") for _ in range(4)]
        for run in runs:
            _, said = run.communicate()
            assert (run.returncode, said) == (1, "lopub: empty.csv has a header but no records\n")


@pytest.mark.parametrize("closed", [1, 2])
def test_a_stream_that_the_starter_closed_does_not_matter(folder: Path, closed: int):
    command = [
        sys.executable,
        "-m",
        "lopub",
        "campaign",
        "make",
        "draft.json",
        "-o",
        "c.json",
        "--epsilon",
        "4",
    ]
    run = subprocess.run(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        preexec_fn=lambda: os.close(closed),
        check=False,
    )
    assert run.returncode == 0 and (folder / "c.json").exists()


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_what_cannot_be_printed_is_not_a_success(folder: Path, as_json: list[str]):
    done(lopub("campaign", "make", "draft.json", "-o", "c.json", "--epsilon", "4", cwd=folder))
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "lopub", "campaign", "show", "c.json", *as_json]
        run = subprocess.run(
            command, cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (
        run.returncode == 1
        and run.stderr == "lopub: cannot write to standard output: No space left on device\n"
    )


def test_arrow_reads_tables_from_memory_of_its_own():
    """Reading a Python object, its threads take hold of Python, and may do so while it ends."""
    from lopub.reports.dataset import _stream

    data = b"a,b\n1,2\n"
    stream = _stream(data)
    assert stream.read() == data
    assert stream.closed is False


def test_what_is_to_run_at_the_end_runs_and_threads_in_the_background_do_not_hold_it_up():
    command = [sys.executable, "-c", SLOW_THREAD, "--version"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0 and done.stdout.endswith("told at the end\n")


def test_an_error_of_ours_still_shows_its_traceback():
    code = "import lopub.cli; lopub.cli.run = lambda own_process: 1 / 0; from lopub.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "ZeroDivisionError" in done.stderr


# ---- no memory

KERNEL = """
import resource, sys
from lopub.bulk.compiling import ROOM, compiled
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + ROOM * int(sys.argv[1]) // 100,) * 2)
try:
    compiled(lambda: 1)()
except MemoryError:
    print("no room")
"""


@pytest.mark.parametrize("percent", [10, 50, 99])
def test_without_memory_for_the_compiler_a_command_does_not_hang(percent: int):
    """OpenBLAS, which it loads, asked for memory for ever: with an address space of 820 MB `publish` did not end."""
    command = [sys.executable, "-c", KERNEL, str(percent)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "no room\n")


@pytest.mark.parametrize(
    "error", ["MemoryError", "ImportError('libc.so: failed to map segment from shared object')"]
)
def test_without_memory_there_is_a_sentence(error: str):
    code = f"import lopub.cli\ndef run(own_process): raise {error}\nlopub.cli.run = run; from lopub.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (1, "lopub: there is not enough memory for this\n")


# ---- Ctrl-C


@pytest.mark.full
@pytest.mark.parametrize("tenths", range(40))
def test_an_interrupt_ends_with_130_and_nothing_else(folder: Path, tenths: int):
    """While packages load, and while the command is at work. Before LoPub's first line is read, Python itself answers."""
    before = sorted(path.name for path in folder.iterdir())
    interrupt_the_demo(folder, tenths)
    assert [path for path in folder.rglob("*") if path.name.startswith(".")] == []
    assert before == sorted(path.name for path in folder.iterdir() if path.name != "demo")


IMPORTING = """
import os, signal, sys
from lopub.cli.interrupts import take_interrupts
signal.signal(signal.SIGINT, lambda *_: os._exit(3))
take_interrupts()
try:
    import halfway
    while True:
        pass
except KeyboardInterrupt:
    print(sys.modules["halfway"].whole)
"""
HALFWAY = """
import os, signal, time
os.kill(os.getpid(), signal.SIGINT)
for _ in range(100):
    time.sleep(0.001)
whole = "all of it"
"""


def test_an_interrupt_waits_for_a_package_that_is_being_loaded(tmp_path: Path):
    """numba, interrupted there, said ImportError, and the command ended with 1 and a traceback."""
    (tmp_path / "halfway.py").write_text(HALFWAY)
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "all of it\n", "")


def test_pressed_again_it_does_not_wait(tmp_path: Path):
    (tmp_path / "halfway.py").write_text(
        HALFWAY.replace("time.sleep(0.001)", "os.kill(os.getpid(), signal.SIGINT)")
    )
    done = subprocess.run(
        [sys.executable, "-c", IMPORTING],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (3, "", "")


@pytest.mark.full
@pytest.mark.parametrize("tenths", range(20, 100, 2))
def test_an_interrupt_of_the_compiler_is_no_error_of_its(
    folder: Path, tenths: int, monkeypatch: pytest.MonkeyPatch
):
    """Where no kernel was kept yet, one of ten interrupts came back as the compiler's own error."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "kernels"))
    interrupt_the_demo(folder, tenths)


def interrupt_the_demo(folder: Path, tenths: int) -> None:
    """So many tenths of a second after it began: it ends with 130, and says a line at most."""
    run = started(folder, "demo", "--output", "demo")
    while not loaded(run.pid):
        time.sleep(0.005)
    time.sleep(tenths / 10)
    run.send_signal(signal.SIGINT)
    _, said = run.communicate(timeout=60)
    assert run.returncode == 130
    assert len(said.splitlines()) <= 1 and "Traceback" not in said


def loaded(pid: int) -> bool:
    """Whether a process is at LoPub's own lines by now: packages that it needs are in memory."""
    return "numpy" in Path(f"/proc/{pid}/maps").read_text()


def test_a_command_whose_starter_ignores_interrupts_goes_on(folder: Path):
    """As in the background of a shell script."""
    run = started(folder, "campaign", "show", "nowhere.json", interrupts=signal.SIG_IGN)
    run.send_signal(signal.SIGINT)
    run.communicate(timeout=60)
    assert run.returncode == 1


# ---- nobody reads on


def piped(folder: Path, command: str) -> tuple[int, str]:
    """The exit code of a command whose output nobody reads, and what it says on standard error."""
    shell = f"{sys.executable} -m lopub {command} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=folder, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("plan draft.json --people 5000 --epsilon 4 -o made.json", "made.json"),
        ("campaign make draft.json --epsilon 4 -o made.json", "made.json"),
        ("evaluate full.csv full.csv --json -o scores.json", "scores.json"),
        pytest.param(
            *("plan draft.json --people 5000 --epsilon 4 --json -o made.json", "made.json"),
            marks=pytest.mark.full,
        ),
        pytest.param(
            *("evaluate full.csv full.csv -o scores", "scores/evaluation.json"),
            marks=pytest.mark.full,
        ),
    ],
)
def test_what_is_asked_for_is_written_although_nobody_reads_what_is_printed(
    folder: Path, command: str, output: str
):
    code, said = piped(folder, command)
    assert code == 0 and "Traceback" not in said
    assert (folder / output).is_file()


@pytest.mark.parametrize(
    "command",
    [
        "--help",
        pytest.param("--version", marks=pytest.mark.full),
        pytest.param("campaign --help", marks=pytest.mark.full),
    ],
)
def test_help_that_nobody_reads_is_no_mistake(folder: Path, command: str):
    assert piped(folder, command) == (0, "")


def test_a_refusal_keeps_its_code_although_nobody_reads_on(folder: Path):
    code, said = piped(folder, "campaign show nowhere.json")
    assert code == 1 and said.startswith("lopub: cannot read campaign nowhere.json")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs a device that is always full")
def test_output_that_cannot_be_written_is_one_sentence(folder: Path):
    command = f"{sys.executable} -m lopub --version > /dev/full"
    done = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, check=False
    )
    assert "cannot write to standard output: No space left on device" in refused(done)


# ---- terminals that know few signs, and none to read from


@pytest.mark.parametrize(
    "encoding",
    [
        "ascii",
        pytest.param("latin-1", marks=pytest.mark.full),
        pytest.param("cp850", marks=pytest.mark.full),
    ],
)
def test_a_terminal_without_a_sign_is_shown_its_number(
    folder: Path, encoding: str, monkeypatch: pytest.MonkeyPatch
):
    """It was a traceback, after the file had been written."""
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    for command in (
        ["campaign", "make", "draft.json", "-o", "c.json", "--epsilon", "4"],
        ["campaign", "show", "c.json"],
    ):
        run = started(folder, *command)
        said, complaint = run.communicate()
        assert run.returncode == 0 and "\\u2026" in said and "Traceback" not in complaint


def test_json_is_json_on_any_terminal(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (folder / "draft.json").write_text(json.dumps({**DRAFT, "title": "Größe"}))
    said, _ = started(
        folder, "campaign", "make", "draft.json", "-o", "c.json", "--epsilon", "4", "--json"
    ).communicate()
    shown, _ = started(folder, "campaign", "show", "c.json", "--json").communicate()
    assert (
        json.loads(said)["campaign"] == json.loads(shown)["campaign"]
        and "Gr\\u00f6\\u00dfe" in shown
    )


def test_a_closed_standard_input_is_an_empty_one(folder: Path):
    """`lopub send`, which asks whether one agrees, had a traceback there."""
    (folder / "asks.py").write_text(
        "import sys\n"
        "from lopub.cli.console import survive_closed_pipes\n"
        "survive_closed_pipes()\n"
        "print(sys.stdin.isatty(), repr(sys.stdin.buffer.read()))\n"
    )
    shell = f"{sys.executable} asks.py <&-"
    done = subprocess.run(
        ["bash", "-c", shell], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("False b''\n", "")
