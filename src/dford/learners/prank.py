"""PRank: ordinal regression from exact labels."""

from dford.arrays import Ints
from dford.learners._paper import PaperLearner
from dford.policies import Greedy, Policy


class PRank(PaperLearner):
    """Online ordinal regression from exact labels (the paper's full-information baseline).

    Each round moves every threshold on the wrong side of the score, as in the paper's regularised form of Crammer and
    Singer's algorithm.

    Parameters
    ----------
    kernel, degree, gamma, coef0, window, clip, always_rescale, regularization, ordered, levels, checkpoints
        As in `DFORD`.
    random_state : ignored
        PRank draws nothing; the parameter is here so that learners can be swapped.

    References
    ----------
    Crammer and Singer: Pranking with Ranking. NIPS 2001.

    Examples
    --------
    >>> from dford import PRank
    >>> model = PRank(levels=["poor", "fair", "good"])
    >>> model.fit([[0.0], [1.0], [2.0], [0.1], [1.1], [2.1]], ["poor", "fair", "good"] * 2).rounds_
    6
    """

    def _policy(self) -> Policy:
        return Greedy()

    def _directional(self, y: Ints) -> bool:
        return False
