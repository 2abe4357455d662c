#!/usr/bin/env python3
"""Golden values of crates/base/stats/src/{fit,counts,hurst,serial}.rs, from SciPy, NumPy and statsmodels.

    pip install -r checks/golden/requirements.txt
    python checks/golden/fit.py

Fits of numbers as they are are SciPy's own, made as exact as they can be where its search ends early (Weibull);
their intervals come from statsmodels' numeric second derivatives of SciPy's likelihood. What a clock of whole steps shows has no counterpart there: its
probabilities are integrated numerically from SciPy's distribution functions, and its likelihood is maximised
by scipy.optimize. Whittle's and the wavelet's estimates are written out by their definitions: neither library has an estimate
of Hurst's H.
"""
import json
import pathlib
import platform

import numpy as np
import scipy
import statsmodels
from scipy import integrate, optimize, special, stats
from statsmodels.stats.diagnostic import acorr_ljungbox
from statsmodels.tools.numdiff import approx_hess3

rng = np.random.default_rng(20161114)
# Of what was added later, so that the numbers from before stay.
rng_later = np.random.default_rng(20261122)
OUT = pathlib.Path(__file__).parents[2] / "testdata/golden/fit.json"

FAMILIES = {
    "exponential": (lambda p: stats.expon(scale=p[0]), lambda d: stats.expon.fit(d, floc=0)[1:]),
    "weibull": (
        lambda p: stats.weibull_min(p[1], scale=p[0]),
        lambda d: stats.weibull_min.fit(d, floc=0)[::-2],
    ),
    "lognormal": (
        lambda p: stats.lognorm(p[1], scale=p[0]),
        lambda d: stats.lognorm.fit(d, floc=0)[::-2],
    ),
    "pareto": (lambda p: stats.pareto(p[1], scale=p[0]), lambda d: stats.pareto.fit(d, floc=0)[::-2]),
    "gamma": (
        lambda p: stats.gamma(p[1], scale=p[0] / p[1]),
        lambda d: (lambda a, _, s: (a * s, a))(*stats.gamma.fit(d, floc=0)),
    ),
}
TRUE = {
    "exponential": [4.0],
    "weibull": [5.0, 0.7],
    "lognormal": [3.0, 1.1],
    "pareto": [1.5, 2.2],
    "gamma": [6.0, 2.5],
}


class Hyper:
    """Two exponentials."""

    def __init__(self, p):
        self.share, self.means = p[0], p[1:]

    def pdf(self, x):
        a, b = self.means
        return self.share / a * np.exp(-x / a) + (1 - self.share) / b * np.exp(-x / b)

    def cdf(self, x):
        a, b = self.means
        return 1 - self.share * np.exp(-x / a) - (1 - self.share) * np.exp(-x / b)

    def logpdf(self, x):
        return np.log(self.pdf(x))


class Pareto:
    """The distribution function alone, as the integrals need it often."""

    def __init__(self, p):
        self.scale, self.shape = p

    def cdf(self, x):
        return 1 - (self.scale / x) ** self.shape if x > self.scale else 0.0


def shown(law, k):
    """P(a clock of whole steps shows k): the mean over where in a step the gap begins."""

    def one(u):
        return law.cdf(k + 1 - u) - (law.cdf(k - u) if k > u else 0.0)

    return integrate.quad(one, 0, 1, epsabs=1e-12, epsrel=1e-10, limit=200)[0]


def maximum(make, data, start, transform):
    values, counts = np.unique(data, return_counts=True)

    def loss(at):
        law = make(transform(at))
        return -sum(c * np.log(max(shown(law, v), 1e-300)) for v, c in zip(values, counts))

    best = optimize.minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-8})
    return [float(x) for x in transform(best.x)], float(-best.fun)


def polished(make, data, start):
    """The maximum near `start`, to more digits than a fit by simplex has."""
    loss = lambda at: -make(np.exp(at)).logpdf(data).sum()
    options = {"xatol": 1e-10, "fatol": 1e-11, "maxiter": 5000}
    best = optimize.minimize(loss, np.log(start), method="Nelder-Mead", options=options)
    return [float(x) for x in np.exp(best.x)]


