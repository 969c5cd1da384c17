"""Many runs: what they are run on, the runs as plain data, where they run, where they are kept.

Modules are imported one by one (``dp2theory.experiments.tasks.run_tasks`` is the usual entry).
"""
