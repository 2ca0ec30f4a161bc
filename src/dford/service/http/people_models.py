"""What goes out over HTTP about people."""

from typing import Literal

from pydantic import BaseModel, Field

from dford.service.http.models import Estimate


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
        description="How often the person is right about items whose level is settled; null if never asked."
    )
    flag: Literal["wrong", "differs"] | None = Field(
        description="wrong: over a fifth of the answers is, as the whole interval says. differs: the same of agreement "
        "below three quarters, while too few answers are judged to say who is wrong."
    )


class People(BaseModel):
    sequence: int = Field(description="Of the last answer that counts.")
    stale: bool = Field(
        description="Whether the state still holds an answer that was taken back: one without it is on its way."
    )
    people: list[Figures] = Field(description="Those with most answers first.")
