"""Bad input: one sentence that says what came, what was expected, what to do; the model is as it was."""

import datetime as dt
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

from dford import DFORD, PRIL, Boundary, Columns, FeedbackLog, NewtonLogit, Pool, PRank, Triangular
from dford.learners._forms.form import Form
from dford.scale import Scale

# low < mid < top happens to be the right order
pytestmark = pytest.mark.filterwarnings("ignore:the levels were sorted by name, low < mid < top")
LEARNERS = [DFORD, PRank, PRIL]
KERNELS: list[dict[str, Any]] = [{}, {"kernel": "poly", "window": 5}, {"kernel": "rbf"}, {"window": 5}]
X = np.random.default_rng(0).normal(size=(30, 2))
y = np.tile(["low", "mid", "top"], 10)


def snapshot(model: Any) -> dict[str, Any]:
    """All that a model holds, in a comparable form."""
    attributes = dict(vars(model))
    for name, value in attributes.items():
        if isinstance(value, Form):
            value = [array.tobytes() for array in value.arrays().values()]
        elif isinstance(value, Scale):
            value = value.names
        attributes[name] = repr(value)
    return attributes


def refuses(model: Any, call: Any, message: str, error: type[Exception] = ValueError) -> None:
    before = snapshot(model)
    with pytest.raises(error, match=message) as caught:
        call()
    assert "\n" not in str(caught.value).strip()
    assert snapshot(model) == before


