"""Symbols of the ReSQue theorems, as glossary entries."""

from __future__ import annotations

from bounds.glossary import parameter, process, sequence

L_lip = parameter("L_lip", "L", "lipschitz", "> 0", "Lipschitz constant of the loss")
R_dom = parameter("R_dom", "R", "radius", "> 0", "radius of the domain")
rho_s = parameter("rho_s", r"\rho", "smoothing_std", "> 0", "std of the Gaussian smoothing")
r = parameter("r", "r", "ball_radius", "> 0", "radius of a ball")

# --- ball acceleration, parallel and private rates
eps_opt = parameter(
    "eps_opt", r"\varepsilon_{\mathrm{opt}}", "accuracy", "> 0", "suboptimality that is asked for"
)
c_acc = parameter(
    "c_acc", "c", "acceptance", "in (0, 1]", "a step is accepted when it moves by c r at least"
)
kappa = parameter(
    "kappa", r"\kappa", "call_factor", ">= 0", "oracle calls over (radius/ball_radius)**(2/3)"
)
calls = parameter("calls", "m", "oracle_calls", "integer >= 1", "number of oracle calls", "calls")
rounds_factor = parameter(
    "rounds_factor", "c_a", "rounds_factor", "> 0", "rounds of an accelerated solver: its factor"
)
lam_reg = parameter("lam_reg", r"\lambda", "regularisation", "> 0", "strong convexity of F_lambda")
theta = parameter(
    "theta", r"\theta", "dimension_exponent", ">= 0", "log(dimension)/log(dataset_size)"
)
K_ball = parameter("K_ball", "K", "private_calls", "> 0", "oracle calls of the private method")
N_ball = parameter(
    "N_ball", "N", "private_batch", "> 0", "gradients of one private oracle call", "records"
)

x = sequence("x", "x", "ball_iterate", "iterate before step t, coordinate j")
v_ball = sequence("v_ball", "v", "mirror_point", "second iterate before step t, coordinate j")
y = sequence("y", "y", "ball_centre", "centre of the ball of step t, coordinate j")
z = sequence("z", "z", "ball_answer", "answer of the ball oracle in step t, coordinate j")
x_opt = sequence("x_opt", "x^*", "ball_minimiser", "a minimiser, coordinate j")
A = sequence("A", "A", "ball_weight", "sum of the step sizes up to step t", positive=True)
A_old = sequence(
    "A_old", "A^-", "ball_weight_before", "sum of the step sizes before step t", nonnegative=True
)
a_ball = sequence("a_ball", "a", "ball_step_size", "step size of step t", positive=True)
lam = sequence("lam", r"\lambda", "multiplier", "multiplier of the ball of step t", positive=True)
guess = sequence("guess", r"\lambda'", "multiplier_guess", "guess of lam(t)", positive=True)
part = sequence("part", r"\gamma", "step_fraction", "part of step t that is taken", positive=True)
gap_ball = sequence(
    "gap_ball", r"\Delta", "ball_suboptimality", "f(x_t) - f*, x_t before step t", nonnegative=True
)
gap_z = sequence(
    "gap_z", r"\Delta^z", "answer_suboptimality", "f(z_t) - f*, z_t of step t", nonnegative=True
)
move = sequence("move", "m^2", "squared_move", "||x_{t+1} - y_t||^2", nonnegative=True)
dist = sequence("dist", "D", "squared_distance", "||v_t - x*||^2", nonnegative=True)

reg = sequence("reg", r"\lambda", "call_regularisation", "lambda of call k", positive=True)
queries = sequence(
    "queries", "N", "call_queries", "gradients of call k", "1", integer=True, positive=True
)
rounds = sequence("rounds", "T", "call_rounds", "steps of call k", "1", integer=True, positive=True)
call_gap = sequence("call_gap", r"\Delta", "call_error", "excess of call k", nonnegative=True)

u_ball = process("u_ball", "u", "solver_iterate", "iterate before step t, from the centre")
e_x = process("e_x", "e", "estimate", "estimate of the gradient of f_rho in step t")
G_sub = process("G_sub", "G", "solver_subgradient", "subgradient of F_lambda at u_t")
gap_u = process("gap_u", r"\Delta", "solver_gap", "F_lambda(u_t) - min", nonnegative=True)
gap_avg = process("gap_avg", r"\bar\Delta", "average_gap", "F_lambda(mean) - min, T steps")
u_opt = sequence("u_opt", "u^*", "solver_minimiser", "minimiser of F_lambda on the ball")

