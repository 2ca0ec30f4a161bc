"""What answers say about items, if people have opinions of items, and answers are glimpses of these.

An item stands somewhere on the scale. Positions have a logistic distribution, cut into levels by the shares of these,
and each level into places of equal weight. A person's opinion is where the item stands, less the person's strictness,
plus a deviation of the person's own, which is the same whatever they are asked about the item. An answer says on which
side of a cut the opinion is, a rating in which level; either may be a slip. So all that a person says about an item is
one thing: `seen[j]` is how likely it is if the opinion is in level j, and how likely it is at a place is the mean over
the opinions that the person may have of an item there. Near a border people differ for good, far from it hardly ever.

If the spread is 0, opinions are where items stand, and only slips are left.

The answers of group g, starts[g] to starts[g + 1], are those of one person about items[g]. `said` is one of NO, YES and
RATED, and `cuts` the cut or, if rated, the level.

There are only sums, products, quotients and `elementary` here, in a fixed order: the same answers give the same bits.
"""

from typing import Any

import numpy as np

from dford.arrays import Bools, Floats, Ints
from dford.engine._compiled import aside, compiled, inlined
from dford.engine.beliefs.people import entropy, scale
from dford.engine.elementary import exp_one, log_one

NO, YES, RATED = range(3)
_LEAST = 1e-300
_NEVER = -1e6  # stands for log 0, but finite, so that two such answers speak more against a level than one
_NO_SPREAD = 1e-9


@compiled
def positions(shares: Floats, fine: int) -> tuple[Floats, Floats]:
    """Where the borders between the levels are, and the places, of which each level has so many."""
    borders, places, below = np.empty(shares.size - 1), np.empty(shares.size * fine), 0.0
    for k in range(shares.size):
        for t in range(fine):
            places[k * fine + t] = logit(below + shares[k] * (t + 0.5) / fine)
        below += shares[k]
        if k < shares.size - 1:
            borders[k] = logit(below)
    return borders, places


@inlined
def logit(share: float) -> float:
    return log_one(share / (1.0 - share))


@inlined
def chance(distance: float, spread: float) -> float:
    """How likely an opinion with this spread is to be above a cut that its mean is so far above."""
    z = distance / max(spread, _NO_SPREAD)
    odds = exp_one(-abs(z))
    return 1.0 / (1.0 + odds) if z > 0.0 else odds / (1.0 + odds)


@inlined
def glimpse(cut: int, said: int, rate: float, seen: Floats) -> None:
    """Multiply by how likely an answer is for each opinion, if it is a slip at this rate."""
    for j in range(seen.size):
        if said == RATED:
            seen[j] *= 1.0 - rate if j == cut else rate / (seen.size - 1)
        else:
            seen[j] *= 1.0 - rate if (j > cut) == (said == YES) else rate


@inlined
def see(start: int, end: int, cuts: Ints, said: Ints, rates: Floats, seen: Floats) -> None:
    """How likely these answers of a person are for each opinion."""
    for j in range(seen.size):
        seen[j] = 1.0
    for a in range(start, end):
        glimpse(cuts[a], said[a], rates[a], seen)


@inlined
def likelihood(
    seen: Floats, strictness: float, spread: float, borders: Floats, places: Floats, out: Floats
) -> None:  # fmt: skip
    """How likely what was seen of an opinion is, by place."""
    for t in range(out.size):
        out[t] = seen[0]
    for c in range(borders.size):
        more = seen[c + 1] - seen[c]
        if more != 0.0:
            for t in range(out.size):
                out[t] += more * chance(places[t] - borders[c] - strictness, spread)
    for t in range(out.size):
        out[t] = max(out[t], _LEAST)