def row(value: float) -> Any:
    bad = X.copy()
    bad[17, 1] = value
    return bad


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize(("value", "message"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_rows_that_are_not_finite_are_refused(learner: Any, kernel: dict[str, Any], value: float, message: str) -> None:
    model = learner(levels=["low", "mid", "top"], **kernel).fit(X, y)
    refuses(model, lambda: model.partial_fit(row(value), y), message)
    refuses(model, lambda: model.fit(row(value), y), message)
    refuses(model, lambda: model.predict(row(value)), rf"{message} in row 17, feature 1 \(counted from 0\)")
    if hasattr(model, "ask"):
        refuses(model, lambda: model.ask(row(value)[17]), rf"{message} in row 0, feature 1 \(counted from 0\)")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("size", [1e300, 1e160, 1e-160, 1e-300, 5e-324])
def test_huge_and_tiny_rows_are_refused_or_survived(learner: Any, kernel: dict[str, Any], size: float) -> None:
    for clip in (None, 1.0):
        model = learner(levels=["low", "mid", "top"], clip=clip, **kernel).fit(X, y)
        for scaled in (X * size, row(size)):
            if size > 1:
                refuses(model, partial(model.partial_fit, scaled, y), "too large")
            else:
                model.partial_fit(scaled, y)
            assert np.isfinite(model._form.state).all()
            assert set(model.predict(X)) <= {"low", "mid", "top"}


@pytest.mark.parametrize("kind", [object, str, list])
def test_texts_in_an_array_are_refused_in_favour_of_a_table(kind: Any) -> None:
    words = [["a", 1.5], ["b", 2.5], ["c", 3.5]]
    X: Any = words if kind is list else np.array(words, dtype=kind)
    for learn in (
        lambda: NewtonLogit(random_state=0).fit(X, [1, 2, 3]),
        lambda: NewtonLogit(random_state=0).fit([[1, 2], [3, 4], [5, 6]], [1, 2, 3]).predict(X),
        lambda: Pool(X, levels=[1, 2, 3], random_state=0),
    ):
        with pytest.raises(
            ValueError, match="an array must hold numbers only, but has 'a'; for texts, categories and dates"
        ):
            learn()


@pytest.mark.parametrize("gap", [pd.NA, pd.NaT, "NA", "", "null"])
def test_a_gap_in_an_array_that_is_no_nan_is_refused_in_one_sentence(gap: Any) -> None:
    X = np.array([[gap, 1.0], [2.0, 3.0], [None, np.nan]], dtype=object)
    for learn in (lambda: NewtonLogit().fit(X, [1, 2, 3]), lambda: Pool(X, levels=[1, 2, 3], random_state=0)):
        with pytest.raises(ValueError, match="an array must hold numbers only, but has .*; pass NaN for a missing one"):
            learn()


def test_levels_that_no_file_can_hold_are_refused() -> None:
    with pytest.raises(ValueError, match="levels must be text that can be written to a file; got"):
        Pool(np.empty((3, 0)), ["\ud800", "b"])


def test_the_row_that_is_too_large_is_named() -> None:
    with pytest.raises(ValueError, match=r"row 17 of X is too large: k\(x, x\) is 1e\+200"):
        DFORD().fit(row(1e100), y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_shapes_that_do_not_fit_are_refused(learner: Any) -> None:
    model = learner(levels=["low", "mid", "top"]).fit(X, y)
    refuses(model, lambda: model.partial_fit(X[:, :1], y), "1 features, but")
    refuses(model, lambda: model.predict(X[:, :1]), "1 features, but")
    refuses(model, lambda: model.partial_fit(X[:0], y[:0]), "0 sample")
    refuses(model, lambda: model.fit(X[:0], y[:0]), "0 sample")
    refuses(model, lambda: model.partial_fit(X, y[:5]), "inconsistent numbers of samples")
    refuses(model, lambda: model.fit(X, None), "requires y")
    if hasattr(model, "ask"):
        refuses(model, lambda: model.ask([1.0]), "1 features, but this model learned with 2")
        refuses(model, lambda: model.ask([[1.0, 2.0], [3.0, 4.0]]), r"one row of numbers, of shape \(n_features,\)")
        refuses(model, lambda: model.ask([]), "one row of numbers")
        refuses(model, lambda: model.ask(["a", "b"]), "one row of numbers; got")
        refuses(model, lambda: model.ask(sparse.csr_matrix(X)), "ask takes one row; got 30")


@pytest.mark.parametrize("learner", LEARNERS)
def test_levels_that_do_not_fit_are_refused(learner: Any) -> None:
    model = learner().fit(X, y)
    refuses(
        model, lambda: model.partial_fit(X[:1], ["lof"]), r"'lof' is not a level of this scale; expected one of \['low'"
    )
    refuses(model, lambda: model.partial_fit(X, y, classes=["top", "mid", "low"]), "differ from the levels in use")
    refuses(model, lambda: model.fit(X, ["low"] * 30), "at least two levels")
    for levels, labels, sentence in (
        (["a"], y, "at least two levels"),
        (["a", "b", "a"], y, "must be distinct; 'a' appears twice"),
        ([1, 2, 3], np.tile([1, 2, 4], 10), "4 is not a level"),
        ([1, 2, 3], np.tile([1, 2, 2.5], 10), "2.5 is not a level"),
        ([1.0, np.nan], y, "NaN is not a level"),
        (None, np.linspace(0, 1, 30), "continuous"),
    ):
        unfitted = learner(levels=levels)
        refuses(unfitted, partial(unfitted.fit, X, labels), sentence)


def test_intervals_that_do_not_fit_are_refused() -> None:
    model = PRIL(levels=["low", "mid", "top"]).fit(X, y)
    refuses(model, lambda: model.partial_fit(X[:1], [["top", "low"]]), r"row 0 has the interval \['top', 'low'\].*swap")
    refuses(model, lambda: model.partial_fit(X[:1], [["low", "high"]]), "'high' is not a level")
    refuses(model, lambda: model.partial_fit(X[:1], [["low", "mid", "top"]]), "1d array")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("exploration", -0.1),
        ("exploration", 1.1),
        ("exploration", "much"),
        ("window", 0),
        ("window", 1.5),
        ("clip", 0.0),
        ("clip", -1.0),
        ("regularization", 0.0),
        ("kernel", "polynomial"),
        ("degree", 0),
        ("gamma", 0.0),
        ("coef0", -1.0),
        ("policy", "triangular"),
        ("ordered", "yes"),
        ("random_state", -1),
        ("levels", 5),
    ],
)
def test_parameters_out_of_range_are_refused(name: str, value: Any) -> None:
    model = DFORD(**{name: value})
    refuses(model, lambda: model.fit(X, y), f"The '{name}' parameter of DFORD must be .* Got")
    refuses(model, lambda: model.partial_fit(X, y), f"The '{name}' parameter")
    if name != "levels":
        live = DFORD(**{"levels": ["low", "mid", "top"], name: value})
        refuses(live, lambda: live.ask(X[0]), f"The '{name}' parameter")


def test_checkpoints_and_policies_out_of_range_are_refused() -> None:
    wrong: list[Any] = [[3, 2], [1.5], [[1]]]
    for checkpoints in wrong:
        refuses(DFORD(), partial(DFORD(checkpoints=checkpoints).fit, X, y), "increasing whole numbers")
    for policy in (Triangular, Boundary):
        with pytest.raises(ValueError, match="exploration must be between 0 and 1; got 1.5"):
            policy(1.5)


def test_sparse_rows_are_refused_where_they_cannot_be_kept() -> None:
    rows = sparse.csr_matrix(X)
    refuses(DFORD(), lambda: DFORD(window=5).fit(rows, y), "pass dense rows or window=None", TypeError)
    refuses(DFORD(), lambda: DFORD(kernel="rbf").fit(rows, y), "dense data is required", TypeError)
    full, poly, dense = NewtonLogit(covariance="full"), NewtonLogit(features="poly"), NewtonLogit().fit(X, y)
    refuses(full, lambda: full.fit(rows, y), 'pass dense rows or covariance="diagonal"', TypeError)
    refuses(poly, lambda: poly.fit(rows, y), "dense data is required", TypeError)
    for call in (lambda: dense.partial_fit(rows, y), lambda: dense.ask(rows[0]), lambda: dense.predict_proba(rows)):
        refuses(dense, call, r"started with dense rows.*pass X.toarray\(\)", TypeError)


def test_a_kernel_that_fails_half_way_leaves_the_model_as_it_was() -> None:
    calls = 0

    def kernel(A: Any, B: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 100:
            raise RuntimeError("out of order")
        return A @ B.T

    model = DFORD(kernel=kernel, random_state=0).fit(X[:10], y[:10])
    calls = 0
    refuses(model, lambda: model.partial_fit(np.tile(X, (5, 1)), np.tile(y, 5)), "out of order", RuntimeError)
    calls = 0
    question = model.ask(X[0])
    calls = 1000
    refuses(model, lambda: model.tell(question, True), "out of order", RuntimeError)
    calls = 0
    assert model.tell(question, True).rounds_ == 11


def test_a_kernel_of_the_wrong_shape_or_with_nan_is_refused() -> None:
    scalar: Any = lambda A, B: 1.0  # noqa: E731
    with pytest.raises(ValueError, match=r"array of shape \(1, 1\) for these rows; got \(1,\)"):
        DFORD(kernel=scalar).fit(X, y)
    with pytest.raises(ValueError, match="NaN or infinity"):
        DFORD(kernel=lambda A, B: A @ B.T + (np.nan if (A != B).any() else 0)).fit(X, y)


@pytest.mark.parametrize("learner", LEARNERS)
def test_levels_keep_the_users_order(learner: Any) -> None:
    order = ["poor", "fair", "good", "great"]  # not alphabetical, and "great" is never seen
    labels = np.tile(["good", "poor", "fair"], 10)
    categorical = pd.Categorical(labels, categories=order, ordered=True)
    models = [
        learner(levels=order, random_state=0).fit(X, labels),
        learner(random_state=0).partial_fit(X, labels, classes=order),
        learner(random_state=0).fit(X, pd.Series(categorical)),
        learner(random_state=0).fit(X, categorical),
        learner(random_state=0).fit(X, pl.Series(labels, dtype=pl.Enum(order))),
        learner(random_state=0, levels=[1, 2, 3, 4]).fit(X, 1 + np.array([order.index(label) for label in labels])),
    ]
    for model in models:
        assert len(model.classes_) == 4
        assert (model.thresholds_ == models[0].thresholds_).all()
    assert all(model.classes_.tolist() == order for model in models[:5])


GUESSED = "the levels were sorted by name, fair < good < poor; for another order pass levels="


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_guessed_order_is_reported(learner: Any) -> None:
    labels = np.tile(["good", "poor", "fair"], 10)
    unordered: list[Any] = [
        labels,
        labels.tolist(),
        labels.astype(object),
        pd.Series(labels),
        pd.Series(pd.Categorical(labels, categories=["poor", "fair", "good"])),
        pl.Series(labels),
        pl.Series(labels, dtype=pl.Categorical),
    ]
    for y in unordered:
        with pytest.warns(UserWarning, match=GUESSED) as told:
            model = learner().fit(X, y)
        assert len(told) == 1
        assert told[0].filename == __file__, "the warning points at the caller"
        model.partial_fit(X, y)  # an order in use is no longer a guess
        assert model.classes_.tolist() == ["fair", "good", "poor"]
    for numbers in ([1, 2, 3], [1.0, 2.0, 10.0], [False, True, True], pd.Categorical([10, 9, 9])):
        learner().fit(X, np.tile(numbers, 10))  # numbers have an order of their own


def test_levels_without_an_order_are_refused() -> None:
    names = ["poor", "fair", "good"]
    wrong: list[Any] = [set(names), frozenset(names), dict.fromkeys(names), "abc", b"abc"]
    for levels in wrong:
        kind = type(levels).__name__
        with pytest.raises(TypeError, match=f"levels must be a list or an array, lowest first, not a {kind}"):
            Scale(levels)
        with pytest.raises(TypeError, match=f"not a {kind}"):
            FeedbackLog(levels)
    orderless: list[Any] = [set(names), dict.fromkeys(names)]
    for levels in orderless:
        model = DFORD(levels=levels)
        refuses(model, partial(model.fit, X, np.tile(names, 10)), "lowest first", TypeError)
        refuses(model, partial(model.ask, X[0]), "lowest first", TypeError)
        new = DFORD()
        refuses(new, partial(new.partial_fit, X, np.tile(names, 10), classes=levels), "lowest first", TypeError)
    for ordered in (tuple(names), np.array(names), pd.Index(names), pl.Series(names), dict.fromkeys(names).keys()):
        assert Scale(ordered).names == names


@pytest.mark.parametrize("levels", [[1, 2, 3], [10, -5, 0], ["b", "c", "a"], [0.5, 1.0, 1.5], [False, True]])
def test_levels_may_be_any_names_or_numbers(levels: list[Any]) -> None:
    labels = [levels[i % len(levels)] for i in range(30)]
    model = DFORD(levels=levels, random_state=0).fit(X, labels)
    assert set(model.predict(X).tolist()) <= set(levels)
    assert model.classes_.tolist() == levels
    assert model.ask(X[0]).level in levels


@pytest.mark.parametrize(
    "levels", [[0.5, 2**53, 2**53 + 1], [-1, 2**63, 2**63 + 1], [2**64, 2**64 + 1], [1, "one"], [0.5, 2], [True, "yes"]]
)
def test_levels_that_an_array_of_one_type_would_mix_up_keep_their_names(levels: list[Any]) -> None:
    labels = [levels[i % len(levels)] for i in range(30)]
    model = DFORD(levels=levels, random_state=0).fit(X, labels)
    assert model._scale.encode(labels).tolist() == [1 + i % len(levels) for i in range(30)]
    assert model.classes_.tolist() == levels
    assert set(model.predict(X).tolist()) <= set(levels)
    places = model._scale.encode(model.predict(X))
    assert model.score(X, labels) == -np.abs(places - model._scale.encode(labels)).mean()


def test_labels_that_are_objects_are_read_as_what_they_are_or_refused() -> None:
    for numbers in ([3, 1, 2], [2**70, 1, 5], [3.0, 1, 2], [True, False, True]):
        objects = np.tile(np.array(numbers, dtype=object), 10)
        assert DFORD().fit(X, objects).classes_.tolist() == sorted(set(numbers))
    for missing in (["a", None, "b"], [1, None, 2]):
        y = np.tile(np.array(missing, dtype=object), 10)
        refuses(DFORD(), partial(DFORD().fit, X, y), "None is not a level; remove it from levels, or the rows")
        refuses(DFORD(), partial(DFORD(levels=missing).fit, X, y), "None is not a level")
    mixed = np.tile(np.array([1, "a", 2], dtype=object), 10)
    sentence = "labels of several types, such as 1 and 'a', cannot be sorted; pass levels="
    refuses(DFORD(), partial(DFORD().fit, X, mixed), sentence)
    assert DFORD(levels=[1, "a", 2]).fit(X, mixed).classes_.tolist() == [1, "a", 2]


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.uint64])
def test_whole_numbers_are_the_same_levels_in_every_type(kind: type) -> None:
    labels: Any = np.array([3, 1, 120], kind)
    for scale in (Scale.infer(labels, None), Scale([1, 3, 120]), Scale([-5, 1, 3, 120])):
        assert [scale.names[place - 1] for place in scale.encode(labels)] == [3, 1, 120]
        assert scale.encode(labels[:0]).tolist() == []
    assert [type(name) for name in Scale.infer(labels, None).names] == [int] * 3
    assert Scale.infer(np.array([-100, 100], np.int8), None).names == [-100, 100]
    limits = np.iinfo(kind)
    for ends in ([limits.min, limits.min + 3], [limits.max - 3, limits.max]):
        assert Scale(ends[::-1]).encode(np.array(ends, kind)).tolist() == [2, 1]


