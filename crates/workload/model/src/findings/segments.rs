//! How segments arrive: all by one process, or each by its own.

use super::{Findings, Severity};
use crate::{ArrivalProcess, Arrivals, Model, NoCycle, ProcessReason, SESSIONS_FEW, Segment};

/// Segments named in a sentence.
const NAMED_MAX: usize = 5;
/// The share of a segment's users that may come at other hours than those of all.
const ELSEWHEN_MAX: f64 = 0.1;

/// All arrive by one process.
pub(super) fn one_process(model: &Model, found: &mut Findings) {
    let whole = &model.arrivals;
    if !whole.process_fits {
        let text = "users arrive by the requested process, which the log rejects";
        found.add(Severity::Warning, "arrivals-rejected", text.to_owned());
    } else if whole.process == ArrivalProcess::Trace {
        let (severity, why) = why_recorded(whole);
        let text = format!(
            "{why}: the scenario repeats the recorded number of arrivals in each {} s, so another seed brings other \
             users at the same times",
            whole.trace_bin_s
        );
        found.add(severity, "arrivals-by-trace", text);
        if model.segments.len() > 1 && !whole.process_requested && !whole.scales.is_empty() {
            let text = "all segments together come in bursts that no segment shows alone: the scenario repeats the \
                        recorded arrivals of all, and draws the segment of each user";
            found.add(Severity::Note, "segments-together", text.to_owned());
        }
    }
    if let Some(why) = whole.no_cycle.filter(|_| whole.cycle_requested) {
        no_cycle("", why, found);
    }
    for segment in &model.segments {
        if let Some(own) = &segment.arrivals {
            of_one(&segment.name, own, whole, found);
        }
    }
}

/// Why users arrive as recorded, and how much that matters.
fn why_recorded(arrivals: &Arrivals) -> (Severity, &'static str) {
    match (arrivals.process_requested, arrivals.scales.is_empty()) {
        (true, _) => (Severity::Note, "users arrive as recorded, as requested"),
        (_, true) => (Severity::Warning, "the log is too short to choose an arrival process"),
        (_, false) => (Severity::Warning, "no simple arrival process fits"),
    }
}

/// The finding that there is no cycle, of all users or of those named, though it was requested.
fn no_cycle(of: &str, why: NoCycle, found: &mut Findings) {
    let why = match why {
        NoCycle::Bins => "the counts do not add up to hours",
        NoCycle::Short => "a cycle takes at least three days",
        NoCycle::Flat => "the hours of the day do not differ significantly",
    };
    let text = format!(
        "there is no cycle of the day{of}, though one was requested: {why}; users arrive by the process that was found"
    );
    found.add(Severity::Warning, "no-cycle", text);
}

/// A segment whose own arrivals are otherwise than the scenario lets them be.
fn of_one(name: &str, own: &Arrivals, whole: &Arrivals, found: &mut Findings) {
    if whole.process == ArrivalProcess::Poisson && own.poisson_rejected() {
        let text = format!(
            "arrivals of {name:?} alone are not a Poisson process of one rate, though those of all segments together \
             are; the scenario draws its users evenly from all"
        );
        found.add(Severity::Warning, "segment-bursts", text);
    }
    let rates = own.cycle.as_ref().zip(whole.cycle.as_ref());
    if let Some((own, all)) = rates.map(|(own, all)| (&own.rates, &all.rates))
        && own.len() == all.len()
    {
        let own_sum: f64 = own.iter().sum();
        let all_sum: f64 = all.iter().sum();
        let shares = own.iter().zip(all);
        let apart = shares.map(|(o, a)| (o / own_sum - a / all_sum).abs());
        let elsewhen = apart.sum::<f64>() / 2.0;
        if elsewhen > ELSEWHEN_MAX {
            let text = format!(
                "the day of {name:?} differs from that of all: {:.0} % of its users come at other hours than in the \
                 scenario",
                elsewhen * 100.0
            );
            found.add(Severity::Warning, "segment-cycle", text);
        }
    }
}

