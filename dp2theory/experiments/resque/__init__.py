"""Figures and tables on ReSQue (Carmon et al., 2023): rates from the theorems beside our runs.

Each module computes one of them and returns a `ResqueResult`: plain figures and a verdict that is
computed from them, gate by gate. Nothing is drawn here; `dp2theory.report` draws what
`ResqueResult.to_json` gives.
"""
