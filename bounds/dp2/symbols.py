"""Symbols of the DP² theorems, as glossary entries.

w, g, N, D, X, v are random processes; a, nu, omega and the fixed means are sequences.
Time t counts from 1; the phase of step t is floor((t - 1)/s), phase 0 is DP-SGD.
"""

from __future__ import annotations

from bounds.glossary import index, parameter, process, sequence

L = parameter("L", "L", "smoothness", "> 0", "smoothness constant of the loss")
R = parameter("R", "R", "diameter", "> 0", "largest side of the box")
s = parameter("s", "s", "delay", "integer >= 1", "steps of a phase", "steps")
K = parameter("K", "K", "phases", "integer >= 1", "number of phases, ceil(T/s)")
u = parameter("u", "u", "relative_delay", "in (0, 1]", "s/T")
C = parameter("C", "C", "gradient_bound", "> 0", "bound on the norm of a record's gradient")
C1 = parameter("C1", "C_1", "clip_norm", "> 0", "clip norm of the DP-SGD phases")
C2 = parameter("C2", "C_2", "preconditioned_clip_norm", "> 0", "clip norm of the adaptive phases")
nu1 = parameter("nu1", r"\nu_1", "noise_std", ">= 0", "sigma C1/b, noise std of a coordinate")
nu2 = parameter(
    "nu2", r"\nu_2", "preconditioned_noise_std", ">= 0", "sigma C2/b, in adaptive phases"
)
eps = parameter("eps", r"\epsilon", "damping", "> 0", "small constant of the preconditioner")
beta = parameter("beta", r"\beta", "ema", "in [0, 1)", "EMA constant of the preconditioner")
alpha = parameter("alpha", r"\alpha", "decay", "in (0, 1]", "decay of the step size per phase")
eta = parameter("eta", r"\eta", "learning_rate", "> 0", "step size")
rho = parameter("rho", r"\rho", "rate_ratio", "> 0", "adaptive over DP-SGD learning rate")
M = parameter("M", "M", "second_moment_cap", "> 0", "cap of the second-moment estimate v")
tau = parameter("tau", r"\tau", "averaged_noise_std", "> 0", "noise std of an average, nu1/sqrt(s)")
tau_g = parameter("tau_g", r"\tau_g", "gradient_std", ">= 0", "std of a record's gradient")
h = parameter("h", "h", "staleness_ratio", ">= 0", "h(s): gradient over averaged gradient")
c1 = parameter("c1", "c_1", "staleness_intercept", "> 0", "h(s) <= c1 + c2 s")
c2 = parameter("c2", "c_2", "staleness_slope", ">= 0", "h(s) <= c1 + c2 s")
c3 = parameter("c3", "c_3", "second_moment_floor", "> 0", "M = c3 + c4/u")
c4 = parameter("c4", "c_4", "second_moment_noise", ">= 0", "M = c3 + c4/u")
chi = parameter("chi", r"\chi", "variation_ratio", ">= 0", "up-variation of D per update over D1")
D1 = parameter("D1", "D_1", "preconditioner_norm", "> 0", "upper bound on E||D||_1")
Gam = parameter(
    "Gam", r"\Gamma", "preconditioned_gradient_moment", ">= 0", "bound on E||g||^2 in D^-1"
)

w = process("w", "w", "iterate", "iterate before step t, coordinate j")
g = process("g", "g", "gradient", "averaged clipped gradient of step t")
grad = process("grad", "G", "subgradient", "a subgradient of F at w_t: the mean of g_t")
N = process("N", "N", "noise", "Gaussian noise of step t")
D = process("D", "D", "preconditioner", "diagonal preconditioner of step t", positive=True)
gap = process("gap", r"\Delta", "suboptimality", "F(w_t) - F*", nonnegative=True)
v = process("v", "v", "second_moment", "EMA of squared averages", nonnegative=True)
X = process("X", "X", "averaged_gradient", "released average G/s of phase k, coordinate j")

