"""`refold run`: a prompt, answered on the terminal."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

import click
import msgspec

from refold.actors.catalog import Catalog
from refold.actors.cli.failures import ABORTED, FailedError
from refold.actors.cli.help import argument, command
from refold.actors.cli.interrupts import Interrupts
from refold.actors.cli.options import log_option
from refold.actors.cli.screen import Screen
from refold.actors.cli.terminal import err, out
from refold.actors.cli.toolfile import load_tools
from refold.actors.providers.provider import Provider
from refold.actors.providers.scripted import Scripted
from refold.actors.run import Run
from refold.actors.runtime import Archive, open, read
from refold.actors.session import Session
from refold.actors.tool import Tool
from refold.events.agent.messages import AssistantMessage, ThinkingLevel
from refold.events.agent.state import SessionState
from refold.events.errors import InvalidArgumentError, RefoldError
