"""What goes in and out over HTTP about people and contested items."""

from typing import Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from dford.service.http.models import STALE, Estimate, Row, Text


class Figures(BaseModel):
    """What the answers say about one person. Intervals are 95% intervals."""

    name: str
    answers: int = Field(description="How many answers about items, not counting those taken back.")
    seconds_per_answer: float | None = Field(
        description="The median time between consecutive answers among the latest hundred; null until there are two."
    )
    latest: float | None = Field(description="When the latest answer was given.")
    judged: int = Field(description="How many answers the error rate and strictness are based on.")
    error_rate: Estimate = Field(description="How often an answer is wrong.")
    strictness: Estimate = Field(description="How many levels the person's thresholds are above everybody's.")
    agreement: Estimate | None = Field(
        description="How often the person agrees with the others where their answers leave little doubt; null if they "
        "never do. Items are asked about again where something does not fit, so even someone who is right in 97% of "
        "all answers may agree in only two thirds of these."
    )
    gold: Estimate | None = Field(
        description="How often the person is right about items whose level was already known; null if there were none."
    )
    flag: Literal["wrong"] | None = Field(
        description="wrong: more than a fifth of the answers are wrong, by the whole interval. Agreement flags nobody, "
        "because careful people disagree with careless ones, too."
    )


class People(BaseModel):
    sequence: int = Field(description="The sequence number of the last answer included.")
    stale: bool = Field(description=STALE)
    people: list[Figures] = Field(description="The people with the most answers first.")


class Mine(BaseModel):
    sequence: int = Field(description="The sequence number of the last answer included.")
    stale: bool = Field(description=STALE)
    figures: Figures | None


class Settle(BaseModel):
    """A level, or the lowest and the highest."""

    model_config = ConfigDict(extra="forbid")

    level: Text | None = Field(None, description="The level of the item.")
    lowest: Text | None = Field(None, description="The lowest level it can have.")
    highest: Text | None = Field(None, description="The highest level it can have.")

    @model_validator(mode="after")
    def one_or_both(self) -> Self:
        ends = [self.lowest is None, self.highest is None]
        if ends != [self.level is not None] * 2:
            raise ValueError("send either level, or both lowest and highest")
        return self

    def bounds(self) -> tuple[str, str]:
        lowest, highest = self.level or self.lowest, self.level or self.highest
        assert lowest is not None
        assert highest is not None
        return lowest, highest


class Settled(BaseModel):
    """A level, or a range of levels, that was settled."""

    item: int
    lowest: str
    highest: str
    sequence: int = Field(description="Its place in the project's log.")
    person: str = Field(description="Who settled it.")
    at: float = Field(description="When.")


class ShownSettled(Settled):
    """The same, with the item, long texts shortened."""

    shown: Row


class GivenAnswer(BaseModel):
    """An answer about an item."""

    question: int | None = Field(description="Null if it is a rating that nobody asked for.")
    person: str
    level: str = Field(description="Is the right level above this one?")
    higher: bool
    rating: str | None = Field(description="The level that the person gave instead of yes or no.")
    at: float


class ContestedItem(BaseModel):
    """An item, with long texts shortened, its prediction, and its answers in order."""

    item: int
    shown: Row
    level: str
    probabilities: dict[str, float]
    answers: list[GivenAnswer]


class Contested(BaseModel):
    sequence: int = Field(description="The sequence number of the last answer included.")
    stale: bool = Field(description=STALE)
    contested: list[ContestedItem] = Field(description="The most contested first, at most ten.")
    settled: list[ShownSettled] = Field(description="The most recently settled, latest first, at most ten.")