wstar = sequence("wstar", "w^*", "minimiser", "a minimiser of F on the box")
Rj = sequence("Rj", "R", "side", "side of the box in coordinate j", positive=True)
a = sequence("a", "a", "step_size", "step size of step t", positive=True)
nu = sequence("nu", r"\nu", "step_noise_std", "noise std of step t", nonnegative=True)
omega = sequence("omega", r"\omega", "weight", "weight of step t", positive=True)
m = sequence("m", "m", "mean_gradient", "mean averaged gradient in coordinate j")
lower = sequence("lower", r"\ell", "lower_end", "lower end of the box in coordinate j")
mode = sequence(
    "mode",
    r"\theta",
    "mode",
    "1 in adaptive steps, 0 in the others",
    integer=True,
    nonnegative=True,
)
Dup = sequence("Dup", r"\bar D", "preconditioner_mean_bound", "upper bound on E D_j", positive=True)
S = process("S", "S", "noise_sum", "sum of the noise of a phase before its step t")
best_gap = parameter("best_gap", r"\Delta_{\min}", "best_gap", ">= 0", "smallest E F(w_t) - F*")
average = process("average", r"\bar w", "average_iterate", "weighted average of the iterates")
slope = process("slope", r"\bar G", "average_slope", "a subgradient of F at the average iterate")
Dn = sequence(
    "Dn", r"\bar d", "preconditioner_norms", "upper bound on E||D_t||_1 of step t", positive=True
)
Gamt = sequence(
    "Gamt",
    r"\bar\Gamma",
    "gradient_moments",
    "upper bound on E||g_t||^2 in D_t^-1 of step t",
    nonnegative=True,
)
Q = process("Q", "Q", "relative_metric", "metric relative to that of DP-SGD", positive=True)
kappa = sequence(
    "spread", r"\kappa", "metric_spread", "bound on E|Q - 1| in coordinate j", nonnegative=True
)
kap = parameter("kap", r"\kappa", "gradient_term", ">= 0", "gradient term of the recalled form")
k0 = parameter(
    "k0", "k_0", "maximising_update", "integer >= 1", "update before the step that attains h(s)"
)
i0 = parameter(
    "i0", "i_0", "maximising_step", "integer >= 1", "step of its phase that attains h(s)", "steps"
)
a1 = parameter("a1", "a_1", "sgd_step_size", "> 0", "largest step size of the DP-SGD phases")
a2 = parameter("a2", "a_2", "adaptive_step_size", "> 0", "largest step size of the adaptive phases")
clip = sequence(
    "clip", "c", "step_clip_norm", "bound on the norm of g_t/D_t in step t", nonnegative=True
)
p0 = parameter("p0", "p_0", "variation_floor", "> 0", "variation (p0 + p1/s) of the metric")
p1 = parameter("p1", "p_1", "variation_per_update", "> 0", "variation (p0 + p1/s) of the metric")
q0 = parameter("q0", "q_0", "moment_floor", "> 0", "gradient and noise (q0 + q1 s)")
q1 = parameter("q1", "q_1", "moment_slope", "> 0", "gradient and noise (q0 + q1 s)")
xbar = process("xbar", r"\bar x", "raw_average", "mean raw gradient of SGD phase k, coordinate j")
zbar = process("zbar", r"\bar z", "phase_noise", "standard normal noise of an SGD phase's average")
ynorm = process(
    "ynorm", "y", "noise_norm", "EMA norm of the averaged noise after k updates", nonnegative=True
)
margin = parameter("margin", r"\theta", "decay_margin", ">= 0", "stds by which 1/alpha clears v")
ell = index("l", "a third coordinate", "third_coordinate")
Nc = process("Nc", "N'", "redrawn_noise", "noise of step i in coordinate j, drawn a second time")
wc = process(
    "wc",
    "w'",
    "redrawn_iterate",
    "coordinate l, k steps after step i, of the run whose noise of step i was drawn a second time "
    "in coordinate j",
)
gc = process("gc", "g'", "redrawn_gradient", "the averaged gradient of that run")
mbar = process("mbar", r"\bar m", "averaged_raw_gradient", "mean of the gradients of phase k")
nbar = process("nbar", r"\bar n", "averaged_noise", "mean of the noise of phase k")
lip = parameter("lip", r"\lambda", "noise_norm_std", ">= 0", "Lipschitz constant of the noise norm")
Tad = parameter(
    "Tad", r"T_{\mathrm{ad}}", "adaptive_step_count", "integer >= 0", "adaptive steps among T"
)
gap1 = parameter("gap1", r"\Delta_1", "initial_gap", ">= 0", "bound on F(w_1) - inf F")
alpha0 = parameter("alpha0", r"\alpha_0", "rate_constant", "> 0", "eta = alpha0/sqrt(d)")
c_s = parameter("c_s", "c_s", "noise_constant", "> 0", "sigma^2 = c_s b^2 T log(1/delta)/(n eps)^2")
c_T = parameter("c_T", "c_T", "steps_constant", "> 0", "steps over n eps_dp/log(1/delta)")
V0 = parameter("V0", "V", "variation_cost", "> 0", "what the changes of the metric cost")
G0 = parameter("G0", r"\mathcal{G}", "moment_cost", "> 0", "what gradients and noise cost")
Tm = parameter(
    "Tm", "T'", "moving_steps", "integer >= 1", "steps that move the iterate (freeze mode)", "steps"
)
renew = sequence(
    "renew",
    r"\rho",
    "renewal",
    "1 when the preconditioner is renewed after step t, else 0",
    integer=True,
    nonnegative=True,
)
upd = sequence(
    "upd",
    "r",
    "updates",
    "updates of the preconditioner before step t",
    integer=True,
    nonnegative=True,
)
Gc = parameter(
    "Gc",
    r"\Gamma_c",
    "collecting_gradient_moment",
    ">= 0",
    "bound on E||g||^2 in D^-1 in collection steps",
)
mk = sequence("mk", "m", "phase_mean", "mean averaged gradient of phase k in coordinate j")
U = parameter("U", "U", "update_count", "integer >= 1", "updates of the preconditioner")
