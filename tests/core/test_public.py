"""What `aucert_otel` offers at its top level."""

from __future__ import annotations

import subprocess
import sys

import pytest

import aucert_otel


@pytest.mark.parametrize("name", aucert_otel.__all__)
def test_every_public_name_is_there_and_is_listed(name):
    assert getattr(aucert_otel, name) is not None
    assert name in dir(aucert_otel)


def test_every_name_a_room_is_said_to_hold_is_public():
    assert sorted(aucert_otel._WHERE) == sorted({*aucert_otel.__all__} - {"__version__"})


def test_an_unknown_name_is_an_ordinary_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'Harnes'"):
        aucert_otel.Harnes  # noqa: B018 - looking it up is the test


def test_importing_the_package_loads_none_of_its_rooms():
    code = (
        "import sys, aucert_otel;"
        "print(sorted(m for m in sys.modules if m.startswith('aucert_otel')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "['aucert_otel', 'aucert_otel._version']"
