"""`dford predict`: the levels of new rows, from a model that knows its columns."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from dford.cli import _tables
from dford.cli._shared import check_ending, keep_whole, writing_to
from dford.files import atomic_write, quoting

if TYPE_CHECKING:
    import typer

    from dford.learners import OrdinalLearner


def add(program: "typer.Typer") -> None:
    """Add the command to the program."""
    import typer

    @program.command()
    def predict(
        model: Annotated[Path, typer.Argument(metavar="MODEL", help="A file written by dford run --save.")],
        table: Annotated[Path, typer.Argument(metavar="FILE", help=_tables.FILE)],
        out: Annotated[
            Path, typer.Option(dir_okay=False, metavar="FILE", help="Write the levels here: .csv or .parquet.")
        ],
        target: Annotated[
            str | None, typer.Option(metavar="NAME", help="A column to ignore; models of dford run know theirs.")
        ] = None,
        learner: Annotated[str | None, typer.Option(metavar="NAME", help=_tables.MODEL)] = None,
    ) -> None:
        """Predict the level of every row of a table.

        For example: dford predict wines.dford new.csv --out levels.csv

        The file must have the columns that the model learned from, with vectors beside it if the model had them. The
        output has all of its columns, the level, and, if the learner has them, the probability of each level.
        """
        check_ending(out, "levels", option="--out")
        keep_whole({"the model": model, **_tables.files_of(table)}, {"--out": out})
        rows = _predict(_tables.load_model(model, learner), model, table, target, typed=out.suffix == ".parquet")
        with writing_to(out.parent):
            out.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(out) as draft:
                if out.suffix == ".csv":
                    _write_csv(rows, draft)
                else:
                    rows.to_parquet(draft, index=False)
        print(f"{len(rows):,} levels: {out}")


def _write_csv(rows: Any, path: Path) -> None:
    """Write them, with vectors as texts that are read as such again."""
    import pandas as pd

    texts = [name for name in rows if not pd.api.types.is_numeric_dtype(rows[name])]
    for name in texts:
        rows[name] = rows[name].map(_as_json)
    rows.to_csv(path, index=False, quoting=quoting([*rows, *(str(text) for name in texts for text in rows[name])]))


def _as_json(value: Any) -> Any:
    """The text of a list, however deep; anything else as it is."""
    return json.dumps(value.tolist(), default=_plain) if hasattr(value, "tolist") and value.ndim else value


def _plain(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else str(value)


def _predict(model: "OrdinalLearner", path: Path, file: Path, target: str | None, typed: bool) -> Any:
    """The rows of the file, with their levels and probabilities.

    If `typed`, numbers in a CSV file are no longer texts; what has a type already keeps it.
    """
    import pandas as pd

    from dford.columns import ColumnError
    from dford.columns.vectors import VECTORS, vectors_file
    from dford.datasets.user_table import read_table_file

    columns = getattr(model, "columns_", None)
    if columns is None:
        raise ValueError(f"{path.name} does not know its columns; make one that does with dford run FILE --save MODEL")
    table = read_table_file(file)
    names = [name for name in table if name != target]
    try:
        X = columns.transform({name: list(table[name]) for name in names})
    except ColumnError as error:
        hint = f"; vectors go into {vectors_file(file).name} beside it" if error.column == VECTORS else ""
        raise ValueError(f"{file.name} does not fit {path.name}: {error}{hint}") from None
    added = {"level": model.predict(X)}
    if hasattr(model, "predict_proba"):
        chances = model.predict_proba(X)
        added |= {f"P({level})": chances[:, place] for place, level in enumerate(model.classes_)}
    if taken := [name for name in added if name in table]:
        raise ValueError(f"{file.name} already has a column {taken[0]!r}, which the result needs; rename it")
    rows = pd.DataFrame(table)
    if vectors_file(file).is_file():
        rows = rows.drop(columns=VECTORS)  # not a column of the file itself
    for column in columns.columns_:
        if typed and isinstance(table, dict) and column.kind == "number":
            rows[column.name] = _numbers(rows[column.name])
    return rows.assign(**added)


def _numbers(texts: Any) -> Any:
    """Texts as numbers, in whatever digits they are written; whole ones stay exact, if need be as texts."""
    import pandas as pd

    from dford.columns.values import is_missing, number

    there = [None if is_missing(text) else text for text in texts]
    try:
        whole = [None if text is None else int(text) for text in there]
    except ValueError:
        return [None if text is None else number(text) for text in there]
    known = [one for one in whole if one is not None] or [0]
    least, most = min(known), max(known)
    if least < -(2**63) or most >= (2**63 if least < 0 else 2**64):
        return there
    found: Any = pd.array(whole, "Int64" if most < 2**63 else "UInt64")
    return found if None in whole else found.astype(found.dtype.numpy_dtype)
