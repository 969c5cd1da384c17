"""What cutting a Poisson batch to a largest size does to one record.

Both bounds hold whether ``dataset_size`` counts the records of the larger or of the smaller data
set: the other records are n - 1 or n, and n covers both readings.
"""

from __future__ import annotations

from scipy import special

from accountants.sampling import TruncatedPoisson

_ROUND_UP = 1 + 1e-9  # the incomplete beta function is good to better than this


def cut_probability(sampling: TruncatedPoisson) -> float:
    """Upper bound on the chance that the other records alone fill a truncated batch.

    Their batch has the same law under both neighbours, and while it leaves room the release is
    Poisson-sampled, whatever the record in question does.
    """
    n, q, cap = sampling.dataset_size, sampling.sampling_probability, sampling.truncated_batch_size
    if cap > n or q == 0:
        return 0.0
    value = float(special.betainc(float(cap), n - cap + 1.0, q))
    return min(1.0, value * _ROUND_UP + 5e-324)


def kept_probability(sampling: TruncatedPoisson) -> float:
    """Lower bound on the chance that a record is in a truncated batch.

    q E[min(1, cap/(J+1))] with J ~ Bin(n, q) others; the sum has the closed form
    q P(J < cap) + cap/(n+1) P(Bin(n+1, q) > cap).
    """
    n, q, cap = sampling.dataset_size, sampling.sampling_probability, sampling.truncated_batch_size
    if cap > n:
        return q
    value = q * float(special.betaincc(cap, n + 1 - cap, q))
    value += cap / (n + 1) * float(special.betainc(cap + 1, n + 1 - cap, q))
    return min(q, value * (1 - 1e-9))
