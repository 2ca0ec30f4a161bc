"""The page's JavaScript: its types, with what the server really replies, and its style."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from dford.service.http import models, people_models

ROOT = Path(__file__).parent.parent
TOOLS = ROOT / ".cache" / "page"


def run(tool: str, *options: str) -> None:
    program = TOOLS / "node_modules" / ".bin" / tool
    if not program.exists():
        pytest.skip(f"{tool} is not installed: run make .cache/page/ready, which needs npm")
    done = subprocess.run([program, *options], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def typescript(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": name}:
            return str(name)
        case {"anyOf": choices}:
            return " | ".join(map(typescript, choices))
        case {"enum": values}:
            return " | ".join(map(json.dumps, values))
        case {"const": value}:
            return json.dumps(value)
        case {"type": "array", "items": items}:
            return f"Array<{typescript(items)}>"
        case {"type": "object", "additionalProperties": dict(values)}:
            return f"Record<string, {typescript(values)}>"
        case {"type": "object"}:
            return "Record<string, unknown>"
        case {"type": "integer"}:
            return "number"
        case {"type": str(name)}:
            return name
    raise ValueError(f"no TypeScript for {schema}")


def replies() -> str:
    """The server's models as the namespace that the page's types use."""
    own = [
        one
        for module in (models, people_models)
        for one in vars(module).values()
        if isinstance(one, type) and one.__module__ == module.__name__
    ]
    shown = [model for model in own if issubclass(model, BaseModel)]
    _, schema = models_json_schema([(model, "serialization") for model in shown], ref_template="{model}")
    lines = ["declare namespace Server {"]
    for name, model in schema["$defs"].items():
        fields = (f"{field}: {typescript(of)};" for field, of in model.get("properties", {}).items())
        lines.append(f"  interface {name} {{ {' '.join(fields)} }}")
    return "\n".join([*lines, "}", ""])


def test_the_page_has_the_types_that_the_server_replies_with() -> None:
    TOOLS.mkdir(parents=True, exist_ok=True)
    (TOOLS / "server.d.ts").write_text(replies())
    run("tsc", "--project", "jsconfig.json")


def test_the_worker_of_the_page_has_the_types_of_a_worker() -> None:
    run("tsc", "--project", "jsconfig.worker.json")


def test_the_page_is_linted() -> None:
    run("eslint", "src/dford/service/page")
