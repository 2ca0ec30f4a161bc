"""The client of the service: the library's words over HTTP, sent again when the connection breaks, done once."""

import asyncio
import re
import socket
import subprocess
import sys
import time
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
import pytest

import dford
from dford.service import client as client_module
from dford.service.client import operations, rows
from serving import LEVELS, ROWS, learned, ok, problem, requests, serving, set_up

T = TypeVar("T")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "log.db"


def run(awaited: Coroutine[Any, Any, T]) -> T:
    """In a thread of its own, as a browser of other tests may have an event loop in this one."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, awaited).result()


def test_the_client_asks_and_tells_in_the_librarys_words(file: Path) -> None:
    with serving(file) as http:
        set_up(http)
        url = str(http.base_url)
        with dford.Client(url, "rain") as client:
            question = client.ask()
            assert client.tell(question, True) == client.tell(question, True) == 1
            with pytest.raises(client_module.ServiceError, match="the first answer stands") as refused:
                client.tell(question, False)
            assert refused.value.code == "answered-otherwise"
            with pytest.raises(TypeError, match="must be True or False"):
                client.tell(question, 1)  # type: ignore[arg-type]
            client.retract(question)
            client.drop(client.ask({"size": 1.0, "colour": "red"}))
            later = [client.ask({"size": float(size), "colour": None}) for size in range(3)]
            told = client.tell_many([(later[0], True), (later[0], False), (later[2], False), (question, True)])
            assert told[::2] == [3, 4]
            assert [(one.status, one.code) for one in told if isinstance(one, client_module.ServiceError)] == [
                (409, "answered-otherwise"),
                (409, "retracted"),
            ]
            with pytest.raises(TypeError, match="must be True or False"):
                client.tell_many([(later[1], 1)])  # type: ignore[list-item]
            assert client.state()["retractions"] == 1
            assert len(client.predict([ROWS[0]], items=[1, 2])) == 3

        async def both() -> int:
            async with dford.AsyncClient(url, "rain") as client:
                asked = await asyncio.gather(client.ask(), client.ask())
                assert asked[0].item != asked[1].item
                assert await client.tell_many([(question, True) for question in asked]) == [5, 6]
                await client.drop(await client.ask())
                await client.retract(asked[0])
                return len(await client.predict(items=[1])) + int((await client.state())["answers"])

        assert run(both()) == 4


def losing(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Two of three responses of any client are lost after the request was done; returns what happened to each."""
    send: Any = httpx.Client.request
    lost: list[int] = []

    def lose(*arguments: Any, **request: Any) -> Any:
        response = send(*arguments, **request)
        lost.append(int(len(lost) % 3 < 2))
        if lost[-1]:
            raise httpx.ReadError("the line broke")
        return response

    monkeypatch.setattr(operations, "_PAUSES", (0.0, 0.0))
    monkeypatch.setattr(httpx.Client, "request", lose)
    return lost


