"""The command line: one file per command, loaded only when that command runs.

A command module holds one function of its own name, with typer options, that computes, and then
hands the result to `dp2theory.cli._output.emit`. It raises; `dp2theory.cli._exit.guard` turns what
it raised into one line on stderr and the exit code. Heavy imports stand inside the function.
"""
