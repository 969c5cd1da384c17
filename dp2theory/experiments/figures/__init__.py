"""The figures and the table of the DP² paper (Li et al., ICLR 2023), on any problem.

Each module computes one of them and returns a `FigureResult`: plain figures with intervals, and a
verdict that is computed from them and says whether the paper's claim holds on this problem.
Nothing is drawn here; `dp2theory.report` draws what `FigureResult.to_json` gives.
"""