@compiled
def evidence(
    starts: Ints, items: Ints, strictness: Floats, cuts: Ints, said: Ints, rates: Floats, spread: float,
    borders: Floats, places: Floats, n_items: int,
) -> Floats:  # fmt: skip
    """The sums of the logarithms of the likelihoods of all answers, by item and place.

    strictness[g] is that of the person of group g, rates[a] how often such an answer is a slip.
    """
    out, seen, likely = np.zeros((n_items, places.size)), np.empty(borders.size + 1), np.empty(places.size)
    for g in range(items.size):
        see(starts[g], starts[g + 1], cuts, said, rates, seen)
        likelihood(seen, strictness[g], spread, borders, places, likely)
        for t in range(likely.size):
            out[items[g], t] += log_one(likely[t]) if likely[t] > _LEAST else _NEVER
    return out


@compiled
def opinions(starts: Ints, cuts: Ints, said: Ints, rates: Floats, n_levels: int) -> Floats:
    """How likely each opinion of each group is, by what it says alone."""
    out = np.empty((starts.size - 1, n_levels))
    for g in range(len(out)):
        see(starts[g], starts[g + 1], cuts, said, rates, out[g])
        scale(out[g])
    return out


@compiled
def of_levels(evidence: Floats, n_levels: int) -> Floats:
    """The evidence by level, from that by place: an item may be anywhere within its level."""
    fine = evidence.shape[1] // n_levels
    if fine == 1:
        return evidence.copy()
    out = np.empty((len(evidence), n_levels))
    for i in range(len(evidence)):
        for k in range(n_levels):
            most = evidence[i, k * fine]
            for t in range(k * fine + 1, (k + 1) * fine):
                most = max(most, evidence[i, t])
            total = 0.0
            for t in range(k * fine, (k + 1) * fine):
                total += exp_one(evidence[i, t] - most)
            out[i, k] = most + log_one(total / fine)
    return out


