"""The bodies of requests and responses."""

import math
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    TypeAdapter,
    ValidationError,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from dford.service.projects.projects import NAME

Name = Annotated[str, Field(pattern=f"^{NAME}$")]
Text = Annotated[StrictStr, Field(min_length=1, max_length=200)]


def _without_null(text: str) -> str:
    if "\0" in text:
        raise ValueError(f"it cannot contain a null character; got {text[:50]!r}")
    return text


StoredText = Annotated[Text, AfterValidator(_without_null)]
"""A text that is stored as it is: PostgreSQL takes no null character."""


def _trimmed(text: str) -> str:
    if text != text.strip():
        raise ValueError(f"the name of a level must not begin or end with white space; got {text!r}")
    return text


NewLevel = Annotated[Text, AfterValidator(_trimmed)]


def _not_truth(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError(f"it must be a whole number; got {str(value).lower()}")
    return value


_WHOLE = BeforeValidator(_not_truth)
Number = Annotated[int, Field(ge=1, le=2**31 - 1), _WHOLE]
Value = StrictStr | StrictBool | int | float | None
Row = dict[StrictStr, Value]
_PLAIN = {str, bool, int, float, type(None)}


def _check_values(row: dict[str, Any]) -> dict[str, Any]:
    """One look at each value: pydantic would try all types on each, and describe every one that does not fit."""
    for name, value in row.items():
        if type(value) not in _PLAIN or (type(value) is float and not math.isfinite(value)):
            problem = PydanticCustomError("value_of_item", "not a value")
            wrong: InitErrorDetails = {"type": problem, "loc": (name,), "input": value}
            raise ValidationError.from_exception_data("row", [wrong])
    return row


SentRow = Annotated[
    dict[StrictStr, Any], AfterValidator(_check_values), WithJsonSchema(TypeAdapter(Row).json_schema())
]  # fmt: skip
_Many = Field(fail_fast=True)  # only the first mistake in a long list is described, so others are not looked for


class _In(BaseModel):
    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)


class Problem(BaseModel):
    """The body of every response with a status of 400 or above."""

    code: str = Field(description="For programs.")
    sentence: str = Field(description="For people.")
    field: str | None = Field(description="The part of the request it is about.")


class Column(_In):
    """How a column is read, and what is learned from it."""

    name: Text = Field(description="The name that items use.")
    kind: Literal["number", "order", "category", "text", "vector", "image", "date", "shown", "words"] = Field(
        description="order: ordered categories, as one number. shown: nothing is learned from it. words: only in "
        "projects from before the kind text existed."
    )
    mean: Annotated[float, Field(ge=-1e40, le=1e40)] = Field(
        0.0, description="The value that replaces a missing number."
    )
    categories: list[StrictStr] = Field(
        [], max_length=1000, description="If empty, categories are told apart by a hash of their names."
    )
    missing: bool = Field(False, description="Whether one feature marks missing values.")
    other: bool = Field(False, description="Whether one feature stands for all other categories.")
    size: Annotated[int, Field(ge=0, le=10_000)] = Field(0, description="How many numbers a vector has.")
    note: str = Field("", max_length=200, description="Why nothing is learned from it, or how more could be learned.")
    ratings: list[Annotated[float, Field(ge=-1e40, le=1e40)]] = Field(
        [],
        max_length=100,
        description="If its values are ratings on the scale, by a model or somebody else: the number that stands for "
        "each level, lowest first. Levels start from them. If empty, it is a column like any other.",
    )


class Rules(_In):
    """How people are asked. Everything except own_figures and ratings needs the choice `pool`."""

    gold: float = Field(
        0.0,
        ge=0,
        le=0.5,
        description="The share of gold questions: they are about items whose level is settled, look like any other "
        "question, and show how often each person is right.",
    )
    answers_per_item: Annotated[int, Field(ge=1, le=100), _WHOLE] = Field(
        1, description="Items with answers from fewer people than this come first."
    )
    auditors: Annotated[list[Text], _Many] | None = Field(
        None, max_length=1000, description="The people who may get audit questions, by name; null for everyone."
    )
    own_figures: bool = Field(False, description="Whether people may see their own figures.")
    ratings: bool = Field(
        False, description="Whether the page offers people to give an item's level, instead of yes or no."
    )
    certify: bool = Field(
        False,
        description="Whether an audit is to show that the target is reached. Once it is expected to be, half of the "
        "questions to those who may audit check items drawn at random, and all do once half as much is expected, until "
        "this is shown with 95% confidence. If the items turn out to be further off, they are placed again.",
    )


