//! The findings of an analysis, in sentences with their evidence.

use record::Run;
use record::schema::{Finding, Severity};

use super::down::{Availability, Interval};
use super::drift::Drift;
use super::laws::{LawTest, Laws, Little, ResponseLaw, Utilisation};
use super::windows::{Evenness, MeanEstimate};
use super::{Analysis, CONFIDENCE, SECONDS_MIN};
use crate::{Draft, finding};

/// Least correlation of neighbouring seconds that is reported: about half of the seconds would determine the mean as well.
const CORRELATION_MIN: f64 = 0.33;

/// All findings, most important first; `untrusted`: why the run itself is untrusted; `broken`: those on what broke.
pub(super) fn findings(
    analysis: &Analysis,
    untrusted: Option<String>,
    broken: Vec<Finding>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    findings.extend(untrusted.map(|why| {
        let text = format!("the run is untrusted, and so are the findings below: {why}");
        finding(Severity::Warning, "run-untrusted", text).done()
    }));
    let is_growing = broken.iter().any(|finding| finding.code == "response-grows");
    let steady = steady(analysis, is_growing);
    findings.extend(broken);
    findings.extend(analysis.availability.as_ref().filter(|a| a.failures > 0).map(down));
    findings.push(steady);
    findings.extend(analysis.trends.iter().filter(|t| t.is_shown).map(|t| drift(analysis, t)));
    findings.extend(analysis.availability.as_ref().filter(|a| a.failures == 0).map(never_down));
    findings.extend(laws(&analysis.laws));
    findings.extend(evenness(analysis));
    findings.extend(alike(analysis));
    findings
}

/// The note that the rows of the run are stored elsewhere, so that the analysis has to do without them.
pub(super) fn rows_elsewhere(run: &Run) -> Option<Finding> {
    let elsewhere = run.rows_elsewhere()?;
    let text = format!(
        "nothing is said of outages, shares of errors and the laws of queues, which take rows: {elsewhere}"
    );
    Some(finding(Severity::Note, "rows-elsewhere", text).done())
}

/// Whether there is a steady state, and since when; `is_growing`: responses of a step grow.
fn steady(analysis: &Analysis, is_growing: bool) -> Finding {
    let warm_up = &analysis.warm_up;
    if let Some(change) = &analysis.load_change {
        let text = format!(
            "no steady state: {change}, as planned; a phase with a constant load may have one (--phase)"
        );
        return finding(Severity::Warning, "not-steady", text).with("unsettled", 0.0).done();
    }
    let from_ns = analysis.start_ns + warm_up.cut_ns;
    // A warm-up that was given may be too short for some.
    let late = warm_up.series.iter().filter(|s| s.is_late || s.cut_ns > warm_up.cut_ns);
    let mut unsettled: Vec<String> = late.map(|series| series.name.clone()).collect();
    for drift in analysis.trends.iter().filter(|drift| drift.is_shown) {
        let name = drift.name.strip_prefix("response of ").unwrap_or(&drift.name);
        let is_asked = warm_up.series.iter().any(|series| series.name == name);
        if is_asked && !unsettled.iter().any(|known| known == name) {
            unsettled.push(name.to_owned());
        }
    }
    let lasting = analysis.incidents.iter().filter(|incident| incident.to_the_end);
    for incident in lasting {
        if !unsettled.contains(&incident.step) {
            unsettled.push(incident.step.clone());
        }
    }
    let cut_s = warm_up.cut_ns as f64 / 1e9;
    if unsettled.is_empty() && is_growing {
        let text = "no steady state: responses grow while the run continues";
        return finding(Severity::Warning, "not-steady", text.to_owned()).done();
    }
    if !unsettled.is_empty() {
        let mut late = warm_up.series.iter().filter(|s| s.cut_ns > warm_up.cut_ns);
        let in_time = match late.next().filter(|_| !warm_up.is_given) {
            Some(series) => format!(
                " in time ({} takes {}, which leaves less than {SECONDS_MIN} s)",
                series.name,
                units::span(series.cut_ns)
            ),
            None => String::new(),
        };
        let text = format!(
            "no steady state after {}: {} did not settle{in_time}; try a longer run or a single \
             phase (--phase)",
            units::span(from_ns),
            unsettled.join(", ")
        );
        return finding(Severity::Warning, "not-steady", text)
            .with("cut_s", cut_s)
            .with("unsettled", unsettled.len() as f64)
            .done();
    }
    let longest = warm_up.series.iter().max_by_key(|series| series.cut_ns);
    let text = match (warm_up.is_given, longest.filter(|series| series.cut_ns > 0)) {
        (true, Some(longest)) => format!(
            "steady from {} on with the given warm-up; the detected warm-up is {} ({})",
            units::span(from_ns),
            units::span(longest.cut_ns),
            longest.name
        ),
        (true, None) => format!(
            "steady from {} on with the given warm-up; none was detected",
            units::span(from_ns)
        ),
        (false, Some(longest)) => format!(
            "steady from {} on; the warm-up before is excluded ({} takes longest)",
            units::span(from_ns),
            longest.name
        ),
        (false, None) => "steady from the start: there is no warm-up to exclude".to_owned(),
    };
    let text = match analysis.incidents.len() {
        0 => text,
        n => format!("{text}; worse in {}", units::counted(n as u64, "incident")),
    };
    finding(Severity::Good, "steady-state", text).with("cut_s", cut_s).done()
}

