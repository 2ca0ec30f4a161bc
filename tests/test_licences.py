"""dford brings nothing whose licence asks its users for more than a notice, unless a reason is given."""

import re
from importlib.metadata import distribution
from pathlib import Path

import pytest

import licences


@pytest.mark.parametrize(
    "licence",
    [
        "MIT",
        "BSD-3-Clause",
        "Apache-2.0 WITH LLVM-exception",
        "MIT OR GPL-3.0-only",
        "(MIT OR Apache-2.0) AND BSD-2-Clause",
        "BSD License; MIT License",
    ],
)
def test_a_licence_that_asks_for_a_notice_is_accepted(licence: str) -> None:
    assert licences.judge("some", licence) == ""


@pytest.mark.parametrize(
    "licence", ["", "GPL-3.0-or-later", "MIT AND LGPL-3.0-only", "Proprietary", "BSD License; GPLv2", "MITX"]
)
def test_any_other_licence_needs_a_reason(licence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert licences.judge("some", licence)
    monkeypatch.setitem(licences.REASONS, "some", "because")
    assert licences.judge("some", licence) == ""


def test_what_is_not_installed_is_reported() -> None:
    assert [one.problem for one in licences.installed("no-such-package", set(), {})] == ["is not installed"]


def test_the_service_and_the_library_bring_no_other_licence() -> None:
    found = licences.installed("dford", {"images", "lab", "river", "service"}, {})
    assert {"numpy", "pillow", "psycopg-binary", "sqlalchemy"} <= {one.name for one in found}
    assert [one for one in found if one.problem] == []


def test_no_reason_is_given_for_what_nobody_needs() -> None:
    """What `make test` does not install is named in pyproject.toml."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text()
    found = licences.installed("dford", set(distribution("dford").metadata.get_all("Provides-Extra", [])), {})
    known = {one.name for one in found} | set(re.findall(r'"([\w-]+)[>"\[]', text))
    assert set(licences.REASONS) <= known
