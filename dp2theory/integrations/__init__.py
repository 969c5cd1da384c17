"""Our accountants inside other packages; each module needs the package that it is named after.

* `opacus`: a mechanism for the accountant registry of Opacus;
* `jax_privacy`: accountants for the training analysis and calibration of jax_privacy.

Neither package is needed by anything else here. `make integrations` tests both against the real
packages in an environment of their own.
"""