/// A figure of a drift in its unit.
fn shown(drift: &Drift, value: f64) -> String {
    match drift.unit {
        "per_s" => units::rate(value),
        "share" => units::share(value),
        "bytes" => units::bytes(value.abs() as u64),
        "ns" => units::duration(value),
        _ => units::significant(value, 3),
    }
}

/// True if operations in flight grow by at least half as many as users: these are present because they wait.
fn users_wait(analysis: &Analysis) -> bool {
    let change = |name: &str| {
        let found = analysis.trends.iter().find(|d| d.name == name && d.is_shown);
        found.map_or(0.0, |drift| drift.change)
    };
    let users = change("users");
    users > 0.0 && change("in flight") >= 0.5 * users
}

fn drift(analysis: &Analysis, drift: &Drift) -> Finding {
    let changes = |name: &str| analysis.trends.iter().any(|d| d.name == name && d.is_shown);
    let held = matches!(&*drift.name, "in flight" | "connections");
    let is_leak = held
        && drift.change > 0.0
        && !changes("throughput")
        && (!changes("users") || users_wait(analysis));
    let (severity, code) = match &*drift.name {
        _ if is_leak => (Severity::Warning, "leak"),
        "users" | "generator memory" => (Severity::Note, "trend"),
        _ => (Severity::Warning, "trend"),
    };
    let direction = if drift.change > 0.0 { "rises" } else { "falls" };
    let size = |value: f64| shown(drift, value.abs());
    let (least, most) = match drift.change > 0.0 {
        true => (drift.change_low, drift.change_high),
        false => (drift.change_high, drift.change_low),
    };
    let length_ns = analysis.end_ns - analysis.start_ns - analysis.warm_up.cut_ns;
    let mut text = format!(
        "{} {direction} by {} over {} ({} to {}), from about {}",
        drift.name,
        size(drift.change),
        units::span(length_ns),
        size(least),
        size(most),
        size(drift.level - drift.change / 2.0),
    );
    if is_leak && changes("users") {
        text += ", although throughput does not: requests stay unanswered, and their users wait";
    } else if is_leak {
        text += ", although users and throughput do not: something leaks";
    } else if drift.name == "users" && users_wait(analysis) && !changes("throughput") {
        text += ": they wait for answers";
    } else if drift.name == "users" {
        text += ": the load itself changes; a single phase (--phase) may be steady";
    }
    finding(severity, code, text)
        .with("change", drift.change)
        .with("change_low", drift.change_low)
        .with("change_high", drift.change_high)
        .with("level", drift.level)
        .with("p_adjusted", drift.p_adjusted)
        .with("correlation", drift.correlation)
        .done()
}

