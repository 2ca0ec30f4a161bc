"""The gallery: its programs run as they are, print what the page shows, and draw the pictures that are on it."""

import re
from pathlib import Path

import matplotlib.font_manager  # noqa: F401 if there is no font cache yet, building it would print to stderr
import numpy as np
import pytest
from PIL import Image

from forking import Command

GALLERY = Path(__file__).parent.parent / "docs" / "gallery"
PAGE = GALLERY.with_suffix(".md").read_text()
PROGRAMS = re.findall(r'^--8<-- "gallery/(\w+)\.py"$', PAGE, re.MULTILINE)


def shown(program: str) -> str:
    """What it prints, according to the page."""
    section = PAGE.partition(f'--8<-- "gallery/{program}.py"')[2]
    output = re.search(r"```text\n(.*?)```", section, re.DOTALL)
    assert output is not None, f"the page has no output of {program}.py"
    return output[1]


def figures(program: str) -> list[float]:
    """The numbers that it prints, according to the page; percentages as shares."""
    numbers = re.findall(r"\d[\d,]*(?:\.\d+)?%?", shown(program))
    return [float(number.replace(",", "").rstrip("%")) / (100 if "%" in number else 1) for number in numbers]


def run(program: str, folder: Path, *arguments: str) -> str:
    """What it prints when it is run as a user would, in an empty folder."""
    folder.mkdir()
    process = Command([str(GALLERY / f"{program}.py"), *arguments], folder=folder)
    out, err = process.communicate()
    assert (process.returncode, err) == (0, "")
    return out


def picture(file: Path) -> tuple[str | None, tuple[int, int]]:
    """Its format and its size; other versions of matplotlib draw it slightly differently."""
    with Image.open(file) as image:
        return image.format, image.size


def test_the_page_has_every_program() -> None:
    assert sorted(PROGRAMS) == sorted(path.stem for path in GALLERY.glob("*.py"))
    assert len(PROGRAMS) == 6


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_prints_and_draws_what_the_page_shows(program: str, tmp_path: Path) -> None:
    """In the folder it runs in, unless an argument says where: one of them gets one."""
    folder, elsewhere = tmp_path / "empty", tmp_path / "picture.png"
    where = [str(elsewhere)] if program == "late" else []
    assert run(program, folder, *where) == shown(program)
    assert [path.name for path in folder.iterdir()] == ([] if where else [f"{program}.png"])
    drawn, on_the_page = elsewhere if where else folder / f"{program}.png", GALLERY / f"{program}.png"
    assert 10_000 < drawn.stat().st_size < 80_000
    assert picture(drawn) == picture(on_the_page), "run: make gallery"


# The programs print what the page shows (see above), so the page is enough to judge them by.


def test_words_halve_the_error_after_one_answer_per_review() -> None:
    one, two, one_alone, two_alone = figures("texts")
    assert one <= one_alone / 2
    assert two < 0.1 < two_alone


def test_looking_at_images_saves_a_third_of_the_answers() -> None:
    answers, target, answers_alone = figures("images")
    assert target == 0.1
    assert answers <= answers_alone * 2 / 3


def test_people_are_told_apart_and_weighed() -> None:
    alike, weighed, strictness, true_strictness, rate, true_rate = figures("people")
    assert weighed < alike
    assert abs(strictness - true_strictness) <= 0.2
    assert abs(rate - true_rate) <= 0.1


def test_a_judge_that_never_gets_there_helps_while_people_have_said_little() -> None:
    best, people_early, cost, target, _, both_early, same_cost, same_target, _, low, high, true_rate = figures("judge")
    assert target == same_target < best
    assert cost == same_cost
    assert both_early < 0.8 * people_early
    assert low <= true_rate <= high


def test_late_answers_cost_little_and_a_restart_nothing() -> None:
    answered, asked, still_open, _, late, at_once, differing = figures("late")
    assert answered + still_open == asked
    assert late <= at_once + 0.05
    assert differing == 0


def test_errors_estimated_without_labels_are_true() -> None:
    by_program = np.reshape(figures("unlabelled"), (3, 4))
    for value, low, high, truth in by_program:
        assert low <= truth <= high
        assert abs(value - truth) <= 0.05