def test_what_a_broken_connection_makes_it_send_again_is_done_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The response is lost after the request was done: what is sent again must not be done again."""
    with serving(file) as http:
        root = ok(http.post("/keys", json={"role": "admin", "name": "root"}))["key"]
        lost = losing(monkeypatch)
        with dford.Client.create(str(http.base_url), "rain", LEVELS, key=root) as client:
            assert client.add(ROWS) == list(range(1, 31))
            link = client.invite("anna")
            with dford.Client(str(http.base_url), "rain", link.partition("?key=")[2]) as anna:
                anna.tell(anna.ask(), True)
            monkeypatch.undo()
            state = client.state()
        assert sum(lost) == 2 * 5
        assert (state["items"], state["questions"], state["people"]) == (30, 1, {"anna": 1})
        keys = ok(http.get("/projects/rain/keys", headers={"Authorization": f"Bearer {root}"}))
        assert [(key["name"], key["role"]) for key in keys] == [("anna", "answer")]


def test_both_clients_can_do_the_same() -> None:
    names = [{name for name in dir(one) if not name.startswith("_")} for one in (dford.Client, dford.AsyncClient)]
    assert names[0] == names[1]


def test_a_project_is_made_filled_and_placed_from_python_alone(file: Path) -> None:
    async def awaited(url: str) -> list[Any]:
        async with await dford.AsyncClient.create(url, "snow", [1, 2, 3], seed=np.int64(5)) as client:
            numbers = await client.add(ROWS)
            question = await client.ask(item=4)
            await client.tell(question, True)
            return [numbers, question.level, await client.levels()]

    with serving(file) as http:
        url = str(http.base_url)
        with dford.Client.create(url, "hail", [1, 2, 3], seed=np.int64(5)) as client:
            numbers = client.add(ROWS)
            question = client.ask(item=4)
            client.tell(question, True)
            made: list[Any] = [numbers, question.level, client.levels()]
        assert question.item == 4
        assert made == run(awaited(url))
        assert list(made[2]) == numbers
        assert set(made[2].values()) <= {"1", "2", "3"}
        with pytest.raises(client_module.ServiceError, match="there is already a project 'hail'") as refused:
            dford.Client.create(url, "hail", [1, 2, 3])
        assert refused.value.code == "project-exists"
        with pytest.raises(TypeError, match="levels must be a list"):
            dford.Client.create(url, "fog", {"low", "top"})
        with pytest.raises(RuntimeError, match="closed"):
            client.state()
        client = dford.Client(url, "hail")
        with (
            client,
            pytest.raises(client_module.ServiceError, match="the first key must be an admin key"),
        ):
            client.invite("anna")


def forms(folder: Path) -> dict[str, Any]:
    """The same items in every form that may be added."""
    import pandas as pd
    import polars as pl

    frame = pd.DataFrame(ROWS)
    frame.to_csv(folder / "items.csv", index=False)
    frame.to_parquet(folder / "items.parquet")
    return {
        "dicts": ROWS,
        "a generator": (row for row in ROWS),
        "pandas": frame,
        "polars": pl.DataFrame(ROWS),
        "csv": folder / "items.csv",
        "parquet": str(folder / "items.parquet"),
    }


def test_items_in_any_form_are_the_same_items(file: Path) -> None:
    with serving(file) as http:
        digests = set()
        for place, (form, items) in enumerate(forms(file.parent).items()):
            with dford.Client.create(str(http.base_url), f"p{place}", LEVELS, learner="DFORD", seed=1) as client:
                assert client.add(items) == list(range(1, 31)), form
                shown = ok(http.get(f"/projects/p{place}/items"))
                assert [{**one["shown"], "size": float(one["shown"]["size"])} for one in shown] == ROWS, form
                for _ in range(5):
                    question = client.ask()
                    client.tell(question, float(question.shown["size"]) > 3)
                digests.add(learned(http, f"/projects/p{place}")["digest"])
        assert len(digests) == 1, "the learner sees the same numbers, whatever they were read from"


def test_ordered_categories_stay_ordered_on_the_server(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    monkeypatch.setattr(rows, "MOST", 2)  # the first part does not have all of the sizes
    sizes = pd.Categorical(["S", "L", "M"], ["S", "M", "L"], ordered=True)
    colours = pd.Categorical(["red", "blue", None])
    frame = pd.DataFrame({"size": sizes, "colour": colours, "grade": pd.Categorical([3, 1, 2], ordered=True)})
    frame.to_parquet(file.with_name("items.parquet"))
    order, colour = pl.Enum(["S", "M", "L"]), pl.Series(["red", "blue", None], dtype=pl.Categorical)
    forms = {
        "pandas": frame,
        "polars": pl.DataFrame({"size": pl.Series(["S", "L", "M"], dtype=order), "colour": colour, "grade": [3, 1, 2]}),
        "arrow": pa.Table.from_pandas(frame),
        "parquet": file.with_name("items.parquet"),
    }
    with serving(file) as http:
        for form, items in forms.items():
            with dford.Client.create(str(http.base_url), form, LEVELS) as client:
                client.add(items)
                columns = {one["name"]: one for one in ok(http.get(f"/projects/{form}"))["columns"]}
                assert (columns["size"]["kind"], columns["size"]["categories"]) == ("order", ["S", "M", "L"]), form
                assert columns["colour"]["kind"] == "category"
                assert columns["grade"]["kind"] == ("order" if form in {"pandas", "arrow"} else "number")
                assert client.tell(client.ask({"size": "L", "colour": "red", "grade": 2}), True) == 1
                assert len(client.predict(items)) == 3
                again = {"columns": list(columns.values())}
                ok(http.put(f"/projects/{form}/columns", json=again))
        bad = {"items": [{"size": "S"}], "categories": {"size": ["M", "L"]}}
        ok(http.post("/projects", json={"name": "bad", "levels": LEVELS}))
        assert problem(http.post("/projects/bad/items", json=bad)) == (422, "not-a-category")
        bad["categories"] = {"weight": None}
        assert problem(http.post("/projects/bad/items", json=bad)) == (422, "unknown-column")


def test_numpy_and_pandas_values_are_accepted_and_missing_ones_are_missing(file: Path) -> None:
    import pandas as pd

    with serving(file) as http:
        set_up(http)
        with dford.Client(str(http.base_url), "rain") as client:
            sizes = [np.float32(1.5), np.int64(2), np.nan, pd.NA, pd.NaT, np.datetime64("NaT"), None]
            notes = [np.str_("a"), np.bool_(True), 1, pd.Timestamp("2024-05-01"), None, "", "b"]
            numbers = client.add([{"size": size, "note": note} for size, note in zip(sizes, notes, strict=True)])
            shown = [one["shown"] for one in ok(http.get("/projects/rain/items", params={"after": numbers[0] - 1}))]
            assert [one["size"] for one in shown] == [1.5, 2, None, None, None, None, None]
            assert [one["note"] for one in shown] == ["a", True, 1, "2024-05-01T00:00:00", None, "", "b"]
            question = client.ask({"size": np.float64(2.0), "colour": pd.NA, "note": np.bool_(False)})
            assert question.shown == {"size": 2.0, "colour": None, "note": False}
            assert client.tell(question, np.True_) == 1
            assert client.ask(item=np.int64(3)).item == 3
            assert client.tell_many([(client.ask(), np.False_)]) == [2]
            rows = pd.DataFrame({"size": [1.0, np.nan], "colour": ["red", None]})
            assert len(client.predict(rows, items=np.arange(1, 4))) == 5
            assert client.add(pd.DataFrame({"size": []})) == []


@pytest.mark.parametrize(
    ("items", "said"),
    [
        ({"size": 1.0}, "a dict must have a list of values for each column, but 'size' has '1.0'; put a single row"),
        ({"size": [1.0], "note": []}, "all columns must be equally long, but 'size' has 1 values and 'note' 0"),
        (5, "items must be a list of dicts, a frame or the path of a file; got int"),
        (["a text"], "an item must be a dict from column names to values; got 'a text'"),
        (
            [{"size": {"a": 1}}],
            "'size' has the type dict; values must be text, numbers, lists of numbers, True, False",
        ),
        ([{"size": np.inf}], "'size' is inf, which cannot be sent or learned from"),
        ("items.xlsx", "a file of items must be .csv or .parquet; got 'items.xlsx'"),
        ("nowhere.csv", "No such file or directory: 'nowhere.csv'"),
    ],
)
def test_items_that_cannot_be_sent_are_refused_before_any_is(items: Any, said: str) -> None:
    with dford.Client("http://127.0.0.1:9", "rain") as client, pytest.raises(Exception, match=said) as refused:
        client.add(items)
    assert isinstance(refused.value, (TypeError, ValueError, FileNotFoundError))


def test_many_items_are_sent_in_parts_and_an_error_says_how_many_were(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "MOST", 7)
    wrong: list[Any] = [*ROWS[:16], {"weight": 1.0}]
    with serving(file) as http:
        set_up(http)
        with dford.Client(str(http.base_url), "rain") as client:
            assert client.add(ROWS) == list(range(31, 61))
            assert requests(http, "POST", "/projects/{project}/items", 201) == 1 + 5
            with pytest.raises(client_module.ServiceError, match="there is no column 'weight'") as refused:
                client.add(wrong, idempotency_key="monday")
            assert refused.value.__notes__ == ["The first 14 of the 17 items were added."]
            assert client.add(wrong[:-1], idempotency_key="monday") == list(range(61, 77)), "and none of them twice"


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("localhost:8765", "it does not begin with http:// or https://"),
        ("ftp://x", "it does not begin with http:// or https://"),
        ("", "it does not begin with http:// or https://"),
        ("http://", "it has no valid host"),
        ("http://x:port", "Invalid port: 'port'"),
        ("http://127.0.0.1:8765/#/rain/answer", "it has a . or #, like the address of a page"),
    ],
)
@pytest.mark.parametrize("kind", [dford.Client, dford.AsyncClient])
def test_a_bad_url_fails_at_once(kind: Any, url: str, why: str) -> None:
    with pytest.raises(ValueError, match=f"^'{url}' is not the URL of a service: {why}.*like 'http://127") as refused:
        kind(url, "rain")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("key", ["", "4f0c2a\n", "4f0c 2a", "schlüssel"])
def test_a_key_that_no_header_can_carry_fails_at_once_and_is_not_repeated(key: str) -> None:
    with pytest.raises(ValueError, match="the key is empty or has a character that keys never have") as refused:
        dford.Client("http://127.0.0.1:8765", "rain", key)
    assert not key or key not in str(refused.value)


def test_a_server_that_cannot_be_reached_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(time, "sleep", pauses.append)
    with socket.socket() as taken:  # a port where nobody answers
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with dford.Client(url, "rain") as client, pytest.raises(ConnectionError, match=f"no reply from {url} after 6"):
            client.state()
    assert tuple(pauses) == operations._PAUSES


def test_the_base_import_brings_nothing_from_the_service() -> None:
    code = "import sys, dford; print([m for m in ('httpx', 'fastapi', 'sqlalchemy', 'uvicorn') if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_the_client_of_the_docs_runs_and_a_question_is_answered_by_its_number(tmp_path: Path) -> None:
    text = (Path(__file__).parent.parent / "docs" / "product.md").read_text()
    (code,) = re.findall(r"```\n(import dford\n.*?Client\.create.*?)```", text, re.DOTALL)
    with serving(tmp_path / "log.db") as http:
        url = str(http.base_url).rstrip("/")
        names: dict[str, Any] = {}
        exec(code.replace("http://127.0.0.1:8765", url), names)
        client = names["client"]
        assert client.state()["answers"] == 1
        assert client.tell_many([]) == []
        for act in (client.retract, client.drop):
            asked = client.ask({"minutes": 95.0, "year": 2019.0})
            if act == client.retract:
                assert client.tell_many([(asked.number, False)]) == [2]
            act(asked.number)
        assert (client.state()["answers"], client.state()["retractions"]) == (1, 1)
        client.close()