# --- the estimator and the facts on smoothing, drift and Rényi divergence
p = parameter("p", "p", "moment", "real", "order of a moment")
p_norm = parameter("p_norm", "p", "norm_order", ">= 1", "order p of a norm ||.||_p")
q_half = parameter("q_half", "q", "half_order", "integer >= 1", "half of an even order p = 2q")
a_len = parameter(
    "a_len", r"\|a\|", "shift", ">= 0", "||x - xbar||/rho: how far x is from the ball's centre"
)
b_len = parameter("b_len", r"\|b\|", "second_shift", ">= 0", "||x' - xbar||/rho of a second point")
ab = parameter("ab", r"\langle a, b\rangle", "inner_product", "real", "<a, b> of two shifts")
j_ord = parameter("j_ord", "j", "first_order", "real", "power of the first weight")
k_ord = parameter("k_ord", "k", "second_order", "real", "power of the second weight")
t_rel = parameter("t_rel", "t", "relative_radius", "> 0", "r/rho: radius of the ball over rho")
H_sep = parameter("H_sep", r"\|a - b\|", "separation", "> 0", "||x - x'||/rho of two points")
w_cut = parameter("w_cut", "s", "weight_threshold", "> 0", "a value of the weight")
offset = parameter("offset", "m", "offset", "real", "<a, x> - b of the loss |<a, x> - b|")
dist_xy = parameter("dist_xy", r"\|x - y\|", "distance", "> 0", "distance of two points")
order = parameter("order", r"\alpha", "order", "> 1", "order of a Rényi divergence")
dist_u = process("dist_u", "D", "solver_distance", "||u_t - u*||^2", nonnegative=True)
G_est = parameter(
    "G_est", "G", "estimate_moment", "> 0", "bound on the root of E||e||^2, e the gradient estimate"
)
query_factor = parameter(
    "query_factor", "c_q", "query_factor", "> 0", "gradients of an accelerated solver: its factor"
)
tau_1 = parameter("tau_1", r"\tau_1", "divergence", ">= 0", "bound on a Rényi divergence")
tau_2 = parameter("tau_2", r"\tau_2", "second_divergence", ">= 0", "bound on a second one")
zeta = parameter("zeta", r"\zeta", "failure_probability", "in [0, 1]", "weight that is cut off")
zeta_2 = parameter("zeta_2", r"\zeta_2", "second_failure_probability", "in [0, 1]", "a second one")
eta_b = parameter(
    "eta_b", r"\eta", "touch_probability", "in [0, 1]", "P(a record is drawn at least once)"
)
eta_step = parameter("eta_step", r"\eta", "ball_learning_rate", "> 0", "step size in the ball")
delta_far = parameter(
    "delta_far",
    r"\delta_{\ge 1}",
    "touched_delta",
    "in [0, 1]",
    "privacy profile at epsilon given that the record is drawn",
)

_GROWTH = "log(gradients)/log(records) of a method at eps = 1"
q_4 = parameter("q_4", "q_4", "exponent_theorem4", ">= 0", f"{_GROWTH}: Theorem 4")
q_A = parameter("q_A", r"q_{\mathrm{A}}", "exponent_afkt21", ">= 0", f"{_GROWTH}: AFKT21")
q_K = parameter("q_K", r"q_{\mathrm{K}}", "exponent_kll21", ">= 0", f"{_GROWTH}: KLL21")
q_G = parameter("q_G", r"q_{\mathrm{G}}", "exponent_gll22", ">= 0", f"{_GROWTH}: GLL22 (values)")
h_step = parameter(
    "h_step", "h", "step_growth", "> 0", "eta L kappa_p(r/rho)/rho: relative change in one step"
)
n_ord = parameter(
    "n_ord", "n", "order_excess", "integer >= 1", "whole order p of a norm, minus 2: p = n + 2"
)
a_pos = parameter(
    "a_pos", r"\|a\|", "positive_shift", "> 0", "||x - xbar||/rho, where x is not the centre"
)