def test_a_pool_refuses_what_it_could_not_learn_from_or_save_before_anyone_answers() -> None:
    rows = np.random.default_rng(0).normal(size=(20, 2))
    rows[3, 0] = np.nan
    pool, huge = Pool(rows, [1, 2, 3]), rows.copy()
    huge[17, 1] = np.finfo(float).max
    for add, given in ((partial(Pool, levels=[1, 2, 3]), huge), (pool.add, huge), (pool.add, 1e60 * rows[:1])):
        with pytest.raises(ValueError, match="too large"):
            add(given)
    assert len(pool) == 20
    for levels in ([dt.date(2024, 1, 1), dt.date(2024, 1, 2)], [1.0, np.inf], [b"a", b"b"]):
        with pytest.raises(ValueError, match="must be text, numbers or booleans"):
            Pool(rows, levels)
    for control in "\0", "\x1b":
        with pytest.raises(ValueError, match="control character"):
            Pool(rows, ["a", f"a{control}"])
    for other in "a\u00e9 b ", "a\u00e9  b", "ae\u0301 b", "a\u00e9 b\u200b":
        with pytest.raises(ValueError, match="levels must look different"):
            Pool(rows, ["a\u00e9 b", "c", other])


@pytest.mark.parametrize(
    "levels",
    [[1, "1", 2], ["1", 2, 1.0], ["1.0", 2, 1.0], [0.1, "0.1"], ["True", True], [2, " 2"], [3, "3\u200b"]],
    ids=str,
)
def test_names_of_levels_that_look_the_same_are_refused_whatever_their_types(levels: list[Any]) -> None:
    for make in (Scale, FeedbackLog, partial(Pool, np.zeros((2, 1)))):
        with pytest.raises(ValueError, match=r"^levels must look different; .+ and .+ do not; rename one of them$"):
            make(levels)
    assert Scale([1, "01", "one", 1.5, "1,5"]).names == [1, "01", "one", 1.5, "1,5"]


