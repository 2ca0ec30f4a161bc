"""Setting up over a connection that breaks: what is sent again is done once."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

from browsing import home
from dford.service.csv_rows import read_rows
from serving import ok, serving, set_up


def lose_each_once(page: Page, pattern: str) -> list[str]:
    """The server handles every such request, but the first response is lost; the list grows meanwhile."""
    lost: list[str] = []

    def handle(route: Route) -> None:
        request = f"{route.request.url} {route.request.post_data}"
        if route.request.method != "POST" or request in lost:
            route.continue_()
            return
        lost.append(request)
        route.fetch()
        route.abort("connectionreset")

    page.route(pattern, handle)
    return lost


def test_a_response_lost_at_any_step_of_a_new_project_adds_nothing_twice(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    file, page = tmp_path / "sizes.csv", new_page()
    file.write_text("size,note\n" + "".join(f'{7 * n % 10},"{n % 7} "",\n"\n' for n in range(11_000)))
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client) + "#/new")
        page.set_input_files("#file", file)
        expect(page.get_by_text("11,000 items in sizes.csv")).to_be_visible()
        lost = lose_each_once(page, "**/projects**")
        button = page.get_by_role("button", name="Create project")
        for step in range(1, 5):  # the project, and three parts
            button.click()
            expect(page.locator("#notices")).to_contain_text("The server cannot be reached")
            assert len(lost) == step
            page.get_by_role("button", name="Dismiss this message").click()
            if step == 3:  # somebody chooses the file again instead
                with page.expect_file_chooser() as chooser:
                    page.locator("#file").click()
                chooser.value.set_files(file)
                expect(page.get_by_text("11,000 items in sizes.csv")).to_be_visible()
        page.unroute("**/projects**")
        button.click()
        expect(page.locator(".question em")).to_be_visible()
        assert ok(client.get("/projects/sizes/state"))["items"] == 11_000


def test_an_empty_line_is_an_item_if_there_is_only_one_column(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client))
        for text, expected in (
            ("\nx\n1\n\n2\n\n", {"text": 'x\n1\n""\n2\n', "count": 3}),
            ("\nx,y\n1,2\n\n", {"text": "x,y\n1,2\n", "count": 1}),
        ):
            assert page.evaluate("async (text) => (await import('/page/csv.js')).parts(text)", text) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "a,b\r1,2\r3,4\r",
        "a,b\r\n1,2\r3,4\n\r5,6",
        "a\tb\n1\t2\n\t\n3\t4\n",
        'a,b\r"1\r2",""\r\r\n"x""\n",\r,\r',
        "\r\ra\r1\r\r2\r\r",
        "a\n \n\n2",
    ],
)
def test_a_file_is_cut_where_the_server_sees_the_end_of_a_line(
    tmp_path: Path, new_page: Callable[..., Page], text: str
) -> None:
    page, rows = new_page(), read_rows(text.encode())
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client))
        parts = page.evaluate("async (text) => (await import('/page/csv.js')).parts(text)", text)
        assert [read_rows(part["text"].encode()) for part in parts] == [rows]
        assert parts[0]["count"] == len(rows)
        long = page.evaluate("async (n) => (await import('/page/csv.js')).parts('a,b\\r' + '1,2\\r'.repeat(n))", 5001)
        assert [part["count"] for part in long] == [5000, 1]


def test_items_are_added_once_and_again_only_if_chosen_again(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    file, page = tmp_path / "more.csv", new_page()
    file.write_text("size,colour,note\n" + "".join(f'{n},red,5" of rain {n}\n' for n in range(9)))
    with serving(tmp_path / "log.db") as client:
        project = set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        button = page.get_by_role("button", name="Add items")
        for items in (39, 48):
            lose_each_once(page, "**/items.csv")
            expect(button).to_be_disabled()
            page.set_input_files("#file", file)
            button.click()
            expect(page.get_by_text("Stopped after 0 of 9 items")).to_be_visible()
            page.get_by_role("button", name="Dismiss this message").click()
            button.click()
            expect(page.locator("#notices")).to_contain_text("9 items were added")
            assert ok(client.get(f"{project}/state"))["items"] == items
            expect(page.locator("dt:text-is('Items') + dd")).to_have_text(str(items))
            page.unroute("**/items.csv")
            page.get_by_role("button", name="Dismiss this message").click()


def test_nobody_is_told_to_try_again_what_is_refused_for_good(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    file, page = tmp_path / "more.csv", new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        file.write_text("size,weight\n1,2\n")
        page.set_input_files("#file", file)
        expect(page.locator(".drop .note")).to_have_text("There is no column 'weight' in this project")
        expect(page.get_by_role("button", name="Add items")).to_be_disabled()
        file = tmp_path / "most.csv"
        file.write_text("size,colour,note\n" + "1,red,a\n" * 5000 + "tall,red,b\n")
        page.set_input_files("#file", file)
        page.get_by_role("button", name="Add items").click()
        expect(page.locator("#notices")).to_contain_text("Column 'size' takes a number; got 'tall'.")
        expect(page.locator(".drop .note")).to_have_text(
            "Stopped after 5,000 of 5,001 items. Those were added: leave them out of the corrected file."
        )


def test_a_new_project_is_called_after_its_file_unless_somebody_named_it(
    tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    files, page = [tmp_path / f"{name}.csv" for name in ("wines", "beers", "teas")], new_page()
    for file in files:
        file.write_text("price\n1\n2\n")
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client) + "#/new")
        name = page.get_by_label("Project name")
        for file in files[:2]:
            page.set_input_files("#file", file)
            expect(name).to_have_value(file.stem)
        name.fill("drinks")
        page.set_input_files("#file", files[2])
        expect(page.get_by_text("2 items in teas.csv.")).to_be_visible()
        expect(name).to_have_value("drinks")
        page.get_by_label("Level 2", exact=True).fill("low")
        page.get_by_role("button", name="Create project").click()
        expect(page.locator("#notices")).to_contain_text("Levels must be distinct; 'low' appears twice.")
        page.get_by_label("Level 2", exact=True).fill("middle")
        page.get_by_role("button", name="Create project").click()
        expect(page.locator(".question em")).to_be_visible()
        expect(page.locator("#notices")).to_be_empty()


def test_an_invitation_whose_response_was_lost_makes_one_key(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page, guest = new_page(), new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        lose_each_once(page, "**/rain/keys")
        page.get_by_label("Person's name").fill(" Ann Müller")
        page.get_by_role("button", name="Create link").click()
        expect(page.locator("#notices")).to_contain_text("The server cannot be reached")
        page.get_by_role("button", name="Create link").click()
        root = page.get_by_label("Your own key").input_value()  # still shown: it was made at the first attempt
        guest.goto(page.get_by_label("Link for Ann Müller").input_value())
        expect(guest.locator("#who")).to_contain_text("Signed in as Ann Müller")
        client.headers["Authorization"] = f"Bearer {root}"
        assert [key["name"] for key in ok(client.get("/projects/rain/keys"))] == ["Ann Müller"]
        page.get_by_label("Person's name").fill("Ann Müller")
        page.unroute("**/rain/keys")
        page.get_by_role("button", name="Create link").click()
        expect(page.get_by_role("button", name="Revoke the key for Ann Müller")).to_have_count(2)


def test_a_first_key_that_was_lost_is_explained(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    page = new_page()
    with serving(tmp_path / "log.db") as client:
        set_up(client, learner="NewtonLogit")
        page.goto(home(client) + "#/rain/setup")
        lose_each_once(page, "**/keys")
        page.get_by_label("Person's name").fill("anna")
        page.get_by_role("button", name="Create link").click()
        expect(page.locator("#notices")).to_contain_text("The server cannot be reached")
        page.get_by_role("button", name="Create link").click()
        expect(page.locator("#notices")).to_contain_text(
            "the reply was lost. Create another one with the command dford key"
        )


def test_a_wrong_choice_for_a_column_can_be_corrected(tmp_path: Path, new_page: Callable[..., Page]) -> None:
    file, page = tmp_path / "wines.csv", new_page()
    file.write_text("price,region\n" + "".join(f"{n % 5},{['north', 'south'][n % 2]}\n" for n in range(12)))
    with serving(tmp_path / "log.db") as client:
        page.goto(home(client) + "#/new")
        page.set_input_files("#file", file)
        kind, name = page.get_by_label("How region is read"), page.get_by_label("Project name")
        for wrong, said, next_name in (
            ("Number", "Column 'region' takes a number; got 'north'. Project wines was created, but has no", "wines-2"),
            ("Known level", "'north' in row 1 of the column 'region' of known levels is not one of low", "wines-3"),
        ):
            kind.select_option(wrong)
            page.get_by_role("button", name="Create project").click()
            expect(page.locator("#notices")).to_contain_text(said)
            expect(name).to_have_value(next_name)
            page.get_by_role("button", name="Dismiss this message").click()
        kind.select_option("Category")
        page.get_by_role("button", name="Create project").click()
        expect(page.locator(".question em")).to_be_visible()
        assert ok(client.get("/projects/wines-3/state"))["items"] == 12
