"""Requests made up from the OpenAPI document."""

import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import pytest
import schemathesis

from serving import ok, serving, set_up

EXAMPLES = int(os.environ.get("DFORD_EXAMPLES", "15"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("fuzz") / "log.db", open_questions=100) as client:
        project = set_up(client)
        for _ in range(3):
            ok(client.post(f"{project}/questions"))
        yield client


@pytest.fixture(scope="module")
def api(server: Any) -> Any:
    return schemathesis.openapi.from_url(f"{server.base_url}/openapi.json")


schema = schemathesis.pytest.from_fixture("api")


@schema.parametrize()
@hypothesis.settings(max_examples=EXAMPLES, suppress_health_check=list(hypothesis.HealthCheck), deadline=None)
def test_generated_requests_find_no_defect_and_no_undocumented_status(case: Any) -> None:
    if "project" in (case.path_parameters or {}) and hash(str(case.body)) % 4:
        case.path_parameters["project"] = "rain"  # most made-up projects are not there
    case.call_and_validate(
        checks=[
            schemathesis.checks.not_a_server_error,
            schemathesis.specs.openapi.checks.status_code_conformance,
            schemathesis.specs.openapi.checks.content_type_conformance,
            schemathesis.specs.openapi.checks.response_schema_conformance,
        ]
    )