LATE = pl.LazyFrame({"a": [1.5, 2.5, 3.5], "b": [4.0, 5.0, 6.0]})
NO_TABLES: list[tuple[Any, str]] = [
    *((given, "X must be a table, with a row for each item: a frame, an array or a list; got")
      for given in (1500, 1.5, np.float64(3), None, b"abc", {1, 2}, object(), dt.datetime(2024, 5, 31))),
    ("wines.csv", r"X must be a table, not a file; read it first, for example pandas.read_csv\('wines.csv'\)"),
    (LATE, r"a LazyFrame has no rows yet; pass what its .collect\(\) returns"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "sentence"), NO_TABLES)
def test_what_is_no_table_is_refused_in_one_sentence(given: Any, sentence: str) -> None:
    numbers = NewtonLogit(levels=[1, 2, 3], random_state=0).fit([[1.0, 2.0], [2.0, 3.0], [3.0, 1.0]], [1, 2, 3])
    rows = [{"a": 1.5, "b": 2.0}, {"a": 2.5, "b": 1.0}, {"a": 3.5, "b": 3.0}]
    table = NewtonLogit(levels=[1, 2, 3], random_state=0).fit(rows, [1, 2, 3])
    pool = Pool([[1.0, 2.0]], levels=[1, 2, 3])
    calls: list[Any] = [lambda: Pool(given, levels=[1, 2, 3]), lambda: pool.add(given), lambda: Columns().fit(given)]
    for model in (numbers, table):
        told = {"level": [1], "prediction": [1], "propensity": [0.5], "higher": [True]}
        calls += [
            partial(model.fit, given, [1, 2, 3]),
            partial(model.partial_fit, given, [1, 2, 3]),
            partial(model.predict, given),
            partial(model.learn_many, given, **told),
        ]
    for refused in calls:
        with pytest.raises(TypeError, match=sentence) as caught:
            refused()
        assert "\n" not in str(caught.value)