def _without_defaults(schema: dict[str, Any]) -> None:
    for field in schema["properties"].values():
        field.pop("default", None)


class NewRules(Rules):
    """What is left out stays as it is."""

    model_config = ConfigDict(json_schema_extra=_without_defaults)


class RulesOut(Rules):
    model_config = ConfigDict(json_schema_extra=_without_defaults)

    gold_column: str | None = Field(description="The column of known levels in uploaded tables.")


class NewProject(Rules):
    name: Name = Field(description="Lowercase, as it appears in paths.")
    levels: list[NewLevel] = Field(
        min_length=2,
        max_length=100,
        description="The scale, lowest first. No name begins or ends with white space, and where a level is named, "
        "white space around it does not count.",
    )
    columns: Annotated[list[Column], _Many] | None = Field(None, description="If not given, read from the first items.")
    learner: str = Field("Auto", description="The name of a learner in the library that can ask.")
    parameters: dict[str, Any] = Field(
        {}, description='The parameters of the learner. A policy is written {"policy": "Nearby", "exploration": 0.1}.'
    )
    seed: Annotated[int, Field(ge=0, lt=2**32), _WHOLE] | None = Field(
        None, description="The seed of the policy's random draws."
    )
    choice: Literal["pool", "turns"] | None = Field(
        None,
        description="How the next item is chosen. pool takes the one whose answer tells most, and needs a learner with "
        "probabilities; turns takes the one asked about least often. If not given, pool where possible.",
    )
    target: float = Field(
        0.1, ge=0, le=100, description="The expected error, in levels, at which there are enough answers."
    )
    reveal: bool = Field(False, description="Whether the page shows the predicted level before people answer.")
    files: StoredText | None = Field(
        None,
        description="The project's part of the image folder: a folder in it, or . for all of it. Its admins can add "
        "items that name any image there. Without it, they can name only what they upload, and admins of all projects "
        "any image of the folder.",
    )
    gold_column: StoredText | None = Field(
        None,
        description="The column of known levels in uploaded tables; a row may leave it empty. It is neither shown nor "
        "learned from, and its levels are settled.",
    )


class ProjectOut(BaseModel):
    name: str
    levels: list[str] = Field(description="The scale, lowest first.")
    columns: list[Column] | None = Field(description="Null until they are set.")
    learner: str
    parameters: dict[str, Any]
    seed: int
    choice: Literal["pool", "turns"] = Field(description="How the next item is chosen.")
    target: float = Field(description="The expected error, in levels, at which there are enough answers.")
    reveal: bool = Field(description="Whether the page shows the predicted level before people answer.")
    own_figures: bool = Field(description="Whether people may see their own figures.")
    ratings: bool = Field(description="Whether the page offers people to give an item's level.")
    files: str | None = Field(description="The project's part of the image folder, if it has one.")


class Columns(_In):
    columns: Annotated[list[Column], _Many] = Field(min_length=1, max_length=10_000)


class Items(_In):
    items: Annotated[list[SentRow], _Many] = Field(min_length=1)
    categories: dict[Text, Annotated[list[StrictStr], Field(max_length=1000)] | None] = Field(
        {},
        description="For columns of categories: the categories in order, lowest first, or null if they have no order. "
        "Used only when these items decide how columns are read.",
    )


class Added(BaseModel):
    first: int = Field(description="The number of the first item.")
    count: int = Field(description="How many were added, numbered consecutively.")
    columns: list[str] = Field(
        description="How each column is read, which are not learned from, and which have missing values for the first "
        "time."
    )


class Preview(BaseModel):
    """How a file would be read. Nothing is stored."""

    columns: list[Column]
    rows: list[dict[str, str]] = Field(description="The first five.")
    count: int = Field(description="How many rows there are in all.")


class ItemOut(BaseModel):
    number: int
    shown: Row = Field(description="The item as it was added.")
    turns: int = Field(description="How often it was answered or skipped.")


class Ask(_In):
    features: SentRow | None = Field(
        None,
        description="Ask about these instead of an item of the pool: a value for each column that is learned from, "
        "null where it is missing.",
    )
    item: Number | None = Field(None, description="Ask about this item of the pool instead of the next one.")
    program: StrictBool = Field(
        False, description="Whether a program answers. Programs get no audit questions: people check their answers."
    )

    @model_validator(mode="after")
    def one_of_them(self) -> Self:
        if self.features is not None and self.item is not None:
            raise ValueError("send either features or an item, not both")
        return self


