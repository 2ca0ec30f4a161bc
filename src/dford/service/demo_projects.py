"""Projects to look at: made-up days of weather, to be rated calm, mild, strong or severe.

`demo` waits for answers. `demo-answered` has 400 simulated ones: a rule gave them, and one in twenty is the opposite of
what the rule says. They are in the log under a person called "simulated".
"""

import json
import random
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
from sqlalchemy import Connection

from dford.pool.choice import AtHand
from dford.service.core import Service
from dford.service.learning import learned, snapshots
from dford.service.learning.log_reader import NOTHING_SETTLED, Arrivals, Rounds, head_of
from dford.service.learning.next_question import wording_of
from dford.service.projects import answering, asking
from dford.service.projects.asking import AskedQuestion, QuestionLimits, QuestionRequest, Subject, Wording
from dford.service.projects.columns import encode
from dford.service.projects.projects import Project, all_projects
from dford.service.projects.rules import Rules
from dford.service.table_project import TableProject, fill_project

LEVELS = ["calm", "mild", "strong", "severe"]
_DAYS, _ANSWERS, _WRONG = 200, 400, 0.05


def add_demo_projects(service: Service) -> None:
    """Add the projects that do not exist yet."""
    there = {project.name for project in all_projects(service.database)}
    for name in ("demo", "demo-answered"):
        if name not in there:
            fill_project(service, TableProject(name, days(), LEVELS, seed=0))
    answered = service.project("demo-answered")
    if head_of(service.database, answered.id) == 0:
        told, state = _simulate(answered)
        service.write(answered, partial(_answer, project=answered, told=told, state=state))


def days() -> list[dict[str, Any]]:
    """The items, always the same."""
    chance = random.Random(0)
    return [_day(chance) for _ in range(_DAYS)]


def _day(chance: random.Random) -> dict[str, Any]:
    rough = chance.random()
    wind = round(3 + 70 * rough * rough * (0.6 + 0.6 * chance.random()))
    gusts = round(wind * (1.1 + 0.7 * chance.random()) + 2)
    rain = round(max(0.0, 45 * rough * chance.random() - 4), 1)
    temperature = round(-6 + 36 * chance.random())
    if rain and temperature <= 0:
        sky = "snow"
    elif rain and rough * chance.random() > 0.5 and temperature > 10:
        sky = "thunder"
    else:
        sky = "rain" if rain else ("clear", "cloudy")[chance.random() < 0.5]
    day = {"wind": wind, "gusts": gusts, "rain": rain, "temperature": temperature, "sky": sky}
    return {**day, "report": _report(day, chance)}


def _report(day: dict[str, Any], chance: random.Random) -> str:
    signs = (
        ("Smoke rises straight up.", "The flag hangs down.", "Not a leaf moves."),
        ("Leaves rustle.", "A flag flutters.", "A kite would fly."),
        ("Umbrellas turn inside out.", "Whole trees sway.", "It is hard to walk against."),
        ("Branches are on the road.", "A fence is down.", "The ferry stays in port."),
    )
    step = sum(day["gusts"] > limit for limit in (15, 40, 70))
    air = ("Hardly any wind", "A breeze", "A strong wind", "A storm")[step]
    fall = "snow" if day["sky"] == "snow" else "rain"
    wet = ("no rain", f"a little {fall}", f"steady {fall}", f"heavy {fall}")[
        sum(day["rain"] > limit for limit in (0, 5, 15))
    ]
    thunder = ", with thunder" if day["sky"] == "thunder" else ""
    sign = signs[step][int(3 * chance.random())]
    return f"{air} and {wet}{thunder}, {day['temperature']} degrees. {sign}"


def severity(day: dict[str, Any]) -> int:
    """The rule: the level of a day, from 1, by its gusts and rain, higher with thunder or snow."""
    weight: float = day["gusts"] / 35 + day["rain"] / 20 + {"thunder": 0.7, "snow": 0.4}.get(day["sky"], 0.0)
    return 1 + sum(weight > limit for limit in (0.7, 1.7, 2.9))


def _simulate(project: Project) -> tuple[list[tuple[int, Wording, bool]], snapshots.Snapshot]:
    """The items, questions and answers, one after another, and what is learned from them."""
    chance, model, items = random.Random(1), learned.new(project), days()
    rows = project.rows(encode(project.columns, items, "items"))
    arrivals, told = Arrivals(0, np.zeros(_DAYS, np.int64), rows), list[tuple[int, Wording, bool]]()
    model.admit(arrivals, _DAYS)
    for n in range(1, _ANSWERS + 1):
        found = model.propose(n, {}, AtHand("simulated"), Rules(), project.target)
        assert found is not None
        wording = wording_of(found)
        higher = (severity(items[found.item]) > wording.level) != (chance.random() < _WRONG)
        told.append((found.item + 1, wording, higher))
        asked = wording.level, wording.prediction, wording.propensity, higher, found.item + 1
        level, prediction, propensity, said, item = (np.array([value]) for value in asked)
        page = Rounds(
            np.array([n]), np.array([n]), rows[found.item : found.item + 1], level, prediction, propensity, said, item,
            np.array([found.purpose]), np.array([found.checks]), ["simulated"], np.array([np.nan]), np.array([False]),
            np.array([0]),
        )  # fmt: skip
        model.learn(page, slice(1), arrivals, NOTHING_SETTLED)
    model.finish()
    return told, snapshots.Snapshot(_ANSWERS, _ANSWERS, *model.packing()(), snapshots.versions())


def _answer(
    connection: Connection, project: Project, told: list[tuple[int, Wording, bool]], state: snapshots.Snapshot
) -> None:
    """Ask and answer as people would, one question after another, all in one commit."""
    items, turns, request = days(), Counter[int](), QuestionRequest("simulated")
    packed = encode(project.columns, items, "items")
    limits = QuestionLimits(lease_seconds=1.0, open_questions=_ANSWERS, open_per_person=_ANSWERS)
    for item, wording, higher in told:
        subject = Subject(item, turns[item], json.dumps(items[item - 1]), packed[item - 1])
        asked = asking.ask(connection, project, request, subject, partial(_say, wording), limits)
        assert isinstance(asked, AskedQuestion)  # nobody else has the item
        answering.record(connection, project.id, [answering.SentAnswer(asked.number, higher, "simulated")])
        turns[item] += 1
    snapshots.keep(connection, project.id, state)


def _say(wording: Wording, _: int) -> Wording:
    return wording
