"""Values as JSON data: what `--json` writes. The keys are the names of the attributes."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any

import msgspec
from msgspec import UNSET

from refold.events.agent.messages import Image
from refold.events.canonical import Json


def plain(value: Any) -> Any:
    """`value` as JSON data. Every attribute is there, also one that has its default, so that
    programs need not ask; digests and ids of streams are in hex, images in base64.
    """
    if isinstance(value, Json):
        return value.value
    if isinstance(value, msgspec.Struct):
        return _struct(value)
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(item) for item in value]
    return value


def document(value: Any) -> str:
    """`value` as a JSON document for programs, which people can read too."""
    return msgspec.json.format(msgspec.json.encode(plain(value)), indent=2).decode()


def line(value: Any) -> str:
    """`value` as one line of JSON."""
    return msgspec.json.encode(plain(value)).decode()


def _struct(value: msgspec.Struct) -> dict[str, Any]:
    config = value.__struct_config__
    made: dict[str, Any] = {}
    if config.tag_field is not None:
        made[config.tag_field] = config.tag
    for name in value.__struct_fields__:
        item = getattr(value, name)
        if item is not UNSET:
            made[name] = plain(item)
    if isinstance(value, Image):
        made["data"] = b64encode(value.data).decode()
    return made
