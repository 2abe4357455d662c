//! Whether the scenario contains all of the model.

use units::counted;

use super::{Findings, Severity};
use crate::durations::POINTS_MAX;
use crate::format;
use crate::recorded::SEQUENCE_REQUESTS_MAX;
use crate::scenario::{Detail, drawn, is_chain, sequences_each};
use crate::{BehaviourKind, Model};

/// Fewest recorded sessions without a warning, if there are more.
const SEQUENCES_FEW: usize = 200;
/// Above this share of requests for targets that the scenario lacks there is a note …
const TARGETS_MISSED_NOTE: f64 = 0.01;
/// … and above this one a warning.
const TARGETS_MISSED_WARNING: f64 = 0.1;

/// Sessions that the scenario repeats as they were recorded.
pub(super) fn sequences(model: &Model, found: &mut Findings) {
    if model.behaviour != BehaviourKind::Sequences {
        return;
    }
    unknown_targets(model, found);
    let behaviours = || model.segments.iter().map(|segment| &segment.behaviour);
    let too_long: u64 = behaviours().map(|b| b.sequences_too_long).sum();
    if too_long > 0 {
        let text = format!(
            "{} too long to be kept: the scenario never draws {}",
            match too_long {
                1 => "1 session was".to_owned(),
                many => format!("{} were", counted(many, "session")),
            },
            if too_long == 1 { "it" } else { "them" }
        );
        found.add(Severity::Warning, "sequences-long", text);
    }
    let chains =
        model.segments.iter().filter(|segment| model.gap.is_some() && is_chain(model, segment));
    let chains: Vec<String> = chains.map(|segment| format!("{:?}", segment.name)).collect();
    if !chains.is_empty() {
        let text =
            format!("no session of {} could be kept: its users follow a chain", chains.join(", "));
        found.add(Severity::Warning, "sequences-none", text);
    }
    let segments = model.segments.iter();
    let short = segments.map(|segment| segment.sessions - segment.behaviour.sequences_too_long);
    let most = short.max().unwrap_or(0);
    let each = sequences_each(model);
    if (each as u64) < most {
        let segments = match model.segments.len() {
            1 => "",
            _ => "; fewer segments (--segments-max) leave more room for each",
        };
        let text = format!(
            "the scenario draws from {each} recorded sessions of each segment, of up to {most}: it has room for \
             {SEQUENCE_REQUESTS_MAX} of their requests, unless --sequences allows fewer{segments}; lengths are \
             distributed as in the log, rarer behaviour may be missing"
        );
        let severity = match each < SEQUENCES_FEW {
            true => Severity::Warning,
            false => Severity::Note,
        };
        found.add(severity, "sequences-few", text);
    }
}

/// Requests of recorded sessions whose targets are not known.
fn unknown_targets(model: &Model, found: &mut Findings) {
    let mut unknown = 0;
    let mut all = 0;
    for segment in &model.segments {
        let behaviour = &segment.behaviour;
        all += behaviour.sequences.len();
        let known = behaviour.sequence_targets.iter();
        let known = known.filter(|targets| !targets.is_empty());
        unknown += behaviour.sequences.len() - known.count();
    }
    let several = model.classes.iter().any(|class| class.targets.len() > 1);
    if unknown > 0 && several {
        let text = format!(
            "the targets of {unknown} of {all} recorded sessions are unknown, because the log cannot be read a second \
             time: their requests draw targets of their classes, as often as all requests do"
        );
        found.add(Severity::Warning, "sequences-targets", text);
    }
}

/// Targets of the log that the scenario does not request.
pub(super) fn targets(model: &Model, found: &mut Findings) {
    let is_run = |name: &str| name == format::RUN;
    if model.gap.is_none() || model.log.files.iter().any(|file| is_run(&file.format)) {
        return;
    }
    let targets = || model.classes.iter().flat_map(drawn);
    let sample: u64 = targets().map(|target| target.weight).sum();
    // A share as great as that of what the sample has once is not in it at all (Good 1953).
    let once = targets().filter(|target| target.weight == 1).count();
    let share = once as f64 / sample.max(1) as f64;
    if sample >= model.log.requests || share < TARGETS_MISSED_NOTE {
        return;
    }
    let severity = match share < TARGETS_MISSED_WARNING {
        true => Severity::Note,
        false => Severity::Warning,
    };
    let text = format!(
        "chains request {} different targets, those of {sample} requests sampled from the log's {}: {:.1} % of the \
         log's requests had one of these; the scenario never requests the others, so a cache has a higher hit ratio \
         than in the log",
        targets().count(),
        model.log.requests,
        (1.0 - share) * 100.0
    );
    found.add(severity, "targets-sampled", text);
}

/// Findings about details that were left out for the scenario's size.
pub(super) fn detail(model: &Model, found: &mut Findings) {
    let Some(detail) = Detail::largest_that_fits(model).filter(|detail| detail.points < POINTS_MAX)
    else {
        return;
    };
    let sequences = match model.behaviour {
        BehaviourKind::Chain => String::new(),
        BehaviourKind::Sequences => {
            format!(" and {} recorded sessions of each segment", detail.sequences)
        }
    };
    let text = format!(
        "the scenario has room for {} values instead of {POINTS_MAX} for each think time without a fit{sequences}; \
         fewer segments or classes (--segments-max, --classes-max) leave more room for each",
        detail.points
    );
    found.add(Severity::Warning, "scenario-short", text);
}