def test_rows_without_columns_do_not_vanish() -> None:
    with pytest.raises(ValueError, match="have no columns"):
        Pool([{}, {}], levels=[1, 2, 3])


def test_items_without_columns_may_be_in_a_frame_as_in_an_array() -> None:
    frame, array = pd.DataFrame(index=range(5)), np.empty((5, 0))
    pools = [Pool(rows, levels=[1, 2, 3], random_state=0).add(rows) for rows in (frame, array)]
    for _ in range(5):
        one, other = (pool.ask() for pool in pools)
        assert one == other
        for pool in pools:
            pool.tell(one, True)
    assert len(pools[0]) == 10
    with pytest.raises(ValueError, match=r"0 feature\(s\) \(shape=\(5, 0\)\) while a minimum of 1 is required"):
        NewtonLogit().fit(frame, [1, 2, 3, 1, 2])


def test_rows_of_which_some_are_dicts_are_refused_in_one_sentence() -> None:
    for rows, strange in (([{"a": 1}, [1]], r"\[1\]"), ([[1], {"a": 1}], r"\[1\]"), ([{"a": 1}, None], "None")):
        for read in (lambda X: Pool(X, levels=[1, 2]), Columns().fit, lambda X: NewtonLogit().fit(X, [1, 2])):
            with pytest.raises(
                ValueError, match=f"^some rows are dicts and some are not, such as {strange}; pass a dict"
            ):
                read(rows)