def intervals(make, data, parameters, is_share):
    """95 % intervals by the curvature, on the scale of logarithms, of shares on that of logits."""
    free = lambda p: np.where(is_share, special.logit(np.where(is_share, p, 0.5)), np.log(p))
    back = lambda at: np.where(is_share, special.expit(at), np.exp(at))
    at = free(np.array(parameters))
    curved = approx_hess3(at, lambda at: -make(back(at)).logpdf(data).sum())
    off = stats.norm.ppf(0.975) * np.sqrt(np.diag(np.linalg.inv(np.atleast_2d(curved))))
    return [[float(x) for x in pair] for pair in zip(back(at - off), back(at + off))]


def distances(law, data):
    x = np.sort(data)
    n = len(x)
    f = np.maximum(law.cdf(x), 1e-300)  # the least number of a Pareto fit has F = 0
    i = np.arange(1, n + 1)
    d = max((f - (i - 1) / n).max(), (i / n - f).max())
    a = -n - np.mean((2 * i - 1) * (np.log(f) + np.log1p(-f[::-1])))
    return float(d), float(a)


def fits():
    cases = []
    for name, (make, fit) in FAMILIES.items():
        data = np.round(make(TRUE[name]).rvs(400, random_state=rng), 6)
        data = np.maximum(data, 1e-6)
        p = [float(x) for x in fit(data)]
        if name == "weibull":
            p = polished(make, data, p)
        d, a = distances(make(p), data)
        cases.append(
            {
                "family": name,
                "step": 0,
                "values": data.tolist(),
                "parameters": p,
                # That of the least number a Pareto law has ends at it, and curves nowhere.
                "intervals": None if name == "pareto" else intervals(make, data, p, np.zeros(len(p), bool)),
                "log_likelihood": float(make(p).logpdf(data).sum()),
                "distance": d,
                "anderson": a,
            }
        )
    data = np.round(np.where(rng.random(400) < 0.6, rng.exponential(1, 400), rng.exponential(12, 400)), 6) + 1e-6
    to = lambda at: [special.expit(at[0]), np.exp(at[1]), np.exp(at[1]) + np.exp(at[2])]
    best = optimize.minimize(
        lambda at: -Hyper(to(at)).logpdf(data).sum(),
        [0.4, 0.0, 2.4],
        method="Nelder-Mead",
        options={"xatol": 1e-9, "fatol": 1e-10, "maxiter": 5000},
    )
    d, a = distances(Hyper(to(best.x)), data)
    cases.append(
        {
            "family": "hyperexponential",
            "step": 0,
            "values": data.tolist(),
            "parameters": [float(x) for x in to(best.x)],
            "intervals": intervals(Hyper, data, to(best.x), np.array([True, False, False])),
            "log_likelihood": float(-best.fun),
            "distance": d,
            "anderson": a,
        }
    )
    for name in ["exponential", "weibull", "lognormal", "gamma"]:
        make = FAMILIES[name][0]
        data = np.floor(make(TRUE[name]).rvs(150, random_state=rng) + rng.random(150))
        start = np.log(TRUE[name])
        p, likelihood = maximum(make, data, start, np.exp)
        cases.append(
            {
                "family": name,
                "step": 1,
                "values": data.tolist(),
                "parameters": p,
                "log_likelihood": likelihood,
            }
        )
    two = np.where(rng_later.random(150) < 0.6, rng_later.exponential(1, 150), rng_later.exponential(12, 150))
    one = stats.pareto(2.2, scale=1.5).rvs(150, random_state=rng_later)
    for name, make, data, start, transform in [
        ("hyperexponential", Hyper, two, [0.4, 0.0, 2.4], to),
        ("pareto", Pareto, one, np.log([1.5, 2.2]), np.exp),
    ]:
        data = np.floor(data + rng_later.random(150))
        p, likelihood = maximum(make, data, start, transform)
        cases.append({"family": name, "step": 1, "values": data.tolist(), "parameters": p, "log_likelihood": likelihood})
    # At and below the clock's step, where most of what it shows is 0.
    for name, truth in [("exponential", [0.4]), ("weibull", [0.5, 0.5]), ("lognormal", [0.4, 1.3]), ("gamma", [0.8, 0.4])]:
        make = FAMILIES[name][0]
        data = np.floor(make(truth).rvs(300, random_state=rng_later) + rng_later.random(300))
        p, likelihood = maximum(make, data, np.log(truth), np.exp)
        cases.append({"family": name, "step": 1, "values": data.tolist(), "parameters": p, "log_likelihood": likelihood})
    small = np.where(rng_later.random(300) < 0.7, rng_later.exponential(0.3, 300), rng_later.exponential(4, 300))
    data = np.floor(small + rng_later.random(300))
    p, likelihood = maximum(Hyper, data, [0.8, -1.2, 1.3], to)
    cases.append({"family": "hyperexponential", "step": 1, "values": data.tolist(), "parameters": p, "log_likelihood": likelihood})
    return cases


