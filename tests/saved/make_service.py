"""Write the database of this version that later versions must open: run once before a release, then keep it.

PYTHONPATH=tests python tests/saved/make_service.py
"""

from pathlib import Path

import dford
from serving import learned, ok, serving, set_up

FILE = Path(__file__).parent / f"{dford.__version__}-service.db"

if __name__ == "__main__":
    if FILE.exists():  # what was kept is kept
        raise SystemExit(f"{FILE} already exists")
    with serving(FILE, snapshot_every=5) as client:
        project = set_up(client)
        for i in range(12):
            number = ok(client.post(f"{project}/questions"))["number"]
            ok(client.post(f"{project}/questions/{number}/answer", json={"higher": i % 3 == 0}))
        ok(client.post(f"{project}/questions/7/retract"))
        ok(client.post(f"{project}/questions/{ok(client.post(f'{project}/questions'))['number']}/skip"))
        learned(client, project)