def test_a_sparse_matrix_that_is_a_mapping_is_no_dict_of_columns() -> None:
    rows = sparse.dok_matrix(np.array([[0.0, 1.0], [2.0, 0.0], [3.0, 1.0]]))
    assert len(Pool(rows, levels=[1, 2]).add(rows)) == 6
    model = NewtonLogit(levels=[1, 2], covariance="diagonal", random_state=0).fit(rows, [1, 2, 2])
    assert (model.predict(rows) == model.predict(rows.tocsr())).all()


def test_a_pool_needs_a_row_for_each_item() -> None:
    for flat in ([], [1, 2], [None], ["a"], np.arange(3.0), pd.Series([1, 2]), pl.Series([1, 2])):
        with pytest.raises(ValueError, match=r"^X must have a row for each item and a column for each feature;.*$"):
            Pool(flat, levels=[1, 2])
    pool = Pool([[1.0, 2.0]], levels=[1, 2])
    for dicts in ([{"a": 1.0, "b": 2.0}], {"a": [1.0], "b": [2.0]}):
        with pytest.raises(ValueError, match="X must be an array or a frame of numbers, as the first items were; got"):
            pool.add(dicts)
    with pytest.raises(ValueError, match="all rows must have one number for each feature; got"):
        pool.add([[1.0, 2.0], [3.0]])
    with pytest.raises(ValueError, match="an array must hold numbers only, but has '2024-05-31'; for texts"):
        pool.add([[1.0, dt.date(2024, 5, 31)]])


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, list])
def test_complex_numbers_are_refused_in_one_sentence(kind: Any) -> None:
    rows = kind(np.array([[1 + 2j, 1], [2, 2]]))
    for call in (
        lambda: Pool(rows, levels=[1, 2]),
        lambda: NewtonLogit(levels=[1, 2], covariance="diagonal").fit(rows, [1, 2]),
    ):
        with pytest.raises(ValueError, match=r"^Complex data not supported: an array must hold real numbers.*$"):
            call()


@pytest.mark.parametrize("levels", [[1, 2, pd.NA], pd.array([1, 2, None]), pd.array(["a", None, "b"]), [pd.NA, pd.NA]])
def test_a_level_that_is_missing_is_refused(levels: Any) -> None:
    with pytest.raises(ValueError, match="NA is not a level; remove it from levels, or the rows that have it"):
        Scale(levels)
    labels = list(levels)
    with pytest.raises(ValueError, match="NA is not a level"):
        PRank().fit(X[: len(labels)], labels)


def test_the_time_of_an_answer_is_in_seconds_or_a_datetime_with_a_zone() -> None:
    question = DFORD(levels=[1, 2, 3]).ask([1.0, 2.0])
    moment = dt.datetime(2024, 5, 31, 12, 30, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    log = FeedbackLog([1, 2, 3])
    for time in (moment, pd.Timestamp(moment), moment.timestamp()):
        log.append(question, True, time=time)
    assert set(log.time) == {1717151400.0}
    wrong: list[Any] = [
        dt.datetime(2024, 5, 31), dt.date(2024, 5, 31), "2024-05-31", np.datetime64("2024-05-31"), pd.NaT, pd.NA, True,
        np.nan, -1, 1j, [1], dt.datetime(1960, 1, 1, tzinfo=dt.UTC),
    ]  # fmt: skip
    for time in wrong:
        with pytest.raises(
            ValueError, match="a time must be in seconds since 1970, or a datetime with a time zone; got"
        ):
            log.append(question, True, time=time)
    strange: list[Any] = [pd.NA, [1], 1j, "3", True, dt.date(2024, 5, 31)]
    for item in strange:
        with pytest.raises(ValueError, match="an item must be a whole number, 0 or more; got"):
            log.append(question, True, item=item)
    assert len(log) == 3