def counts():
    data = rng.poisson(3.0, 200)
    bursts = rng.negative_binomial(2, 0.4, 200)
    found = []
    for x in (data, bursts):
        statistic = float(((x - x.mean()) ** 2).sum() / x.mean())
        above = float(stats.chi2.sf(statistic, len(x) - 1))
        found.append(
            {
                "counts": x.tolist(),
                "statistic": statistic,
                "p": min(1.0, 2 * min(above, 1 - above)),
            }
        )
    tails = [[float(s), float(f), float(stats.chi2.sf(s, f))] for s, f in [(3, 2), (120, 100), (10_300, 10_000), (98_000, 100_000)]]
    a, b = rng.multinomial(300, [0.5, 0.3, 0.15, 0.05]), rng.multinomial(200, [0.4, 0.35, 0.15, 0.1])
    test = stats.chi2_contingency([a, b], correction=False)
    groups = [rng.normal(m, 1, n).round(6).tolist() for m, n in [(0, 8), (0.4, 12), (1.2, 5)]]
    f = stats.f_oneway(*groups)
    series = (rng.normal(size=200) + np.convolve(rng.normal(size=201), [0.3, 0.3], "valid")).round(6)
    box = acorr_ljungbox(series, lags=[20])
    return {
        "dispersion": found,
        "tails": tails,
        "rows": {"a": a.tolist(), "b": b.tolist(), "statistic": float(test.statistic), "p": float(test.pvalue)},
        "groups": {"groups": groups, "f": float(f.statistic), "p": float(f.pvalue)},
        "box": {
            "series": series.tolist(),
            "lags": 20,
            "statistic": float(box.lb_stat.iloc[0]),
            "p": float(box.lb_pvalue.iloc[0]),
        },
    }


def fractional(h, n):
    """By Cholesky's root of the covariance: exact, and unlike what the crate does."""
    k = np.arange(n)
    r = 0.5 * (np.abs(k + 1.0) ** (2 * h) - 2 * np.abs(k) ** (2 * h) + np.abs(k - 1.0) ** (2 * h))
    return np.linalg.cholesky(scipy.linalg.toeplitz(r)) @ rng.normal(size=n)


def whittle(x, m):
    n = len(x)
    power = np.abs(np.fft.fft(x - x.mean())[1 : m + 1]) ** 2
    frequency = 2 * np.pi * np.arange(1, m + 1) / n

    def loss(h):
        return np.log(np.mean(frequency ** (2 * h - 1) * power)) - (2 * h - 1) * np.log(frequency).mean()

    return float(optimize.minimize_scalar(loss, bounds=(0.01, 1.49), method="bounded", options={"xatol": 1e-9}).x)


DB3 = [0.3326705529500825, 0.8068915093110924, 0.4598775021184914, -0.1350110200102546, -0.0854412738820267, 0.0352262918857095]


