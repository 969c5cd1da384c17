"""Planning: from a problem and a privacy budget to a noise multiplier, a delay and advice.

* `budget`: sizes, steps and (epsilon, delta), and the exact noise multiplier they allow;
* `blocks`: streaming block means of the released noisy gradients, and their signal-to-noise;
* `gate`: the delay rule and the advice read off the signal-to-noise curve;
* `certified`: what the theorems say of the delay, a priori and estimated from the pilot;
* `pilot`: the first quarter of the run, made with DP-SGD while the blocks are watched;
* `state`: the file that keeps a pilot so that the run can go on from it;
* `plan`: all of it in one call;
* `methods`: optimizers by name, with documented defaults;
* `trial`: one seeded run, from step 0 or going on from a pilot (the online switch);
* `comparison`: methods side by side on the same seeds, and what their ledgers cost;
* `tuned`: grid search for such runs;
* `paired`, `intervals`: Student intervals of means, paired differences and ratios;
* `snapshot`: the releases of the geometry snapshot, and what they cost.
"""
