"""Whatever is wrong is one clear line on stderr, and an exit code; never a traceback."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import lmdb
import pytest

from tests.cli.conftest import SUMS, TOOLS
from tests.cli.refold import Refold, one_error

# Runs the command line in a process that has changed something about itself first. What it imports
# late is imported before: a user without rights may not be able to read it.
AS = """
import contextlib, io, sys
import refold.actors.cli.main as main
with contextlib.redirect_stdout(io.StringIO()):
    main.cli(["--help"], standalone_mode=False)
{change}
main.cli(sys.argv[1:], prog_name="refold")
"""
LIMITED = AS.format(
    change="import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))"
)
NOBODY = AS.format(
    change="import os; os.setgroups([]); os.setgid(65534); os.setuid(65534)"
    if os.getuid() == 0
    else ""
)


@pytest.fixture
def hello(refold: Refold) -> Refold:
    """A folder with a script that says hello."""
    refold.write("hello.json", ["Hello."])
    return refold


def error_of(refold: Refold, program: str, *words: str) -> str:
    """The one line on stderr of a command in a changed process."""
    done = refold.python("-c", program, *words)
    assert done.code == 1, done
    return one_error(done.err)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["foo"], "there is no command 'foo': there are run, sessions"),
        (["lgo", "s"], "did you mean 'log'? See `refold --help`"),
        (["log"], "missing argument 'SESSION'. See `refold log --help`"),
        (["log", "s", "x"], "unexpected extra argument"),
        (["log", "s", "--last", "0"], "'--last'"),
        (["log", "s", "--frob"], "no such option"),
        (["run"], "give a PROMPT, or the session to go on with"),
        (["run", " "], "the prompt is empty"),
        (["log", "s", "--follow", "--until", "end"], "--follow has no end"),
        (["run", "Hi", "--session", ""], "the name of the session is empty"),
        (["run", "Hi", "--thinking", "much"], "'much' is not one of"),
        (["run", "Hi", "--script", "x.json", "--model", "local"], "in place of local"),
    ],
)
def test_wrong_usage_has_exit_code_2(refold: Refold, words: list[str], said: str) -> None:
    assert said in refold.refuses(*words, code=2)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "Hi"], "no model is given: --model local"),
        (["run", "Hi", "--session", "s"], "no model is given"),
        (["run", "Hi", "--model", "foo"], "there is no model 'foo'"),
        (["run", "Hi", "--model", "foo/bar"], "there is no provider 'foo'"),
        (["run", "Hi", "--model", "openai/x"], "needs an API key"),
        (["run", "Hi", "--model", "local/x"], "there is no model local/x"),
        (["run", "Hi", "--model", "openai/x", "--system", "@none.txt"], "cannot read the system"),
        (["run", "Hi", "--script", "none.json"], "cannot read the script none.json"),
        (["run", "Hi", "--tool", "none.py:add"], "there is no file none.py"),
    ],
)
def test_a_run_that_cannot_begin_makes_no_log(refold: Refold, words: list[str], said: str) -> None:
    assert said in refold.refuses(*words)
    assert list(refold.folder.iterdir()) == []


def test_a_server_that_cannot_be_reached_ends_the_run(refold: Refold) -> None:
    with socket.socket() as closed:  # bound, and never listening
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
        words = ("run", "Hi", "--model", "openai/x", "-q", "--retries", "0")
        done = refold(*words, env={"OPENAI_BASE_URL": url})
    assert (done.code, done.out) == (1, "")
    assert one_error(done.err).startswith("openai: ")
    [*_, last] = refold.json("at", "run-1", "end")["messages"]
    assert last["stop_reason"] == "error"


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("def add(", ":add", "line 1: '(' was never closed"),
        ("import nothing_like_it", ":add", "line 1: ModuleNotFoundError: No module named"),
        ("import sys\nsys.exit('leave')", ":add", "line 2: SystemExit: leave"),
        (TOOLS, ":ad", "has no function 'ad': did you mean 'add'?"),
        (TOOLS, ":TOOLS", "has no function 'TOOLS'"),
        ("add = 3", ":add", "a tool is a function, not a int"),
        ("def add(a, b): ...", "", "has no tools: decorate functions with @refold.tool"),
        ("def add(*a): ...", ":add", "tool 'add' takes *a: name its parameters"),
        ("def add(a: object()): ...", ":add", "add"),
        (
            "import refold\n@refold.tool(parameters={'type': 'nonsense'})\ndef add(a): ...",
            ":add",
            "line 2: ",
        ),
    ],
)
def test_a_tool_that_cannot_be_one_says_why(hello: Refold, text: str, name: str, said: str) -> None:
    hello.write("tools.py", text)
    error = hello.fails("run", "Hi", "--script", "hello.json", "--tool", f"tools.py{name}")
    assert said in error
    assert not (hello.folder / "runs.refold").exists()


def test_two_tools_of_one_name_are_refused(hello: Refold) -> None:
    hello.write("one.py", TOOLS)
    hello.write("two.py", TOOLS)
    words = ("run", "Hi", "--script", "hello.json", "--tool", "one.py:add", "--tool", "two.py:add")
    assert "two tools have the name 'add'" in hello.fails(*words)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[", "line 1, column 2: the script is not JSON"),
        ("3", "is no list of replies"),
        ('{"answers": []}', "unknown field 'answers'"),
        ('{"replies": [], "delay": "long"}', "delay is 'long'"),
        ('["Hi", 3]', "replies[1] is of type int"),
        ('[{"contents": "Hi"}]', "replies[0] has the unknown field 'contents'"),
        ("[" * 100_000, "script"),
    ],
)
def test_a_script_that_is_none_says_where(refold: Refold, text: str, said: str) -> None:
    refold.write("s.json", text)
    assert said in refold.refuses("run", "Hi", "--script", "s.json")
    assert not (refold.folder / "runs.refold").exists()


def test_an_unknown_session_names_those_like_it(sums: Refold) -> None:
    error = sums.fails("log", "sum")
    assert error == (
        "there is no session 'sum' in runs.refold: did you mean 'sums'? `refold sessions` lists "
        "those there are"
    )
    sums.write("hello.json", ["Hello."])
    assert "did you mean 'sums'?" in sums.fails("run", "--session", "sum", "--script", "hello.json")
    assert len(sums.json("sessions")["sessions"]) == 1


@pytest.mark.parametrize(
    ("point", "said"),
    [
        ("999", "the session has 0 to "),
        ("-999", "the session has 0 to "),
        ("turn:9", "there is no turn 9: the session has 1 to 2"),
        ("call:9", "there is no call 9: the session has 1 to 2"),
        ("2001-01-01", "is before the session began"),
        ("soon", "'soon' is no point: give a version (0 to "),
    ],
)
def test_a_point_that_is_not_there_names_the_range(sums: Refold, point: str, said: str) -> None:
    assert said in sums.refuses("at", "sums", point)


def test_a_call_that_is_not_there_names_the_range(sums: Refold) -> None:
    assert "there is no model call 3: the session has 1 to 2" in sums.refuses(
        "context", "sums", "--call", "3"
    )


@pytest.fixture(params=["file", "folder", "lmdb", "garbage"])
def no_log(refold: Refold, request: pytest.FixtureRequest) -> Iterator[str]:
    """A path with something else."""
    path = refold.folder / "other"
    if request.param == "file":
        path.write_text("text")
    else:
        path.mkdir()
    if request.param == "folder":
        (path / "letter.txt").write_text("text")
    if request.param == "lmdb":
        lmdb.open(str(path)).close()
    if request.param == "garbage":
        (path / "data.mdb").write_bytes(b"garbage" * 1000)

    def content() -> list[tuple[str, bytes]]:
        return [
            (item.name, item.read_bytes()) for item in path.iterdir() if item.name != "lock.mdb"
        ]

    before = content() if path.is_dir() else path.read_bytes()
    yield path.name
    assert (content() if path.is_dir() else path.read_bytes()) == before


def test_a_path_that_is_no_log_is_refused_and_left_alone(refold: Refold, no_log: str) -> None:
    refold.write("hello.json", ["Hello."])
    for words in (["sessions"], ["verify"], ["run", "Hi", "--script", "hello.json"]):
        assert "choose another path" in refold.refuses(*words, "--log", no_log)


def test_a_log_of_a_newer_format_is_refused(sums: Refold) -> None:
    with lmdb.open(str(sums.folder / "runs.refold"), max_dbs=16) as environment:
        meta = environment.open_db(b"meta")
        with environment.begin(write=True) as txn:
            txn.put(b"format", b"99", db=meta)
    for words in (["sessions"], ["log", "sums"], ["run", "Hi", "--script", "sums.json"]):
        error = sums.refuses(*words)
        assert "has format 99, and this release reads up to 1" in error


def test_a_full_disk_when_the_log_is_made(hello: Refold) -> None:
    error = error_of(hello, LIMITED.format(limit=1000), "run", "Hi", "-q", "--script", "hello.json")
    assert error.startswith("cannot make the log")
    assert not (hello.folder / "runs.refold").exists()


def test_a_full_disk_in_the_middle_of_a_run_loses_nothing_acknowledged(sums: Refold) -> None:
    before = sums.events("sums")
    limit = (sums.folder / "runs.refold" / "data.mdb").stat().st_size
    sums.write("song.json", [{"content": "la " * 40_000, "chunks": 300, "delay": 0.01}])
    words = ("run", "Sing", "--session", "sums", "--script", "song.json", "-q")
    done = sums.python("-c", LIMITED.format(limit=limit + 8192), *words)
    assert done.code == 1
    assert one_error(done.err).startswith("cannot append to the log")
    assert sums.events("sums")[: len(before)] == before
    assert sums.ok("verify").startswith("whole ")
    sums.write("hello.json", ["La.", "Hello."])
    assert sums.ok("run", "Hi", "--session", "sums", "--script", "hello.json") == "La.\nHello.\n"


def test_output_that_cannot_be_written_is_said(sums: Refold) -> None:
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    program = AS.format(change="sys.stdout = open('/dev/full', 'w')")
    assert error_of(sums, program, "log", "sums") == (
        "cannot write the output: No space left on device"
    )


@pytest.fixture
def open_folder() -> Iterator[Refold]:
    """A folder that every user may enter, which those of pytest are not; with a log in it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        refold = Refold(Path(folder))
        refold.write("hello.json", ["Hello."])
        refold.ok("run", "Hi", "--session", "s", "--script", "hello.json")
        yield refold


