"""Symbols of the ReSQue theorems, as glossary entries."""

from __future__ import annotations

from bounds.glossary import parameter

L_lip = parameter("L_lip", "L", "lipschitz", "> 0", "Lipschitz constant of the loss")
R_dom = parameter("R_dom", "R", "radius", "> 0", "radius of the domain")
rho_s = parameter("rho_s", r"\rho", "smoothing_std", "> 0", "std of the Gaussian smoothing")
r = parameter("r", "r", "ball_radius", "> 0", "radius of a ball")
