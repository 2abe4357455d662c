//! How all users arrive: the tests of their counts.

use units::p_value;

use super::{Findings, Severity};
use crate::arrivals::{Arrivals, Cycle, HurstEstimate, NoCycle};

/// A load whose H has a lower bound above this is called self-similar.
const H_LONG: f64 = 0.6;
/// The level of a test.
const ALPHA: f64 = 0.01;

pub(super) fn arrivals(arrivals: &Arrivals, found: &mut Findings) {
    poisson(arrivals, found);
    if let Some(found_cycle) = &arrivals.cycle {
        cycle(found_cycle, found);
    }
    if arrivals.no_cycle == Some(NoCycle::Bins) {
        let text = format!(
            "counts of {} s do not add up to hours: the model does not look for a cycle of the day or week; give \
             counts whose --bin divides an hour, such as 1s, 10s, 1m or 1h",
            arrivals.bin_s
        );
        found.add(Severity::Warning, "bins-no-hours", text);
    }
    if let Some(longest) = arrivals.silences.first() {
        let text = format!(
            "nobody came in {} of the time, in stretches that the rate does not explain; the longest lasts {} s \
             and begins at second {}",
            units::share(arrivals.silent_share),
            longest.length_s,
            longest.from_s
        );
        found.add(Severity::Warning, "silences", text);
    }
    if let Some(stragglers) = arrivals.stragglers {
        let text = format!(
            "{} began {} s after all others and more: what they do is in the model, their arrivals are not",
            units::counted(stragglers.users, "session"),
            stragglers.after_s
        );
        found.add(Severity::Note, "stragglers", text);
    }
    rescaled(arrivals, found);
    hurst(arrivals, found);
}

/// The tests of a Poisson process of one rate.
fn poisson(arrivals: &Arrivals, found: &mut Findings) {
    if arrivals.scales.is_empty() {
        let text = "the log is too short to test how users arrive";
        found.add(Severity::Warning, "arrivals-short", text.to_owned());
        return;
    }
    let scales = arrivals.scales.iter().map(|scale| {
        let mut p = p_value(scale.p_dispersion);
        if scale.dependence_decides() {
            p += &format!(", dependence {}", p_value(scale.p_dependence));
        }
        format!("{:.2} at {} s ({p})", scale.index, scale.window_s)
    });
    let scales: Vec<String> = scales.collect();
    let mut tests =
        format!("the counts' variance over mean, 1 for Poisson, is {}", scales.join(", "));
    if let Some(trend) = arrivals.trend {
        let direction = if trend.z > 0.0 { "rising" } else { "falling" };
        tests += &format!("; {direction} rate: {}", p_value(trend.p));
    }
    match arrivals.poisson_rejected() {
        true => found.add(
            Severity::Note,
            "poisson-rejected",
            format!("arrivals are not a Poisson process of one rate: {tests}"),
        ),
        false => found.add(
            Severity::Good,
            "poisson",
            format!("arrivals agree with a Poisson process of one rate: {tests}"),
        ),
    }
}

fn cycle(cycle: &Cycle, found: &mut Findings) {
    let (low, high) = extremes(&cycle.rates);
    let week = match cycle.week {
        Some(week) if cycle.rates.len() > 24 => {
            format!(" and the week (F = {:.1}, {})", week.f, p_value(week.p))
        }
        Some(week) => format!(", but not the week ({})", p_value(week.p)),
        None => "; the log is too short to test the week".to_owned(),
    };
    let text = format!(
        "the rate follows the day (F = {:.1}, {}, {:.0} % of the variance){week}; it is {low:.4} to {high:.4} users a \
         second",
        cycle.day.f,
        p_value(cycle.day.p),
        cycle.day.explained * 100.0,
    );
    found.add(Severity::Note, "cycle", text);
    if let Some(broken) = &cycle.broken {
        let text = format!(
            "from day {} on the day is shifted by {:.1} hours ({}): recordings were joined there, or the clock was \
             set; the cycle is that of the longer side",
            broken.day,
            broken.hours,
            p_value(broken.p)
        );
        found.add(Severity::Warning, "day-moved", text);
    }
}

fn rescaled(arrivals: &Arrivals, found: &mut Findings) {
    let Some(rescaled) = &arrivals.rescaled else {
        return;
    };
    let fits = rescaled.p >= ALPHA;
    let text = format!(
        "after the cycle is removed, the counts {} (variance over mean {:.2}, {}; dependence {})",
        if fits { "agree with Poisson" } else { "are still not Poisson" },
        rescaled.index,
        p_value(rescaled.p),
        p_value(rescaled.p_dependence)
    );
    let severity = if fits { Severity::Good } else { Severity::Note };
    found.add(severity, "rescaled", text);
}