def wavelet(x, first, last):
    smooth, points = x, []
    low = np.array(DB3)
    high = low[::-1] * np.array([1, -1] * 3)
    for j in range(1, 40):
        if (len(smooth) - 6) // 2 + 1 < 8 or len(smooth) < 6:
            break
        detail = np.correlate(smooth, high, "valid")[::2]
        smooth = np.correlate(smooth, low, "valid")[::2]
        n = len(detail)
        y = np.log2(np.mean(detail**2)) - (special.digamma(n / 2) - np.log(n / 2)) / np.log(2)
        points.append((j, y, special.polygamma(1, n / 2) / np.log(2) ** 2))
    used = [p for p in points if first <= p[0] <= last]
    j, y, v = (np.array(c, dtype=float) for c in zip(*used))
    w = 1 / v
    s, sx, sxx, sy, sxy = w.sum(), (w * j).sum(), (w * j * j).sum(), (w * y).sum(), (w * j * y).sum()
    slope = (s * sxy - sx * sy) / (s * sxx - sx**2)
    return float((slope + 1) / 2), float(np.sqrt(s / (s * sxx - sx**2)) / 2)


def hurst():
    found = []
    for h in (0.5, 0.7, 0.9):
        x = fractional(h, 1024).round(6)
        value, error = wavelet(x, 2, 6)
        found.append(
            {
                "h": h,
                "series": x.tolist(),
                "whittle": whittle(x, 90),
                "whittle_of_1000": whittle(x[:1000], 90),
                "wavelet": value,
                "wavelet_error": error,
            }
        )
    return found


def noisy(points, noise):
    """H and its 95 % bounds where powers of weight w are gamma numbers about noise + c exp((2H - 1) x)."""
    x, w, power = (np.array(c, dtype=float) for c in zip(*points))
    x = x - x.mean()

    def profile(h):
        def loss(level):
            mean = noise + np.exp(level + (2 * h - 1) * x)
            return float(np.sum(w * (np.log(mean) + power / mean)))

        return min(optimize.minimize_scalar(loss, bounds=b, method="bounded", options={"xatol": 1e-9}).fun for b in ((-12, 0), (0, 12)))

    found = optimize.minimize_scalar(profile, bounds=(0.01, 1.49), method="bounded", options={"xatol": 1e-8})
    off = lambda h: profile(h) - found.fun - stats.chi2.isf(0.05, 1) / 2
    return [float(found.x), float(optimize.brentq(off, 0.01, found.x)), float(optimize.brentq(off, found.x, 1.49))]


def hurst_of_counts():
    """Counts of a Poisson process whose rate is fractional."""
    found = []
    for h, mean in ((0.8, 3.0), (0.7, 20.0)):
        counts = rng.poisson(mean * np.exp(0.5 * fractional(h, 2048) - 0.125)).astype(float)
        noise, n, m = counts.mean(), len(counts), 150
        power = np.abs(np.fft.fft(counts - noise)[1 : m + 1]) ** 2 / n
        frequency = 2 * np.pi * np.arange(1, m + 1) / n
        whittle = noisy([(-np.log(f), 1.0, p) for f, p in zip(frequency, power)], noise)
        smooth, points = counts, []
        low = np.array(DB3)
        high = low[::-1] * np.array([1, -1] * 3)
        for j in range(1, 8):
            detail = np.correlate(smooth, high, "valid")[::2]
            smooth = np.correlate(smooth, low, "valid")[::2]
            if j >= 2:
                points.append((j * np.log(2), len(detail) / 2, np.mean(detail**2)))
        found.append({"counts": counts.astype(int).tolist(), "whittle": whittle, "wavelet": noisy(points, noise)})
    return found


golden = {
    "made_by": "checks/golden/fit.py",
    "versions": {
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "statsmodels": statsmodels.__version__,
    },
    "fits": fits(),
    "counts": counts(),
    "hurst": hurst(),
    "hurst_of_counts": hurst_of_counts(),
}
OUT.write_text(json.dumps(golden, indent=None, separators=(",", ":")) + "\n")
