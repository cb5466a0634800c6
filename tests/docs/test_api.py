"""The reference has every public name, each with a docstring that says what goes in, what comes out, and what an example is."""

from __future__ import annotations

import inspect

import pytest

import parley
from docs import api


def test_every_public_name_is_in_the_reference() -> None:
    listed = [name for names in api.GROUPS.values() for name in names]
    assert sorted(listed) == sorted(parley.__all__)
    for name, members in api.MEMBERS.items():
        assert all(hasattr(getattr(parley, name), member) for member in members)


@pytest.mark.parametrize("name", parley.__all__)
def test_a_public_docstring_has_its_parts(name: str) -> None:
    """numpy style: parameters by name, and an example; a protocol has members instead."""
    found = getattr(parley, name)
    told = inspect.getdoc(found) or ""
    assert told.splitlines()[0].endswith((".", "?"))
    if name == "Backend":
        return
    assert "Examples\n--------" in told
    if inspect.isfunction(found):
        assert "Returns\n-------" in told
        for parameter in inspect.signature(found).parameters if name != "preset_names" else ():  # a test's own folder
            assert parameter in told.partition("Returns\n")[0]