fn hurst(arrivals: &Arrivals, found: &mut Findings) {
    hidden(arrivals, found);
    let estimates = arrivals.hurst.iter().flat_map(|hurst| &hurst.estimates);
    let beyond: Vec<String> = estimates
        .clone()
        .filter(|estimate| !estimate.is_stationary())
        .map(|e| format!("{:.3} {}", e.h, method(e)))
        .collect();
    if !beyond.is_empty() {
        let text = format!(
            "the counts are not stationary at these scales: Hurst's H would be {}, whose interval has nothing between 0 \
             and 1",
            beyond.join("; ")
        );
        found.add(Severity::Note, "hurst-not-stationary", text);
    }
    let with_interval: Vec<&HurstEstimate> =
        estimates.filter(|estimate| estimate.low.is_some() && estimate.is_stationary()).collect();
    if with_interval.is_empty() {
        return;
    }
    // What is beyond 0 and 1 is no H.
    let possible = |h: f64| h.clamp(0.0, 1.0);
    let shown = with_interval.iter().map(|e| {
        let straight = e.p_straight.is_none_or(|p| p >= ALPHA);
        format!(
            "{:.3} (95 %: {:.3} to {:.3}) {}{}",
            possible(e.h),
            e.low.map_or(f64::NAN, possible),
            e.high.map_or(f64::NAN, possible),
            method(e),
            if straight { "" } else { ", but H differs between these scales" }
        )
    });
    let shown: Vec<String> = shown.collect();
    let long = with_interval.iter().any(|e| e.low.is_some_and(|low| low > H_LONG));
    let text = format!("Hurst's H is {}", shown.join("; "));
    let code = if long { "self-similar" } else { "hurst" };
    found.add(Severity::Note, code, text);
}

/// Estimates that the scatter of the counts hides.
fn hidden(arrivals: &Arrivals, found: &mut Findings) {
    for about_cycle in [false, true] {
        let hidden = arrivals.hurst.iter().flat_map(|hurst| &hurst.hidden);
        let methods: Vec<&str> = hidden
            .filter(|hidden| hidden.about_cycle == about_cycle)
            .map(|hidden| hidden.method.as_str())
            .collect();
        if methods.is_empty() {
            continue;
        }
        let (removed, rate) = match about_cycle {
            true => (" after the cycle is removed", "the cycle's rate"),
            false => ("", "one rate"),
        };
        let text = format!(
            "Hurst's H by {} is not determined{removed}: the counts vary no more than those of a Poisson process of \
             {rate}, which has no memory",
            methods.join(", ")
        );
        found.add(Severity::Note, "hurst-hidden", text);
    }
}

/// How an estimate was made.
fn method(estimate: &HurstEstimate) -> String {
    let removed = match estimate.about_cycle {
        true => " after the cycle is removed",
        false => "",
    };
    format!(
        "by {}{removed} over {:.0} to {:.0} s",
        estimate.method, estimate.from_s, estimate.upto_s
    )
}

fn extremes(rates: &[f64]) -> (f64, f64) {
    let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
    (low, rates.iter().copied().fold(0.0, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::{Counts, analyse};

    /// Every finding is one sentence on one line, whatever its source's line breaks.
    #[test]
    fn findings_have_no_runs_of_blanks() {
        let counts =
            Counts { bins: (0..2_000).map(|bin| bin * 7 % 5).collect(), bin_s: 7_200, local_s: 0 };
        let mut found = Findings::default();
        arrivals(&analyse(&counts, None, None, 1), &mut found);
        let codes: Vec<&str> = found.0.iter().map(|f| f.code.as_str()).collect();
        assert!(codes.contains(&"bins-no-hours"), "{codes:?}");
        for finding in &found.0 {
            assert!(!finding.text.contains("  "), "{:?}", finding.text);
        }
    }

    /// Arrivals that are a Poisson process are stationary, whatever an estimate without a memory to estimate comes to.
    #[test]
    fn poisson_counts_are_not_said_to_be_unstationary() {
        for seed in 0..20 {
            let mut rng = stats::rng::Rng::new(seed, 0, stats::rng::Purpose::Arrivals);
            let of_second = |_| (0..40).map(|_| u32::from(rng.unit() < 0.01)).sum();
            let counts = Counts { bins: (0..2_000).map(of_second).collect(), bin_s: 1, local_s: 0 };
            let mut found = Findings::default();
            arrivals(&analyse(&counts, None, None, seed), &mut found);
            let codes: Vec<&str> = found.0.iter().map(|f| f.code.as_str()).collect();
            assert!(!codes.contains(&"hurst-not-stationary"), "{seed}: {codes:?}");
        }
    }

    #[test]
    fn hidden_estimates_are_reported_with_the_reason() {
        let mut rng = stats::rng::Rng::new(4, 0, stats::rng::Purpose::Arrivals);
        let of_second = |_| (0..40).map(|_| u32::from(rng.unit() < 0.05)).sum();
        let counts = Counts { bins: (0..4_000).map(of_second).collect(), bin_s: 1, local_s: 0 };
        let mut found = Findings::default();
        arrivals(&analyse(&counts, None, None, 1), &mut found);
        let text = found.0.iter().find(|f| f.code == "hurst-hidden");
        let text = &text.unwrap().text;
        assert!(
            text.contains("local-whittle") && text.contains("of a Poisson process of one rate"),
            "{text}"
        );
    }
}
