"""Texts in any language as sparse rows; this needs no fitting, so nothing is stored."""

import unicodedata
import zlib
from collections.abc import Sequence

import numpy as np
from scipy import sparse

from dford.engine import ngrams

PLACES = ngrams.PLACES


def text_rows(texts: Sequence[str], column: str) -> sparse.csr_matrix:
    """A row for each text. The same run of characters has different places in different columns."""
    words = [" ".join(["", *unicodedata.normalize("NFC", text).casefold().split(), ""]) for text in texts]
    ends = np.zeros(len(texts) + 1, np.int64)
    np.cumsum([len(one) for one in words], out=ends[1:])
    codes = np.frombuffer("".join(words).encode("utf-32-le", "surrogatepass"), np.uint32)
    most = codes.size * (ngrams.LONGEST - ngrams.SHORTEST + 1)
    indptr, indices, data = np.zeros(len(ends), np.int32), np.empty(most, np.int32), np.empty(most)
    used = ngrams.count_ngrams(codes, ends, _salt(column), indptr, indices, data)
    return sparse.csr_matrix((data[:used], indices[:used], indptr), shape=(len(texts), PLACES))


def token_rows(tokens: Sequence[str], column: str) -> sparse.csr_matrix:
    """A row for each token, with a 1 in one place: for categories too many to have a column each."""
    places = [_salt(f"{column}={token}") % PLACES if token else -1 for token in tokens]
    given = np.array([place >= 0 for place in places], dtype=np.bool_)
    indptr = np.concatenate([[0], np.cumsum(given)]).astype(np.int32)
    indices = np.array([place for place in places if place >= 0], dtype=np.int32)
    return sparse.csr_matrix((np.ones(len(indices)), indices, indptr), shape=(len(tokens), PLACES))


def _salt(name: str) -> int:
    """A number for a name, the same in every process."""
    return zlib.crc32(name.encode("utf-8", "surrogatepass"))