/// Each segment by a process of its own.
pub(super) fn own_processes(model: &Model, found: &mut Findings) {
    let with = |reason: ProcessReason, kind: ArrivalProcess| -> Vec<&Segment> {
        let segments = model.segments.iter();
        let like = |segment: &&Segment| {
            segment.process.is_some_and(|process| process.reason == reason && process.kind == kind)
        };
        segments.filter(like).collect()
    };
    let count = |kind: ArrivalProcess, words: &str| {
        let those = with(ProcessReason::Own, kind).len() + with(ProcessReason::Given, kind).len();
        (those > 0).then(|| format!("{those} {words}"))
    };
    let processes: Vec<String> = [
        (ArrivalProcess::Poisson, "as a Poisson process of one rate"),
        (ArrivalProcess::Cycle, "as a Poisson process that follows the clock"),
        (ArrivalProcess::Trace, "as recorded"),
    ]
    .into_iter()
    .filter_map(|(kind, words)| count(kind, words))
    .collect();
    if !processes.is_empty() {
        let text = format!("each segment arrives by its own process: {}", processes.join(", "));
        found.add(Severity::Note, "segments-apart", text);
    }
    for (kind, how) in [
        (ArrivalProcess::Cycle, "at the hours of all"),
        (ArrivalProcess::Poisson, "as a Poisson process of one rate"),
        (ArrivalProcess::Trace, "as recorded"),
    ] {
        few(&with(ProcessReason::Few, kind), how, found);
        let given = with(ProcessReason::Given, kind).into_iter();
        let rejected =
            given.filter(|segment| segment.arrivals.as_ref().is_some_and(|a| !a.process_fits));
        let rejected: Vec<&Segment> = rejected.collect();
        if !rejected.is_empty() {
            let text = format!(
                "{} arrive by the requested process, which the log rejects",
                named(&rejected)
            );
            found.add(Severity::Warning, "arrivals-rejected", text);
        }
    }
    missing_cycles(model, found);
    let traced = with(ProcessReason::Own, ArrivalProcess::Trace);
    // Segments are as long as the log, which is too short for all of them or for none.
    if let Some(first) = traced.first().and_then(|segment| segment.arrivals.as_ref()) {
        let text = format!(
            "{} for {}: the scenario repeats their recorded number of arrivals in each {} s, so another seed brings \
             other users at the same times",
            why_recorded(first).1,
            named(&traced),
            first.trace_bin_s
        );
        found.add(Severity::Warning, "arrivals-by-trace", text);
    }
}

/// Segments without the cycle that was requested.
fn missing_cycles(model: &Model, found: &mut Findings) {
    for why in [NoCycle::Bins, NoCycle::Short, NoCycle::Flat] {
        let without = model.segments.iter().filter(|segment| {
            let own = segment.arrivals.as_ref();
            let follows =
                segment.process.map(|process| process.kind) == Some(ArrivalProcess::Cycle);
            !follows && own.is_some_and(|own| own.cycle_requested && own.no_cycle == Some(why))
        });
        let without: Vec<&Segment> = without.collect();
        if !without.is_empty() {
            no_cycle(&format!(" in {}", named(&without)), why, found);
        }
    }
}

/// Segments that cannot have a process of their own.
fn few(segments: &[&Segment], how: &str, found: &mut Findings) {
    if segments.is_empty() {
        return;
    }
    let text = format!(
        "too few sessions for an own process, which takes {SESSIONS_FEW}, and 10 for each rate of a cycle: {}; their \
         users come {how}, each segment at its own rate",
        listed(segments, |segment| format!("{:?} with {}", segment.name, segment.sessions))
    );
    found.add(Severity::Warning, "segments-few", text);
}

fn named(segments: &[&Segment]) -> String {
    listed(segments, |segment| format!("{:?}", segment.name))
}

/// The first of them in these words, and how many more there are.
fn listed(segments: &[&Segment], words: impl Fn(&Segment) -> String) -> String {
    let mut all: Vec<String> = segments.iter().take(NAMED_MAX).map(|one| words(one)).collect();
    if segments.len() > NAMED_MAX {
        all.push(format!("{} more", segments.len() - NAMED_MAX));
    }
    all.join(", ")
}