/// `18 s (6.2 s to 1 min 27 s)`.
fn bounded(interval: &Interval) -> String {
    let span = |ns: f64| units::span(ns as u64);
    match (interval.value, interval.high) {
        (Some(value), Some(high)) => {
            format!("{} ({} to {})", span(value), span(interval.low), span(high))
        }
        _ => format!("{} or more", span(interval.low)),
    }
}

fn confidence() -> String {
    units::percent(CONFIDENCE)
}

/// `down 2 times for 4 s in total, first after 10 s`.
fn outages(found: &Availability) -> String {
    format!(
        "down {} for {} in total, first after {}",
        match found.failures {
            1 => "once".to_owned(),
            n => format!("{} times", units::count(n)),
        },
        units::span(found.down_ns),
        units::span(found.first_failure_ns.unwrap_or(0)),
    )
}

/// The outages of a time that is too short for an analysis, as the end of a sentence; empty if there were none.
pub(super) fn also_down(found: &Availability) -> String {
    match found.failures {
        0 => String::new(),
        _ => format!("; the target was {}", outages(found)),
    }
}

fn down(found: &Availability) -> Finding {
    let share = units::share(found.observed);
    let nines = found.nines.map_or(String::new(), |nines| format!(", {nines:.1} nines"));
    let mut text = format!("{}: {share} available{nines}", outages(found));
    text += &format!("; MTBF {}", bounded(&found.mtbf_ns));
    text += &match &found.mttr_ns {
        Some(mttr) => format!(", MTTR {}", bounded(mttr)),
        None => ", never recovered".to_owned(),
    };
    let mut draft = finding(Severity::Warning, "down", String::new())
        .with("failures", found.failures as f64)
        .with("down_s", found.down_ns as f64 / 1e9)
        .with("up_s", found.up_ns as f64 / 1e9)
        .with("available", found.observed)
        .with("mtbf_low_s", found.mtbf_ns.low / 1e9);
    if let Some(long_run) = &found.long_run {
        text += &format!(
            "; in the long run {} to {} available, with {} confidence",
            units::share(long_run.low),
            units::share(long_run.high.unwrap_or(1.0)),
            confidence()
        );
        draft = draft
            .with("long_run_low", long_run.low)
            .with("long_run_high", long_run.high.unwrap_or(1.0));
    }
    let mut finding = draft.done();
    finding.text = text;
    finding
}

fn never_down(found: &Availability) -> Finding {
    if found.up_ns == 0 {
        let text = "no requests were sent in this time, so availability is unknown";
        return finding(Severity::Note, "availability-unknown", text.to_owned()).done();
    }
    let down_max = found.down_max.unwrap_or(1.0);
    let slow = match found.degraded_ns {
        0 => String::new(),
        ns => format!(", although answers were slow in incidents for {}", units::span(ns)),
    };
    let text = format!(
        "never down in {}{slow}: with {} confidence, the MTBF is at least {} and at most {} of seconds \
         are down",
        units::span(found.up_ns),
        confidence(),
        units::span(found.mtbf_ns.low as u64),
        units::share(down_max)
    );
    let severity = if found.degraded_ns > 0 { Severity::Note } else { Severity::Good };
    finding(severity, "never-down", text)
        .with("up_s", found.up_ns as f64 / 1e9)
        .with("degraded_s", found.degraded_ns as f64 / 1e9)
        .with("mtbf_low_s", found.mtbf_ns.low / 1e9)
        .with("down_max", down_max)
        .done()
}

fn laws(laws: &Laws) -> Vec<Finding> {
    let little = laws.little.as_ref().map(little);
    let response = laws.response.as_ref().map(response);
    let utilisation = laws.utilisation.as_ref().map(utilisation);
    [little, response, utilisation].into_iter().flatten().collect()
}

fn little(little: &Little) -> Finding {
    let sides = format!(
        "{} in flight, and {} · {} = {}",
        significant(little.in_flight),
        units::rate(little.per_s),
        units::duration(little.service_ns),
        significant(little.product)
    );
    law("little", "Little's law", &little.test, &sides)
        .with("in_flight", little.in_flight)
        .with("per_s", little.per_s)
        .with("service_s", little.service_ns / 1e9)
        .with("deviation", little.deviation)
        .done()
}

