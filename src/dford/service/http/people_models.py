"""What goes in and out over HTTP about people, and where they differ."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dford.service.http.models import STALE, Estimate, Row, Text


class Figures(BaseModel):
    """What the answers say of one person. Intervals are of 95%."""

    name: str
    answers: int = Field(description="About items, without those taken back.")
    seconds_per_answer: float | None = Field(
        description="The median time between two of the latest hundred; null until there are two."
    )
    latest: float | None = Field(description="When the latest was given.")
    judged: int = Field(description="How many answers error rate and strictness rest on.")
    error_rate: Estimate = Field(description="How often an answer is wrong.")
    strictness: Estimate = Field(description="How many levels the person's thresholds lie above everybody's.")
    agreement: Estimate | None = Field(
        description="How often the person answers as the others' answers say, where these leave little doubt; null if "
        "they never do."
    )
    gold: Estimate | None = Field(
        description="How often the person is right where the level was known before the question; null if it never was."
    )
    flag: Literal["wrong", "differs"] | None = Field(
        description="wrong: over a fifth of the answers is, as the whole interval says. differs: the same of agreement "
        "below three quarters, while too few answers are judged to say who is wrong."
    )


class People(BaseModel):
    sequence: int = Field(description="Of the last answer that counts.")
    stale: bool = Field(description=STALE)
    people: list[Figures] = Field(description="Those with most answers first.")


class Mine(BaseModel):
    figures: Figures | None


class Settle(BaseModel):
    """A level, or the lowest and the highest."""

    model_config = ConfigDict(extra="forbid")

    level: Text | None = Field(None, description="The level of the item.")
    lowest: Text | None = Field(None, description="The lowest level that it can be.")
    highest: Text | None = Field(None, description="The highest level that it can be.")

    @model_validator(mode="after")
    def one_or_both(self) -> Self:
        ends = [self.lowest is None, self.highest is None]
        if ends != [self.level is not None] * 2:
            raise ValueError("send a level, or lowest and highest")
        return self

    def bounds(self) -> tuple[str, str]:
        lowest, highest = self.level or self.lowest, self.level or self.highest
        assert lowest is not None
        assert highest is not None
        return lowest, highest


class Settled(BaseModel):
    """What somebody knows of an item."""

    item: int
    lowest: str
    highest: str
    sequence: int = Field(description="The place of this in the project's log.")
    person: str = Field(description="Who settled it.")
    at: float = Field(description="When.")


class ShownSettled(Settled):
    """The same, with the item, its long texts cut."""

    shown: Row


class GivenAnswer(BaseModel):
    """An answer about an item."""

    question: int
    person: str
    level: str = Field(description="Is the right level above this one?")
    higher: bool
    at: float


class ContestedItem(BaseModel):
    """An item, its long texts cut, where it stands, and its answers in order."""

    item: int
    shown: Row
    level: str
    probabilities: dict[str, float]
    answers: list[GivenAnswer]


class Contested(BaseModel):
    sequence: int = Field(description="Of the last answer that counts.")
    stale: bool = Field(description=STALE)
    contested: list[ContestedItem] = Field(description="The most contested first, at most ten.")
    settled: list[ShownSettled] = Field(description="What was settled last, the latest first, at most ten.")
