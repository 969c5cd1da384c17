"""The upper end under REPLACE_ONE when the adversary adapts: close to what is attained.

One symmetric pair that dominates both orders of every step is far from attained after
composition.  Here the worst case over adaptive adversaries obeys a recursion in the number of
steps, which is bounded by the one-step profile and one number, the Hellinger budget
(docs/proofs/adaptive.md).
"""
