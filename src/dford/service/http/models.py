"""What goes in and out over HTTP."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

from dford.service.projects.projects import NAME

Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Text = Annotated[StrictStr, Field(min_length=1, max_length=200)]
Number = Annotated[int, Field(ge=1, le=2**31 - 1)]
Value = StrictStr | StrictBool | int | float | None
Row = dict[StrictStr, Value]


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Problem(BaseModel):
    """What every response with a status from 400 on is."""

    code: str = Field(description="For programs.")
    sentence: str = Field(description="For people.")
    field: str | None = Field(description="What of the request it is about.")


class Column(_In):
    """How a column is read, and so what is learned from it."""

    name: Text = Field(description="As items have it.")
    kind: Literal["number", "order", "category", "text", "vector", "image", "date", "shown", "words"] = Field(
        description="order: categories in order, as one number. shown: nothing is learned from it. words: of projects "
        "that were made before there was text."
    )
    mean: Annotated[float, Field(ge=-1e40, le=1e40)] = Field(0.0, description="What a missing number becomes.")
    categories: list[StrictStr] = Field(
        [], max_length=1000, description="Without any, a category is known by a hash of its name."
    )
    missing: bool = Field(False, description="Whether a feature says that the value is missing.")
    other: bool = Field(False, description="Whether there is a feature for all other categories.")
    size: Annotated[int, Field(ge=0, le=10_000)] = Field(0, description="How many numbers a vector has.")
    note: str = Field(
        "", max_length=200, description="Why nothing is learned from it, or how to have more learned from it."
    )


class Asking(_In):
    """How people are asked. All but own_figures needs the choice `pool`."""

    gold: float = Field(
        0.0,
        ge=0,
        le=0.5,
        description="The share of the questions that judge people: about items whose level is settled, which look like "
        "any other.",
    )
    answers_per_item: Annotated[int, Field(ge=1, le=100)] = Field(
        1, description="Items about which fewer people have answered go before the others."
    )
    auditors: list[Text] | None = Field(
        None, max_length=1000, description="The names of those whose questions may audit; null for all."
    )
    own_figures: bool = Field(False, description="Whether people may read what is known of themselves.")


class AskingOut(Asking):
    gold_column: str | None = Field(description="The column of added tables that has known levels.")


class NewProject(Asking):
    name: Name = Field(description="In lower case, as it is in paths.")
    levels: list[Text] = Field(min_length=2, max_length=100, description="The scale, lowest first.")
    columns: list[Column] | None = Field(None, description="Read from the first items where not given.")
    learner: str = Field("Auto", description="A learner of the library that asks, by name.")
    parameters: dict[str, Any] = Field(
        {}, description='Of the learner; a policy is {"policy": "Nearby", "exploration": 0.1}.'
    )
    seed: Annotated[int, Field(ge=0, lt=2**32)] | None = Field(None, description="Of the policy's draws.")
    choice: Literal["pool", "turns"] | None = Field(
        None,
        description="Of the next item. With pool, which needs a learner with probabilities, it is the one whose answer "
        "tells most; with turns, the one that was asked about least often. Where not given, pool if that can be.",
    )
    target: float = Field(0.1, ge=0, le=100, description="The expected error of the items, in levels, that is enough.")
    reveal: bool = Field(False, description="Whether the page shows where an item stands before it is answered.")
    gold_column: Text | None = Field(
        None,
        description="A column of the tables that are added, with levels that are known, or nothing. It is neither "
        "shown nor learned from, and these levels are settled.",
    )


class ProjectOut(BaseModel):
    name: str
    levels: list[str] = Field(description="The scale, lowest first.")
    columns: list[Column] | None = Field(description="Null until they are set.")
    learner: str
    parameters: dict[str, Any]
    seed: int
    choice: Literal["pool", "turns"] = Field(description="Of the next item.")
    target: float = Field(description="The expected error of the items, in levels, that is enough.")
    reveal: bool = Field(description="Whether the page shows where an item stands before it is answered.")
    own_figures: bool = Field(description="Whether people may read what is known of themselves.")


class Columns(_In):
    columns: list[Column] = Field(min_length=1, max_length=10_000)


class Items(_In):
    items: list[Row] = Field(min_length=1)
    categories: dict[Text, Annotated[list[StrictStr], Field(max_length=1000)] | None] = Field(
        {},
        description="Of columns of categories, these in order, lowest first, or null where they have none. It counts "
        "where the items say how columns are read.",
    )


class Added(BaseModel):
    first: int = Field(description="The number of the first item.")
    count: int = Field(description="How many were added. Their numbers follow one another.")
    columns: list[str] = Field(
        description="What each column became, which are not learned from, and what is missing that never was before."
    )


class Preview(BaseModel):
    """How a file would be read. Nothing was stored."""

    columns: list[Column]
    rows: list[dict[str, str]] = Field(description="The first five.")
    count: int = Field(description="Of all rows.")


class ItemOut(BaseModel):
    number: int
    shown: Row = Field(description="The item as it was added.")
    turns: int = Field(description="How often it was answered or skipped.")


class Ask(_In):
    features: Row | None = Field(None, description="Ask about these, instead of an item of the pool.")
    item: Number | None = Field(None, description="Ask about this item of the pool, instead of the next one.")
    program: StrictBool = Field(
        False, description="Whether a program answers: the questions of the audit are for people, who judge it."
    )

    @model_validator(mode="after")
    def one_of_them(self) -> Self:
        if self.features is not None and self.item is not None:
            raise ValueError("send features or an item, not both")
        return self


class QuestionOut(BaseModel):
    number: int = Field(description="To answer it by.")
    item: int | None = Field(description="The number of the item, or null: features were sent.")
    turns: int | None = Field(description="How often the item was answered or skipped before.")
    shown: Row = Field(description="The item, or the features sent, to be shown.")
    level: str = Field(description="Is the right level above this one?")
    prediction: str = Field(description="The level that the learner believed when it asked.")
    propensity: float = Field(description="With which probability it asked about this level.")
    expires: float = Field(description="Until then nobody else is asked about this item.")
    fate: Literal["open", "answered", "skipped", "retracted"] = Field(description="What became of it.")


class AnswerIn(_In):
    higher: StrictBool = Field(description="Whether the right level is above the one of the question.")
    confidence: Annotated[float, Field(ge=0.5, le=1, strict=True)] | None = Field(
        None, description="How sure whoever answers is of that, from 0.5, a guess, to 1."
    )


class AnswerOut(BaseModel):
    question: int
    higher: bool
    sequence: int = Field(description="The place of the answer in the project's log.")
    at: float = Field(description="When it was written.")


class OneAnswer(AnswerIn):
    question: Number


class Answers(_In):
    answers: list[OneAnswer] = Field(min_length=1)


class Outcome(BaseModel):
    """Of one answer among many: it was taken, or was not."""

    question: int
    status: int = Field(description="That of the response which the answer alone would have got.")
    answer: AnswerOut | None = Field(description="What it would have been, if the answer was taken.")
    problem: Problem | None = Field(description="Why it was not taken.")


class Outcomes(BaseModel):
    outcomes: list[Outcome] = Field(description="One for each answer, in the order sent.")


class SkipOut(BaseModel):
    question: int


class Release(_In):
    questions: list[Number] = Field(max_length=1000, description="Numbers of open questions; others are passed over.")


class Released(BaseModel):
    released: int = Field(description="How many of them were open, and one's own.")


class RetractOut(BaseModel):
    question: int
    sequence: int = Field(description="The place of the retraction in the project's log.")


class ToPredict(_In):
    """Items by number, or rows of features."""

    items: list[Number] = Field([], description="Numbers of items of the pool.")
    rows: list[Row] = Field([], description="Items that need not be in the pool.")


class Prediction(BaseModel):
    level: str = Field(description="The level that the learner believes.")
    probabilities: dict[str, float] | None = Field(description="Null where the learner has none.")
    score: float | None = Field(description="Where it lies, on the scale of the thresholds.")


STALE = "Whether the state still holds an answer that was taken back: one without it is on its way."


class Predictions(BaseModel):
    sequence: int = Field(description="Up to which all answers were learned.")
    stale: bool = Field(description=STALE)
    thresholds: list[float] | None = Field(description="What scores are compared with, where the learner does that.")
    predictions: list[Prediction] = Field(description="In the order asked for: items, then rows.")


class Estimate(BaseModel):
    """A figure, and the interval that it is in."""

    value: float
    low: float
    high: float


class Unsure(BaseModel):
    """An item, its long texts cut, and how it is predicted."""

    item: int
    shown: Row
    level: str
    probabilities: dict[str, float] | None
    sureness: float = Field(description="The probability of the level; without any, the distance to a threshold.")


class Levels(BaseModel):
    """How the items of the pool are predicted, as of one moment not long ago."""

    sequence: int = Field(description="Of the last answer learned from, then.")
    stale: bool = Field(description=STALE)
    items: int
    counts: dict[str, int] = Field(description="Of items, by level.")
    unsure: list[Unsure] = Field(description="The items that are least certain, least first.")
    settled: int = Field(description="Of items, how many have a level, or a range of levels, that somebody settled.")
    programs: float = Field(description="The share of the answers that programs gave.")
    expected_error: float | None = Field(
        description="How far items are from their right levels on the mean, by the probabilities; null without any."
    )
    audited_error: Estimate | None = Field(
        description="The same by the audit, which believes no model; null until an item is settled by its answers."
    )
    error_rate: float | None = Field(description="How often an answer is believed to be wrong.")


class Remaining(BaseModel):
    """About how many more answers it takes until the expected error is at most the target."""

    target: float
    expected_error: float
    answers: Estimate = Field(description="The mean, the least and the most of eight simulated futures.")


class Point(Estimate):
    """The error after so many answers."""

    answers: int


class Cuts(BaseModel):
    """The thresholds after so many answers."""

    answers: int
    thresholds: list[float]


class State(BaseModel):
    items: int
    items_done: int = Field(description="Answered or skipped at least once.")
    questions: int = Field(description="Asked so far.")
    open: int = Field(description="Questions that wait for an answer, and have not expired.")
    answers: int = Field(description="Those taken back are left out.")
    retractions: int
    sequence: int = Field(description="Of the last answer, retraction or settlement.")
    learned: int = Field(description="The sequence number up to which the learner has learned.")
    stale: bool = Field(description=STALE)
    thresholds: list[float] | None = Field(description="Between the levels, as scores, if the learner has them.")
    mae: Estimate | None = Field(description="The mean error in levels, without labels, at 95% at all times at once.")
    curve: list[Point] = Field(description="The same over time.")
    history: list[Cuts] = Field(description="The thresholds over time; empty where the learner has none.")
    people: dict[str, int] = Field(description="How many answers each gave, those taken back too.")
    digest: str | None = Field(description="SHA-256 of the learner's state, where asked for.")


class NewKey(_In):
    role: Literal["admin", "answer", "predict"]
    name: StrictStr = Field(description="Whose it is: the person who answers with it. 1 to 200 printable characters.")


class KeyOut(BaseModel):
    id: str = Field(description="To revoke it by; it opens nothing.")
    role: str
    name: str
    revoked: bool


class KeyShown(BaseModel):
    id: str = Field(description="To revoke it by; it opens nothing.")
    key: str = Field(description="Shown this once.")


class Me(BaseModel):
    name: str = Field(description="Whose key it is.")
    role: str
    project: str | None = Field(description="The one project that the key is for; none: all.")
    open: bool = Field(description="Whether there is no key yet, so that this machine may do all.")


class Imported(BaseModel):
    count: int = Field(description="Of answers.")
    about_items: int = Field(description="How many of them are about an item of this project, and count for it.")
    sequence: int = Field(description="Of the last of them.")


class Health(BaseModel):
    status: Literal["ok"]
    version: str
