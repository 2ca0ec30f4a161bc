"""A project's description: its scale, and the learner that begins with nothing."""

from typing import Any, NamedTuple, cast

from dford.learners import LEARNERS, LiveLearner
from dford.policies import Boundary, Greedy, Nearby, Policy, Triangular, Uniform
from dford.scale import Scale
from dford.service.columns import ColumnOf
from dford.service.refusal import Refusal

LIVE = sorted(name for name, learner in LEARNERS.items() if issubclass(learner, LiveLearner))
POLICIES = {policy.__name__: policy for policy in (Boundary, Greedy, Nearby, Triangular, Uniform)}
# what one project may cost in memory and time
_LARGEST = {"degree": 4, "n_components": 1000, "max_iter": 1000}
_LARGEST_OTHER = 10_000
_OWN = {"levels", "random_state", "checkpoints", "feedback", "categorical_features"}  # not for a project to choose


class Project(NamedTuple):
    """What is known of a project besides its rounds. `columns` is empty until they are set."""

    id: int
    name: str
    levels: list[str]
    learner: str
    parameters: dict[str, Any]
    seed: int
    columns: list[ColumnOf]

    def new_learner(self) -> LiveLearner:
        """The learner before any answer."""
        return make_learner(self.learner, self.parameters, self.levels, self.seed)


def make_learner(name: str, parameters: dict[str, Any], levels: list[str], seed: int) -> LiveLearner:
    """The learner described, or a refusal that says what is wrong with it."""
    if name not in LIVE:
        raise Refusal(422, "bad-learner", f"{name!r} is not one of {', '.join(LIVE)}", "learner")
    try:
        scale, chosen = Scale(levels), dict(parameters)
        if chosen.get("policy") is not None:
            chosen["policy"] = _policy(chosen["policy"])
            chosen["policy"].table(len(scale))
        learner = cast(LiveLearner, LEARNERS[name](levels=scale.names, random_state=seed))
        allowed = set(learner.get_params(deep=False)) - _OWN
        for key, value in chosen.items():
            if key not in allowed:
                raise ValueError(f"{name} has no parameter {key!r} that a project can set")
            largest = _LARGEST.get(key, _LARGEST_OTHER)
            if isinstance(value, (int, float)) and not abs(value) <= largest:
                raise ValueError(f"{key} must be at most {largest}; got {value!r}")
        learner.set_params(**chosen)
        learner._validate_params()
    except (TypeError, ValueError) as error:
        raise Refusal(422, "bad-learner", " ".join(str(error).split()), "parameters") from None
    return learner


def _policy(description: Any) -> Policy:
    name = description.get("policy") if isinstance(description, dict) else None
    if not isinstance(name, str) or name not in POLICIES:
        raise ValueError(f'a policy is {{"policy": name, ...}} with a name of {", ".join(sorted(POLICIES))}')
    return POLICIES[name](**{key: value for key, value in description.items() if key != "policy"})
