"""What refold does, in under a minute: `make demo`, or `python demo/demo.py`.

Leaves its log in `demo.refold` in the current folder, to look around in.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from rich.console import Console

import refold

LOG = "demo.refold"
TRIP = Path(__file__).parent / "trip.py"
KILL_AT = b"it is sunny"

console = Console(highlight=False, markup=False, emoji=False)


class DemoError(Exception):
    """Why there can be no demo."""


def main() -> int:
    """Run the demo; the exit code."""
    try:
        prepare()
        stream()
        crash()
        go_on()
        look_back()
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1
    return 0


def prepare() -> None:
    """See that the model is there, and that an old log can make place."""
    try:
        with refold.open(None) as runtime:
            runtime.session("test", model="local")
    except refold.InvalidArgumentError as error:
        raise DemoError(str(error)) from error
    if not os.path.lexists(LOG):
        return
    try:
        refold.read(LOG).close()
    except refold.RefoldError as error:
        raise DemoError(f"{LOG} would be replaced, but it is no log of refold: {error}") from error
    shutil.rmtree(LOG)


def stream() -> None:
    """A prompt on a real model."""
    heading("A real language model streams")
    say("It runs inside the process, on this machine. It is small: it talks, no more.")
    command("run", "Why is the sea salty? Answer in one sentence.", "--model", "local")


def crash() -> None:
    """A run with parallel tools and a steering message, killed while a sentence streams."""
    heading("A run with two tools at once, a steering message, and a kill")
    say(
        "The model is a scripted one now, for it must call tools. The user says more while they",
        "run, and in the middle of the answer the process is killed: SIGKILL, no good-bye.",
    )
    with subprocess.Popen(
        [sys.executable, str(TRIP), LOG, "begin"], stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        shown = b""
        while KILL_AT not in shown:
            more = os.read(process.stdout.fileno(), 4096)
            if not more:
                raise DemoError(f"{TRIP.name} ended before it could be killed")
            shown += more
            write(more.decode())
        process.kill()
    console.print(" <- killed", style="bold red")


def go_on() -> None:
    """A new process goes on from the crash site."""
    heading("A new process opens the log, and the run goes on")
    say("No tool runs again, and nobody repeats the question: the model is asked once more.")
    subprocess.run([sys.executable, str(TRIP), LOG, "go-on"], check=True)


def look_back() -> None:
    """The past of that run."""
    heading("All of it is in the log")
    command("log", "trip")

    heading("Any moment can be looked at: here, what was on screen when it was killed")
    with refold.read(LOG) as archive:
        version = 0
        for entry in archive.session("trip").entries():
            if entry.type == "recovered":
                break
            if entry.type == "message_update":
                version = entry.version
    command("at", "trip", str(version))

    heading("And what the model was sent at its second call")
    command("context", "trip", "--call", "2")

    heading("Nothing was lost, and nothing was changed")
    command("verify")
    say(f"The log stays in {LOG}: try `refold sessions --log {LOG}`, and `refold --help`.")


def heading(text: str) -> None:
    """Begin a part."""
    console.print()
    console.print(text, style="bold")


def say(*lines: str) -> None:
    """Explain."""
    for line in lines:
        console.print(line, style="dim", soft_wrap=True)


def command(*words: str) -> None:
    """Type a command of refold, and run it."""
    shown = " ".join(f'"{word}"' if " " in word else word for word in words)
    console.print(f"\n$ refold {shown} --log {LOG}", style="cyan", soft_wrap=True)
    sys.stdout.flush()
    done = subprocess.run(
        [sys.executable, "-m", "refold", *words, "--log", LOG], check=False, env=environment()
    )
    if done.returncode:
        raise DemoError(f"refold {words[0]} ended with exit code {done.returncode}")


def environment() -> dict[str, str]:
    """What the commands see: nothing that was set for other runs."""
    return {name: value for name, value in os.environ.items() if name != "REFOLD_MODEL"}


def write(text: str) -> None:
    """Pass on what another process wrote, at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
