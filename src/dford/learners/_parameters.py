"""Constraints on parameters: everything dford uses of scikit-learn beyond its documented interface."""

import sklearn

try:
    from sklearn.utils._param_validation import Interval, StrOptions, validate_parameter_constraints
except ImportError as error:
    raise ImportError(
        f"dford does not work with scikit-learn {sklearn.__version__} ({error}); it is tested with 1.9: "
        "pip install 'scikit-learn<1.10'"
    ) from error

__all__ = ["Interval", "StrOptions", "validate_parameter_constraints"]
