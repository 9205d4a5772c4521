"""What is written down while a scenario runs."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from tests.conformance.values import ABSENT

Item = dict[str, Any]


class Observation:
    """The lists of the corpus. Every item carries `at`: how many events there were by then.

    Attributes:
        troubles: what the runner could not do; a scenario with one fails.
    """

    def __init__(self) -> None:
        self.events: list[Item] = []
        self.calls: list[Item] = []
        self.tool_runs: list[Item] = []
        self.hooks: list[Item] = []
        self.ops: list[Item] = []
        self.deliveries: list[Item] = []
        self.final: Any = ABSENT
        self.replies_left = 0
        self.troubles: list[str] = []

    def call(self, item: Item) -> Item:
        """A model is called."""
        return self._add(self.calls, item)

    def tool_run(self, item: Item) -> Item:
        """A tool starts."""
        return self._add(self.tool_runs, item)

    def hook(self, item: Item) -> Item:
        """A hook is called."""
        return self._add(self.hooks, item)

    def op(self, name: str, where: str) -> Item:
        """A command starts."""
        return self._add(self.ops, {"op": name} | ({"in": where} if where else {}))

    def delivery(self, listener: str, type: str) -> Item:
        """A listener other than the main one is called."""
        return self._add(self.deliveries, {"listener": listener, "type": type})

    def trouble(self, text: str) -> NotImplementedError:
        """Note something that the runner cannot do, and give an error to raise."""
        self.troubles.append(text)
        return NotImplementedError(text)

    def _add(self, items: list[Item], item: Item) -> Item:
        item = deepcopy(item) | {"at": len(self.events)}
        items.append(item)
        return item

    def normal(self) -> Item:
        """The normal form: what is empty is left out."""
        lists = {
            "events": self.events,
            "calls": self.calls,
            "toolRuns": self.tool_runs,
            "hooks": self.hooks,
            "ops": self.ops,
            "deliveries": self.deliveries,
        }
        normal: Item = {key: items for key, items in lists.items() if items}
        if self.final is not ABSENT:
            normal["final"] = self.final
        if self.replies_left:
            normal["repliesLeft"] = self.replies_left
        return normal

    def unfinished(self) -> list[str]:
        """The commands that have begun and not ended."""
        return [
            f"{op['op']} of {op.get('in', 'the script')}"
            for op in self.ops
            if not op.keys() & {"ok", "error"}
        ]
