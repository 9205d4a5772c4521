"""Arguments of tool calls are JSON in canonical form, whatever a model writes."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refold.actors.providers.arguments import arguments_object, sound_arguments
from refold.events.canonical import Json, canonical


@pytest.mark.parametrize("raw", ["{}", '{"a": 1}', '{"a":[1.5,null,"\N{SNOWMAN}"]}', "[1]", '"a"'])
def test_canonical_json_is_kept_to_the_letter(raw: str) -> None:
    assert sound_arguments(raw) == ""


@pytest.mark.parametrize("raw", ["", "  ", "null", " null\n"])
def test_nothing_means_no_arguments(raw: str) -> None:
    assert sound_arguments(raw) == "{}"


@pytest.mark.parametrize("raw", ["{", '{"a": }', "a", "{} {}", '{"a": "\ud800"', "[" * 100_000])
def test_what_is_no_json_is_kept_as_a_json_text(raw: str) -> None:
    kept = json.loads(sound_arguments(raw))
    assert kept == canonical(raw)


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        ('{"a":NaN}', '{"a":null}'),
        ('{"a":1e999}', '{"a":null}'),
        ('{"a":"\\ud800"}', '{"a":"\ufffd"}'),
        ('{"a":"\\u0000"}', '{"a":"\ufffd"}'),
        ('{"a":99999999999999999999}', '{"a":"99999999999999999999"}'),
    ],
)
def test_values_outside_of_the_canonical_form_are_brought_into_it(raw: str, kept: str) -> None:
    assert sound_arguments(raw) == kept


@given(st.text())
def test_what_is_kept_is_canonical_json_always(raw: str) -> None:
    kept = sound_arguments(raw) or raw
    value = Json(kept).value
    assert canonical(value) == value


@given(st.text())
def test_what_goes_out_is_an_object_always(text: str) -> None:
    assert isinstance(json.loads(arguments_object(Json(text))), dict)


def test_an_object_goes_out_to_the_letter() -> None:
    assert arguments_object(Json('{"a": 1}')) == '{"a": 1}'


def test_a_model_sees_its_own_text_again_where_that_was_no_json() -> None:
    kept = Json(sound_arguments('{"a": '))
    assert arguments_object(kept) == '{"invalid_arguments":"{\\"a\\": "}'