class QuestionOut(BaseModel):
    number: int = Field(description="The number to answer it by.")
    item: int | None = Field(description="The number of the item, or null if features were sent.")
    turns: int | None = Field(description="How often the item was answered or skipped before.")
    shown: Row = Field(description="The item or the features sent, to show to the person.")
    level: str = Field(description="Is the right level above this one?")
    prediction: str = Field(description="The level the learner predicted when it asked.")
    propensity: float = Field(description="The probability with which it asked about this level.")
    expires: float = Field(description="Until this time nobody else is asked about the item.")
    fate: Literal["open", "answered", "skipped", "retracted"] = Field(description="What happened to it.")


class AnswerIn(_In):
    higher: StrictBool | None = Field(None, description="Whether the right level is above the level in the question.")
    rating: Text | None = Field(None, description="The right level itself, instead of higher.")
    confidence: Annotated[float, Field(ge=0.5, le=1, strict=True)] | None = Field(
        None, description="How sure the person is of the answer, from 0.5 (a guess, which says nothing) to 1."
    )

    @model_validator(mode="after")
    def one_of_them(self) -> Self:
        if (self.higher is None) == (self.rating is None):
            raise ValueError("send either higher or rating")
        if self.rating is not None and self.confidence is not None:
            raise ValueError("a rating has no confidence; leave it out")
        return self


class AnswerOut(BaseModel):
    question: int
    higher: bool = Field(description="Of a rating, whether it is above the level in the question.")
    sequence: int = Field(description="The place of the answer in the project's log.")
    at: float = Field(description="When it was written.")


class OneAnswer(AnswerIn):
    question: Number


class Answers(_In):
    answers: Annotated[list[OneAnswer], _Many] = Field(min_length=1)


class OneRating(_In):
    item: Number
    level: Text = Field(description="The level that the person gives the item.")
    person: Text | None = Field(
        None, description="Who gave it; by default the person of the key. Others need the role `admin`."
    )


class Ratings(_In):
    ratings: Annotated[list[OneRating], _Many] = Field(min_length=1)
    program: StrictBool = Field(
        False, description="Whether a program gives them: what it says informs, and people decide."
    )


class Rated(BaseModel):
    count: int = Field(description="How many are new.")
    known: int = Field(description="How many were there already: the same level for the item by the same person.")
    ratings: list[int] = Field(description="The number of each rating, by which it can be taken back.")


class Unrated(BaseModel):
    rating: int
    sequence: int = Field(description="The place of this in the project's log.")


class Outcome(BaseModel):
    """The outcome of one answer among many: accepted or not."""

    question: int
    status: int = Field(description="The status that the answer would have got on its own.")
    answer: AnswerOut | None = Field(description="The response to the answer, if it was accepted.")
    problem: Problem | None = Field(description="Why it was not accepted.")


class Outcomes(BaseModel):
    outcomes: list[Outcome] = Field(description="One for each answer, in the order sent.")


class SkipOut(BaseModel):
    question: int


class Release(_In):
    questions: Annotated[list[Number], _Many] = Field(
        max_length=1000, description="Numbers of open questions; others are ignored."
    )


class Released(BaseModel):
    released: int = Field(description="How many of them were open and yours.")


class RetractOut(BaseModel):
    question: int
    sequence: int = Field(description="The place of the retraction in the project's log.")


class ToPredict(_In):
    """Items by number, or rows of features."""

    items: Annotated[list[Number], _Many] = Field([], description="Numbers of items of the pool.")
    rows: Annotated[list[SentRow], _Many] = Field(
        [], description="Items that need not be in the pool, with the columns that are learned from."
    )


class Prediction(BaseModel):
    level: str = Field(description="The predicted level.")
    probabilities: dict[str, float] | None = Field(description="Null if the learner has none.")
    score: float | None = Field(description="The score, comparable with the thresholds.")


STALE = "Whether an answer that was taken back is still included; a state without it is on its way."


class Predictions(BaseModel):
    sequence: int = Field(description="The sequence number up to which all answers were learned.")
    stale: bool = Field(description=STALE)
    thresholds: list[float] | None = Field(description="What scores are compared with, if the learner has them.")
    predictions: list[Prediction] = Field(description="In the order asked for: items, then rows.")


class Estimate(BaseModel):
    """A figure and its interval."""

    value: float
    low: float
    high: float