@aside
def if_alike(
    starts: Ints, items: Ints, cuts: Ints, said: Ints, least: Floats, prior: Floats, rates: Floats, spreads: Floats,
    borders: Floats, places: Floats,
) -> Floats:  # fmt: skip
    """The logarithm of the likelihood of all answers if all people are alike, by rate of slips and by spread.

    Groups are in the order of their items, whose prior is by level. No answer is a slip more rarely than least[a].
    """
    fine, n = places.size // prior.shape[1], items.size
    out, seen, likely = np.zeros((rates.size, spreads.size)), np.empty(prior.shape[1]), np.empty(places.size)
    belief, own = np.empty(places.size), np.empty(least.size)
    for r in range(rates.size):
        for a in range(least.size):
            own[a] = max(rates[r], least[a])
        for s in range(spreads.size):
            g = 0
            while g < n:
                item = items[g]
                for t in range(belief.size):
                    belief[t] = prior[item, t // fine] / fine
                while g < n and items[g] == item:
                    see(starts[g], starts[g + 1], cuts, said, own, seen)
                    likelihood(seen, 0.0, spreads[s], borders, places, likely)
                    total = 0.0
                    for t in range(belief.size):
                        belief[t] *= likely[t]
                        total += belief[t]
                    for t in range(belief.size):
                        belief[t] /= total
                    out[r, s] += log_one(total)
                    g += 1
    return out


@inlined
def leave_out(prior: Floats, known: Floats, likely: Floats, out: Floats) -> None:
    """What is known about an item without what one person said about it, which is this likely, by place."""
    fine, most = known.size // prior.size, -1e300
    for t in range(known.size):
        out[t] = known[t] - log_one(likely[t])
        most = max(most, out[t])
    for t in range(known.size):
        out[t] = prior[t // fine] * exp_one(out[t] - most)
    scale(out)


@aside
def of_people(
    order: Ints, ends: Ints, people: Ints, voices: Ints, starts: Ints, items: Ints, cuts: Ints, said: Ints,
    rates: Floats, prior: Floats, known: Floats, strictness: float, spread: float, borders: Floats, places: Floats,
    try_strict: Floats, try_rates: Floats,
) -> tuple[Floats, Floats]:  # fmt: skip
    """The logarithms of the likelihoods of what each person said, by strictness, and by rate of each of their voices.

    Voice v is of person people[v], whose groups are order[ends[p]] to order[ends[p + 1]]. `known` is the evidence about
    all items; what a person says about an item, with the rates and strictness given, is left out.
    """
    by_strictness, by_rate = np.zeros((people.size, try_strict.size)), np.zeros((people.size, try_rates.size))
    seen, likely, others = np.empty(prior.shape[1]), np.empty(places.size), np.empty(places.size)
    for voice in range(people.size):
        for n in range(ends[people[voice]], ends[people[voice] + 1]):
            g = order[n]
            item, begin, end = items[g], starts[g], starts[g + 1]
            see(begin, end, cuts, said, rates, seen)
            likelihood(seen, strictness, spread, borders, places, likely)
            leave_out(prior[item], known[item], likely, others)
            for s in range(try_strict.size):
                likelihood(seen, try_strict[s], spread, borders, places, likely)
                by_strictness[voice, s] += log_one(mean(others, likely))
            for r in range(try_rates.size):
                for j in range(seen.size):
                    seen[j] = 1.0
                for a in range(begin, end):
                    glimpse(cuts[a], said[a], try_rates[r] if voices[a] == voice else rates[a], seen)
                likelihood(seen, strictness, spread, borders, places, likely)
                by_rate[voice, r] += log_one(mean(others, likely))
    return by_strictness, by_rate


@inlined
def mean(weights: Floats, values: Floats) -> float:
    total = 0.0
    for t in range(weights.size):
        total += weights[t] * values[t]
    return total


@inlined
def places_of(prior: Floats, evidence: Floats, low: int, high: int, out: Floats) -> None:
    """How likely each place of an item is."""
    fine, most = evidence.size // prior.size, -1e300
    for t in range(low * fine, (high + 1) * fine):
        most = max(most, evidence[t])
    for t in range(out.size):
        k = t // fine
        out[t] = prior[k] * exp_one(evidence[t] - most) if low <= k <= high else 0.0
    scale(out)


@inlined
def tells(belief: Floats, yes: Floats, n_levels: int) -> float:
    """How much an answer tells about the level, in nats, if a yes is this likely at each place."""
    fine, all_yes, left = belief.size // n_levels, 0.0, 0.0
    for k in range(n_levels):
        weight, own = 0.0, 0.0
        for t in range(k * fine, (k + 1) * fine):
            weight += belief[t]
            own += belief[t] * yes[t]
        all_yes += own
        if weight > _LEAST:
            left += weight * entropy(min(own / weight, 1.0))
    return max(entropy(min(all_yes, 1.0)) - left, 0.0)


@compiled
def look(
    which: Ints, prior: Floats, evidence: Floats, bounds: Any, rate: float, spread: float, borders: Floats,
    places: Floats, gaps: Floats, cuts: Any,
) -> None:  # fmt: skip
    """Find the cuts of these items about which an answer of somebody new tells most.

    gaps[i] is 1 less what it tells, in nats: 1 if it tells nothing, or 2 if nothing is left to ask.
    """
    n_levels = prior.shape[1]
    belief, yes = np.empty(places.size), np.empty((borders.size, places.size))
    for c in range(borders.size):
        for t in range(places.size):
            yes[c, t] = rate + (1.0 - 2.0 * rate) * chance(places[t] - borders[c], spread)
    for n in range(which.size):
        i = which[n]
        gaps[i], cuts[i] = 2.0, -1
        places_of(prior[i], evidence[i], bounds[i, 0], bounds[i, 1], belief)
        for c in range(bounds[i, 0], bounds[i, 1]):
            gap = 1.0 - tells(belief, yes[c], n_levels)
            if gap < gaps[i]:
                gaps[i], cuts[i] = gap, c


@compiled
def most_telling(
    prior: Floats, evidence: Floats, bounds: Any, before: Ints, starts: Ints, cuts: Ints, said: Ints, rates: Floats,
    strictness: Floats, next_rates: Floats, spread: float, borders: Floats, places: Floats, costs: Floats,
    is_answered: Bools,
) -> tuple[int, int]:  # fmt: skip
    """Which of these pairs of an item and a person to ask, and about which cut; -1 if no answer would tell anything.

    The answer is the one expected to tell most about the level for its cost. What the person said about the item
    before is group before[i], or -1 if nothing: a further answer is about the same opinion. What is answered is not
    asked.
    """
    best, pair, found = 0.0, -1, -1
    n_levels = prior.shape[1]
    belief, likely = np.empty(places.size), np.empty(places.size)
    seen, more, yes = np.empty(n_levels), np.empty(n_levels), np.empty(places.size)
    for i in range(len(prior)):
        g = before[i]
        places_of(prior[i], evidence[i], bounds[i, 0], bounds[i, 1], belief)
        for j in range(n_levels):
            seen[j] = 1.0
        if g >= 0:
            see(starts[g], starts[g + 1], cuts, said, rates, seen)
            likelihood(seen, strictness[i], spread, borders, places, likely)
        for cut in range(n_levels - 1):
            if is_answered[i, cut]:
                continue
            for j in range(n_levels):
                more[j] = seen[j]
            glimpse(cut, YES, next_rates[i], more)
            likelihood(more, strictness[i], spread, borders, places, yes)
            if g >= 0:
                for t in range(yes.size):
                    yes[t] = min(yes[t] / likely[t], 1.0)
            one = tells(belief, yes, n_levels) / costs[i]
            if one > best:
                best, pair, found = one, i, cut
    return pair, found


@compiled
def expected(values: Floats, likely: Floats) -> float:
    """The mean of these values, given the logarithms of how likely they are."""
    most, total, out = likely.max(), 0.0, 0.0
    for i in range(values.size):
        weight = exp_one(likely[i] - most)
        total += weight
        out += weight * values[i]
    return out / total


@compiled
def total(likely: Floats) -> float:
    """The logarithm of a sum of probabilities, given as logarithms."""
    most, out = likely.max(), 0.0
    for i in range(likely.size):
        out += exp_one(likely[i] - most)
    return float(most + log_one(out))


@compiled
def sum_of_totals(before: Floats, rows: Floats) -> float:
    """The sum of the totals of these rows, each with `before` added."""
    out, one = 0.0, np.empty(before.size)
    for row in rows:
        for i in range(one.size):
            one[i] = before[i] + row[i]
        out += total(one)
    return out


@compiled
def rate_and_spread(rates: Floats, spreads: Floats, likely: Floats, caution: float) -> tuple[float, float]:
    """The rate that the right one is below with this probability, and the geometric mean of the spread.

    `likely` are the logarithms of how likely each pair is.
    """
    most, total, below, at, spread = likely.max(), 0.0, 0.0, 0, 0.0
    for r in range(rates.size):
        for s in range(spreads.size):
            weight = exp_one(likely[r, s] - most)
            total += weight
            spread += weight * log_one(max(spreads[s], _NO_SPREAD))
    for r in range(rates.size):
        for s in range(spreads.size):
            below += exp_one(likely[r, s] - most)
        at = r
        if below >= caution * total:
            break
    return rates[at], exp_one(spread / total) if spread < 0.0 else 1.0 / exp_one(-spread / total)


@compiled
def sureness(
    shares: Floats, strictness: Floats, rates: Floats, spread: float, borders: Floats, places: Floats
) -> Floats:
    """How much likelier a yes is about items above a cut than about those below it, on average over cuts."""
    out, fine = np.zeros(rates.size), places.size // shares.size
    for p in range(rates.size):
        for c in range(borders.size):
            above, below, share = 0.0, 0.0, 0.0
            for t in range(places.size):
                weight = shares[t // fine] / fine
                yes = weight * chance(places[t] - borders[c] - strictness[p], spread)
                if t // fine > c:
                    above += yes
                    share += weight
                else:
                    below += yes
            out[p] += (1.0 - 2.0 * rates[p]) * (above / share - below / (1.0 - share)) / borders.size
    return out
