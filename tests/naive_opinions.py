"""What answers say of opinions, slowly, from the definition: sums over all opinions that a person may have."""

from collections.abc import Sequence
from math import exp, log, prod

Floats = Sequence[float]
Answer = tuple[int, int, float]  # a cut or a level, what was said of it, and how often such an answer is a slip
NO, YES, RATED = 0, 1, 2


def positions(shares: Floats, fine: int) -> tuple[list[float], list[float]]:
    """Borders and places, at quantiles of a logistic distribution."""

    def quantile(share: float) -> float:
        return log(share / (1 - share))

    below = [sum(shares[:k]) for k in range(len(shares))]
    places = [quantile(below[k] + shares[k] * (t + 0.5) / fine) for k in range(len(shares)) for t in range(fine)]
    return [quantile(share) for share in below[1:]], places


def opinions(place: float, strictness: float, spread: float, borders: Floats) -> list[float]:
    """How likely each level is as an opinion of an item at this place."""
    above = [1.0, *(1 / (1 + exp(-(place - border - strictness) / spread)) for border in borders), 0.0]
    return [above[k] - above[k + 1] for k in range(len(above) - 1)]


def chance(answer: Answer, opinion: int, n_levels: int) -> float:
    about, said, rate = answer
    if said == RATED:
        return 1 - rate if opinion == about else rate / (n_levels - 1)
    return 1 - rate if (opinion > about) == (said == YES) else rate


def likelihood(
    answers: Sequence[Answer], place: float, strictness: float, spread: float, borders: Floats
) -> float:  # fmt: skip
    """How likely it is that a person gives all these answers about an item here."""
    own = opinions(place, strictness, spread, borders)
    return sum(p * prod(chance(answer, j, len(own)) for answer in answers) for j, p in enumerate(own))


def belief(prior: Floats, evidence: Floats, low: int, high: int) -> list[float]:
    """How likely each place is."""
    fine = len(evidence) // len(prior)
    weights = [prior[t // fine] * exp(e) if low <= t // fine <= high else 0.0 for t, e in enumerate(evidence)]
    return [weight / sum(weights) for weight in weights]


def information(belief: Floats, yes: Floats, n_levels: int) -> float:
    """What an answer tells about the level, in nats, if a yes is this likely at each place."""
    fine, told = len(belief) // n_levels, 0.0
    for given in (yes, [1 - p for p in yes]):
        total = sum(b * p for b, p in zip(belief, given, strict=True))
        for k in range(n_levels):
            own = sum(belief[k * fine : (k + 1) * fine])
            both = sum(belief[t] * given[t] for t in range(k * fine, (k + 1) * fine))
            told += both * log(both / own / total) if both > 0 else 0.0
    return told
