"""Print docs/http.md, the HTTP reference."""

import tempfile
from typing import Any

from dford.document import markdown
from dford.service.core import Service
from dford.service.http.reference import reference
from dford.service.http.server import configured
from dford.service.settings import Settings

with tempfile.TemporaryDirectory() as folder:
    service = Service(Settings(database=f"{folder}/empty.db"))
    app: Any = configured(service, "any").app
    print(markdown(list(reference(app.openapi()))), end="")
    service.close()
