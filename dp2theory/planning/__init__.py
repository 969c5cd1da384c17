"""Planning: from a problem and a privacy budget to a noise multiplier, a delay and advice.

* `budget`: sizes, steps and (epsilon, delta), and the exact noise multiplier they allow;
* `blocks`: streaming block means of the released noisy gradients, and their signal-to-noise;
* `gate`: the delay rule and the advice read off the signal-to-noise curve;
* `pilot`: the first quarter of the run, made with DP-SGD while the blocks are watched;
* `state`: the file that keeps a pilot so that the run can go on from it;
* `plan`: all of it in one call;
* `trial`: seeded runs of optimizers side by side, from step 0 or from a pilot.
"""
