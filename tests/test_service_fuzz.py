"""Requests made up from the OpenAPI document."""

import os
from collections.abc import Iterator
from typing import Any

import hypothesis
import hypothesis.strategies as st
import pytest
import schemathesis
from schemathesis.specs.openapi import checks

from dford.service.projects import keys
from serving import question_for, serving, set_up

EXAMPLES = int(os.environ.get("DFORD_EXAMPLES", "10"))


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with serving(tmp_path_factory.mktemp("fuzz") / "log.db", open_questions=100) as client:
        project = set_up(client)
        service = client.service
        _, key = service.write(None, lambda connection: keys.create(connection, None, "admin", "root"))
        client.headers["Authorization"] = f"Bearer {key}"
        for _ in range(3):
            question_for(client, project)
        yield client


def test_generated_requests_find_no_defect_and_no_undocumented_status(server: Any) -> None:
    schema = schemathesis.openapi.from_url(f"{server.base_url}/openapi.json")
    results: Any = list(schema.get_all_operations())
    operations = [result.ok() for result in results]
    assert len(operations) > 20
    for operation in operations:

        @hypothesis.settings(max_examples=EXAMPLES, suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(case=operation.as_strategy(), there=st.integers(0, 3), number=st.integers(1, 5))
        def check(case: Any, there: int, number: int) -> None:
            if there and "project" in case.path_parameters:  # most made-up ones do not exist
                case.path_parameters["project"] = "rain"
                if "number" in case.path_parameters:
                    case.path_parameters["number"] = number
            case.call_and_validate(
                headers={"Authorization": server.headers["Authorization"]},
                timeout=600,
                checks=[
                    schemathesis.checks.not_a_server_error,
                    checks.status_code_conformance,
                    checks.content_type_conformance,
                    checks.response_schema_conformance,
                ],
            )

        check()