class Unsure(BaseModel):
    """An item, with long texts shortened, and its prediction."""

    item: int
    shown: Row
    level: str
    probabilities: dict[str, float] | None
    sureness: float = Field(
        description="The probability of the level, or without probabilities the distance to a threshold."
    )


class AuditOut(BaseModel):
    """What items drawn at random say of all, with 95% intervals."""

    checked: int = Field(description="How many items were drawn and judged by answers of their own.")
    wrong: int = Field(description="How many of them are not at their right level.")
    error: Estimate = Field(description="How many levels off all items are on average.")
    right: Estimate = Field(description="The share of items that are at their right level.")
    within_one: Estimate = Field(description="The share of items that are at most one level off.")


class Levels(BaseModel):
    """The predicted levels of the pool, as of a recent moment."""

    sequence: int = Field(description="The sequence number of the last answer learned.")
    stale: bool = Field(description=STALE)
    items: int
    counts: dict[str, int] = Field(description="The number of items at each level.")
    unsure: list[Unsure] = Field(description="The least certain items, least certain first.")
    settled: int = Field(description="How many items have a settled level or range of levels.")
    programs: float = Field(description="The share of the answers given by programs.")
    expected_error: float | None = Field(
        description="How many levels off the items are on average: what the probabilities say, corrected by the audit; "
        "null without probabilities."
    )
    audit: AuditOut | None = Field(description="What the audit says; null until an item is audited.")
    error_rate: float | None = Field(description="How often an answer is estimated to be wrong.")


class Remaining(BaseModel):
    """About how many more answers it takes to bring the expected error down to the target, or to show that it is."""

    target: float
    expected_error: float
    answers: Estimate = Field(
        description="The mean, lowest and highest of eight simulated futures, with about the answers for the check if "
        "the target is to be certified."
    )
    certified: bool | None = Field(
        description="Whether the audit shows, with 95% confidence, that the error is at most the target; null if the "
        "project's settings do not ask for that."
    )
    unchecked: float = Field(
        description="The share of the answers given by programs, while people have not audited enough to check them; "
        "the expected error holds only if these are right."
    )


class Point(Estimate):
    """The error after this many answers."""

    answers: int


class Cuts(BaseModel):
    """The thresholds after this many answers."""

    answers: int
    thresholds: list[float]


class State(BaseModel):
    items: int
    items_done: int = Field(description="Answered or skipped at least once.")
    questions: int = Field(description="How many were asked so far.")
    open: int = Field(description="Questions waiting for an answer that have not expired.")
    answers: int = Field(description="How many there are, not counting those taken back.")
    retractions: int
    sequence: int = Field(description="The sequence number of the last answer, retraction or settlement.")
    learned: int = Field(description="The sequence number up to which the learner has learned.")
    stale: bool = Field(description=STALE)
    thresholds: list[float] | None = Field(description="The scores that separate the levels, if the learner has them.")
    mae: Estimate | None = Field(
        description="The mean error in levels, estimated without labels; the 95% interval holds at all times."
    )
    curve: list[Point] = Field(description="The same over time.")
    history: list[Cuts] = Field(description="The thresholds over time; empty if the learner has none.")
    people: dict[str, int] = Field(description="How many answers each person gave, including those taken back.")
    digest: str | None = Field(description="SHA-256 of the learner's state, if requested.")


class NewKey(_In):
    role: Literal["admin", "answer", "predict"]
    name: StrictStr = Field(
        description="The person who answers with this key. 1 to 200 printable characters, with no white space around."
    )


class KeyOut(BaseModel):
    id: str = Field(description="The id to revoke it by; it gives no access.")
    role: str
    name: str
    revoked: bool


class KeyShown(BaseModel):
    id: str = Field(description="The id to revoke it by; it gives no access.")
    key: str = Field(description="The key itself, shown only once.")


class Me(BaseModel):
    name: str = Field(description="The person the key belongs to.")
    role: str
    project: str | None = Field(description="The project the key is for; null for all projects.")
    open: bool = Field(description="Whether there is no key yet, so anything is allowed from this machine.")


class Imported(BaseModel):
    count: int = Field(description="How many answers were added.")
    known: int = Field(0, description="How many others were not, because the project has them.")
    about_items: int = Field(description="How many of those added are about an item of this project and count for it.")
    sequence: int = Field(description="The sequence number of the last answer, retraction or settled level.")


class Health(BaseModel):
    status: Literal["ok"]
    version: str