def test_a_user_without_rights_is_told_so(open_folder: Refold) -> None:
    log = open_folder.folder / "runs.refold"
    log.chmod(0o000)
    try:
        for words in (["sessions"], ["verify"], ["run", "Hi", "--script", "hello.json"]):
            assert "Permission denied" in error_of(open_folder, NOBODY, *words), words
    finally:
        log.chmod(0o755)


def test_a_log_that_may_only_be_read_can_be_looked_at_but_not_run(open_folder: Refold) -> None:
    log = open_folder.folder / "runs.refold"
    for item in log.iterdir():
        item.chmod(0o444)
    log.chmod(0o555)
    try:
        done = open_folder.python("-c", NOBODY, "log", "s")
        assert done.code == 0, done
        assert " prompted " in done.out
        words = ("run", "Hi", "--session", "s", "--script", "hello.json")
        assert "Permission denied" in error_of(open_folder, NOBODY, *words)
    finally:
        log.chmod(0o755)


def test_a_fault_of_ours_is_one_line_that_asks_for_a_report(sums: Refold) -> None:
    program = AS.format(change="import refold.actors.cli.log as log; log._lines = lambda *_: 1 / 0")
    done = sums.python("-c", program, "log", "sums")
    assert done.code == 1
    first, second = done.err.splitlines()
    assert first.startswith("refold: ZeroDivisionError: division by zero. This is a bug in refold")
    assert second == "refold: REFOLD_TRACEBACK=1 in the environment shows where"
    shown = sums.python("-c", program, "log", "sums", env={"REFOLD_TRACEBACK": "1"})
    assert "Traceback" in shown.err


def test_arguments_that_are_no_text_are_no_bug(refold: Refold) -> None:
    refold.write("sums.json", SUMS)
    done = refold("log", os.fsdecode(b"\xff\xfe"))
    assert done.code == 1
    done = refold("run", os.fsdecode(b"Hi \xff"), "--script", "sums.json")
    assert done.code == 0