fn response(found: &ResponseLaw) -> Finding {
    let sides = format!(
        "{} users at {} with {} think time predict {} per operation, and {} was measured",
        significant(found.users),
        units::rate(found.per_s),
        units::duration(found.think_ns),
        units::duration(found.law_ns),
        units::duration(found.service_ns)
    );
    law("response-law", "the response time law", &found.test, &sides)
        .with("users", found.users)
        .with("think_s", found.think_ns / 1e9)
        .with("law_s", found.law_ns / 1e9)
        .with("service_s", found.service_ns / 1e9)
        .with("known", found.known)
        .done()
}

/// A law with its two sides, or why they are not compared.
fn law(code: &'static str, name: &str, test: &LawTest, sides: &str) -> Draft {
    let (severity, text) = match (test.holds, &test.problem) {
        (Some(holds), _) => {
            let (severity, verb) = match holds {
                true => (Severity::Good, "holds"),
                false => (Severity::Warning, "does not hold"),
            };
            let within = units::share(test.tolerance);
            (severity, format!("{name} {verb} within {within}: {sides}"))
        }
        (None, problem) => {
            let why = problem.as_deref().unwrap_or("too little is known");
            (Severity::Note, format!("{name} is not testable: {why}"))
        }
    };
    finding(severity, code, text).with("tolerance", test.tolerance)
}

fn utilisation(used: &Utilisation) -> Finding {
    let text = format!(
        "the generator's loops used {} of {}, {} per operation: enough for about {}; the \
         target's utilisation is not recorded",
        significant(used.cores),
        units::counted(u64::from(used.of), "core"),
        units::duration(used.demand_ns),
        units::rate(used.per_s_max)
    );
    finding(Severity::Note, "utilisation", text)
        .with("cores", used.cores)
        .with("demand_s", used.demand_ns / 1e9)
        .done()
}

fn significant(x: f64) -> String {
    units::significant(x, 3)
}

/// How even throughput and responses are from window to window.
fn evenness(analysis: &Analysis) -> Option<Finding> {
    let even = |found: &Evenness, show: fn(f64) -> String| {
        format!(
            "{} to {}, varying by {}",
            show(found.min),
            show(found.max),
            units::share(found.variation)
        )
    };
    let rates = analysis.throughput.rates.as_ref()?;
    let mut text = format!(
        "in {} windows of {}: throughput {}",
        rates.windows,
        units::span(analysis.window_ns),
        even(rates, units::rate)
    );
    let most = analysis
        .measures
        .iter()
        .filter_map(|measure| Some((measure, measure.means.as_ref()?)))
        .max_by(|a, b| a.1.variation.total_cmp(&b.1.variation));
    let mut draft = finding(Severity::Note, "windows", String::new())
        .with("windows", rates.windows as f64)
        .with("throughput_variation", rates.variation);
    if let Some((measure, means)) = most {
        text += &format!("; mean response of {} {}", measure.name, even(means, units::duration));
        draft = draft.with("response_variation", means.variation);
    }
    let mut finding = draft.done();
    finding.text = text;
    Some(finding)
}

/// The note on the series whose seconds are most autocorrelated.
fn alike(analysis: &Analysis) -> Option<Finding> {
    let measures = analysis.measures.iter();
    let all = measures
        .map(|measure| (measure.name.as_str(), &measure.response))
        .chain([("throughput", &analysis.throughput.known)]);
    let known = all.filter_map(|(name, known)| Some((name, known.as_ref()?)));
    let neighbours = |known: &MeanEstimate| known.autocorrelation.first().copied().unwrap_or(0.0);
    let (name, most) = known.max_by(|a, b| neighbours(a.1).total_cmp(&neighbours(b.1)))?;
    let correlation = neighbours(most);
    if correlation < CORRELATION_MIN {
        return None;
    }
    let text = format!(
        "the seconds of {name} are autocorrelated ({correlation:.2}): they determine its mean as \
         well as {} independent seconds",
        units::significant(most.effective, 2)
    );
    let draft = finding(Severity::Note, "autocorrelated", text);
    Some(draft.with("correlation", correlation).with("effective", most.effective).done())
}
