"""Exact rank tests of paired log ratios, for many regions at once. Pure: Arrow in, Arrow out.

The signed-rank test is conditional on the absolute differences. Without ties and zeros scipy's exact distribution is
used. With them scipy has none (its permutation method is random, and slow): the distribution of the sum of mid-ranks
over all sign flips is computed here, exactly up to rounding; zeros are dropped, as Wilcoxon did. SQL calls these with a
few thousand rows at a time. Unknown stays unknown: a missing element makes the whole answer NULL.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa  # DuckDB evaluates the annotations of what it calls

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    Numbers = npt.NDArray[np.float64]

Column = pa.Array | pa.ChunkedArray

_TIE = 1e-12
"""Differences whose absolute values agree within this share are ties: the same quantised time, rounded twice."""
_CELLS = 4_000_000
"""Numbers in one block of Walsh averages."""
EXACT_ROUNDS = 1000
"""More rounds than any campaign has; the exact distribution of so many takes seconds."""
_POWER = 0.8

PAIRED = (
    "p_pass",
    "p_fail",
    "p_improved",
    "p_equivalent",
    "hodges_lehmann",
    "interval_low",
    "interval_high",
    "median",
    "median_low",
    "median_high",
    "sigma",
    "detectable",
)


def paired_test(log_ratios: Column, log_margin: Column, alpha: Column) -> pa.Array:
    """Test lists of paired log ratios against a margin.

    Returns a struct: n, zeros (ratios at the margin), has_ties, and the numbers of PAIRED, ratios as logs.
    p_pass: one-sided exact p-value of "at or above the margin" against below it; p_fail: of "at or below" against
    above; p_improved: as p_pass at ratio 1; p_equivalent: the larger of the one-sided tests at 1/margin and margin.
    hodges_lehmann: median of the Walsh averages; interval_low, interval_high: its exact interval at 1 - 2 alpha, NULL
    where so few values have none; median, median_low, median_high: with a distribution-free interval; sigma: 1.4826
    times the median absolute deviation; detectable: effect beyond the margin that is found with 80 % power, by the
    normal approximation (efficiency 3/pi). Lists of more than EXACT_ROUNDS are tested by the normal approximation and
    have no Walsh averages. NULL: a list, an element, the margin or alpha is missing or not finite.
    """
    import numpy as np

    rows = len(log_ratios)
    found = _columns(rows)
    margins, alphas = _numbers(log_margin), _numbers(alpha)
    for lists, chosen in _by_length(log_ratios, np.isfinite(margins) & (alphas > 0) & (alphas < 1)):
        n = lists.shape[1]
        found["n"][chosen] = n
        if n == 0:
            continue
        _test(lists, margins[chosen], found, chosen)
        for level in np.unique(alphas[chosen]):
            at = alphas[chosen] == level
            _estimate(lists[at], float(level), found, chosen[at])
    return _struct(found)


def median_interval(values: Column, confidence: Column) -> pa.Array:
    """Distribution-free interval of a median from order statistics: struct low, high; NULL where n is too small."""
    import numpy as np

    levels = _numbers(confidence)
    low, high = np.full(len(values), np.nan), np.full(len(values), np.nan)
    for lists, chosen in _by_length(values, (levels > 0) & (levels < 1)):
        for level in np.unique(levels[chosen]):
            at = levels[chosen] == level
            if (place := _median_place(lists.shape[1], float(level))) is not None:
                ordered = np.sort(lists[at], axis=1)
                low[chosen[at]], high[chosen[at]] = ordered[:, place], ordered[:, -1 - place]
    ends = [pa.array(part, mask=np.isnan(part)) for part in (low, high)]
    return pa.StructArray.from_arrays(ends, ["low", "high"])


_DOUBLE = "DOUBLE"
FUNCTIONS: dict[str, tuple[Callable[..., pa.Array], list[str], str]] = {
    "paired_test": (
        paired_test,
        ["DOUBLE[]", _DOUBLE, _DOUBLE],
        "STRUCT(n INTEGER, zeros INTEGER, has_ties BOOLEAN, " + ", ".join(f"{name} DOUBLE" for name in PAIRED) + ")",
    ),
    "median_interval": (median_interval, ["DOUBLE[]", _DOUBLE], "STRUCT(low DOUBLE, high DOUBLE)"),
}
"""Name in SQL: the function, the types that it takes, and the type that it gives."""


def _columns(rows: int) -> dict[str, Any]:
    import numpy as np

    return {
        "n": np.full(rows, -1, np.int32),
        "zeros": np.zeros(rows, np.int32),
        "has_ties": np.zeros(rows, bool),
        **{name: np.full(rows, np.nan) for name in PAIRED},
    }


def _struct(found: dict[str, Any]) -> pa.Array:
    import numpy as np

    is_null = found["n"] < 0
    arrays = [
        pa.array(values, mask=np.isnan(values) if values.dtype == np.float64 else None) for values in found.values()
    ]
    return pa.StructArray.from_arrays(arrays, list(found), mask=pa.array(is_null))


def _numbers(column: Column) -> Numbers:
    """A column as numbers; NULL is NaN."""
    import numpy as np

    return np.asarray(column.to_numpy(zero_copy_only=False), np.float64)


def _by_length(lists: Column, is_wanted: Any) -> Iterator[tuple[Numbers, Any]]:
    """Lists of one length as matrices, with their places; lists with an unknown element are left out."""
    import numpy as np

    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    flat = _numbers(lists.flatten())
    lengths = np.asarray(lists.value_lengths().fill_null(-1).to_numpy(zero_copy_only=False), np.int64)
    ends = np.cumsum(np.maximum(lengths, 0))
    for length in np.unique(lengths[is_wanted & (lengths >= 0)]):
        places = np.flatnonzero(is_wanted & (lengths == length))
        block = max(1, _CELLS // max(1, int(length) ** 2))
        for start in range(0, len(places), block):
            chosen = places[start : start + block]
            matrix = flat[(ends[chosen] - length)[:, None] + np.arange(length)]
            whole = np.isfinite(matrix).all(axis=1)
            yield matrix[whole], chosen[whole]


def _test(lists: Numbers, margins: Numbers, found: dict[str, Any], chosen: Any) -> None:
    """The four tests of one block of lists of one length."""
    import numpy as np

    size = np.maximum(np.abs(lists), np.abs(margins)[:, None])
    at_margin = _differences(lists, margins, size)
    p_pass, p_fail = _signed_rank(at_margin)
    found["zeros"][chosen] = (at_margin == 0).sum(axis=1)
    ordered = np.sort(np.abs(at_margin), axis=1)
    found["has_ties"][chosen] = ((np.diff(ordered, axis=1) == 0) & (ordered[:, 1:] > 0)).any(axis=1)
    found["p_pass"][chosen], found["p_fail"][chosen] = p_pass, p_fail
    found["p_improved"][chosen] = _signed_rank(_differences(lists, np.zeros_like(margins), size))[0]
    above_low = _signed_rank(_differences(lists, -margins, size))[1]
    found["p_equivalent"][chosen] = np.maximum(above_low, p_pass)


def _differences(lists: Numbers, margins: Numbers, size: Numbers) -> Numbers:
    """Differences from the margin; those that agree but for rounding are made equal, those at the margin zero."""
    import numpy as np

    found = lists - margins[:, None]
    found[np.abs(found) <= _TIE * size] = 0.0
    order = np.argsort(np.abs(found), axis=1)
    ordered = np.take_along_axis(np.abs(found), order, axis=1)
    steps = np.diff(ordered, axis=1) > _TIE * np.take_along_axis(size, order, axis=1)[:, 1:]
    first = np.where(np.pad(steps, ((0, 0), (1, 0)), constant_values=True), ordered, -1.0)
    levelled = np.maximum.accumulate(first, axis=1)
    np.put_along_axis(ordered, order, levelled, axis=1)
    return np.asarray(np.copysign(ordered, found) * (found != 0), np.float64)


def _signed_rank(differences: Numbers) -> tuple[Numbers, Numbers]:
    """One-sided p-values of each row: against "below zero", and against "above zero"."""
    import numpy as np
    from scipy import stats

    ordered = np.sort(np.abs(differences), axis=1)
    is_plain = (ordered[:, 0] > 0) & (np.diff(ordered, axis=1) > 0).all(axis=1)
    is_many = np.full(len(differences), differences.shape[1] > EXACT_ROUNDS)
    less, greater = np.ones(len(differences)), np.ones(len(differences))
    for method, rows in (("exact", is_plain & ~is_many), ("asymptotic", is_many & (ordered[:, -1] > 0))):
        for into, side in ((less, "less"), (greater, "greater")):
            if rows.any():
                tested = differences[rows]
                into[rows] = stats.wilcoxon(tested, alternative=side, method=method, correction=True, axis=1).pvalue
    tied = ~is_plain & ~is_many
    if tied.any():
        less[tied], greater[tied] = _conditional(differences[tied])
    return less, greater


def _conditional(differences: Numbers) -> tuple[Numbers, Numbers]:
    """The exact distribution of the sum of positive mid-ranks, over all flips of the signs of what is not zero."""
    import numpy as np
    from scipy import stats

    # Twice the mid-ranks are whole numbers. Zeros rank lowest; without them the others rank that many lower.
    zeros = (differences == 0).sum(axis=1, keepdims=True)
    ranks = 2 * (stats.rankdata(np.abs(differences), axis=1) - zeros)
    doubled = np.where(differences == 0, 0, ranks).round().astype(np.int64)
    observed = np.where(differences > 0, doubled, 0).sum(axis=1)
    patterns, which = np.unique(np.sort(doubled, axis=1), axis=0, return_inverse=True)
    less, greater = np.ones(len(differences)), np.ones(len(differences))
    at_most = [np.cumsum(_chances(pattern[pattern > 0].tolist())) for pattern in patterns]
    for row, (pattern, found) in enumerate(zip(which.ravel(), observed, strict=True)):
        tails = at_most[pattern]
        less[row] = tails[found]
        greater[row] = 1 - tails[found - 1] if found else 1.0
    return np.minimum(less, 1.0), np.maximum(greater, 0.0)


def _chances(ranks: Sequence[int]) -> Numbers:
    """Chance of every sum of ranks from 0 on, when each counts with chance one half."""
    import numpy as np

    chances = np.zeros(sum(ranks) + 1)
    chances[0] = 1.0
    top = 0
    for rank in ranks:
        chances[rank : rank + top + 1] += chances[: top + 1].copy()
        chances[: top + rank + 1] *= 0.5
        top += rank
    return chances


def _estimate(lists: Numbers, alpha: float, found: dict[str, Any], chosen: Any) -> None:
    """Estimates with their intervals at 1 - 2 alpha."""
    import numpy as np
    from scipy import stats

    n = lists.shape[1]
    if n <= EXACT_ROUNDS:
        first, second = np.triu_indices(n)
        walsh = np.sort((lists[:, first] + lists[:, second]) / 2, axis=1)
        found["hodges_lehmann"][chosen] = np.median(walsh, axis=1)
        if (place := _walsh_place(n, alpha)) is not None:
            found["interval_low"][chosen], found["interval_high"][chosen] = walsh[:, place], walsh[:, -1 - place]
    ordered = np.sort(lists, axis=1)
    found["median"][chosen] = np.median(ordered, axis=1)
    if (place := _median_place(n, 1 - 2 * alpha)) is not None:
        found["median_low"][chosen], found["median_high"][chosen] = ordered[:, place], ordered[:, -1 - place]
    sigma = 1.4826 * np.median(np.abs(lists - found["median"][chosen][:, None]), axis=1)
    found["sigma"][chosen] = sigma
    quantiles = float(stats.norm.ppf(1 - alpha) + stats.norm.ppf(_POWER))
    found["detectable"][chosen] = quantiles * sigma * np.sqrt(np.pi / 3 / n)


@cache
def _walsh_place(n: int, alpha: float) -> int | None:
    """Walsh averages to leave out at each end: the largest count whose tail chance is at most alpha."""
    import numpy as np

    inside = np.flatnonzero(np.cumsum(_chances(range(1, n + 1))) <= alpha)
    return int(inside[-1]) if len(inside) else None


@cache
def _median_place(n: int, confidence: float) -> int | None:
    """Order statistics to leave out at each end of a median's interval."""
    from scipy import stats

    place = -1
    while n and place + 1 < n / 2 and 2 * stats.binom.cdf(place + 1, n, 0.5) <= 1 - confidence + _TIE:
        place += 1
    return place if place >= 0 else None
