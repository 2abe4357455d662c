//! Workers that were lost: processes that ran a share of the loops and were no more.

use record::schema::{EventKind, Finding, Severity};

use crate::figures::Figures;
use crate::findings::finding;
use crate::limits::LOSSES_TOLD_MAX;
use crate::words;

/// A finding for each lost worker, and one for those that are too many to be told. `judge_rest`: the
/// others are to be judged none the less.
pub(super) fn found(figures: &Figures, judge_rest: bool) -> Vec<Finding> {
    let severity = if judge_rest {
        Severity::Warning
    } else {
        Severity::Fatal
    };
    let losses: Vec<&EventKind> = figures.losses().collect();
    let told = losses.iter().take(LOSSES_TOLD_MAX);
    let mut findings: Vec<Finding> = told
        .filter_map(|loss| one(figures, loss, severity))
        .collect();
    if let Some(further) = losses.len().checked_sub(LOSSES_TOLD_MAX).filter(|n| *n > 0) {
        let text = format!(
            "{} lost, too; `events.jsonl` tells of each",
            words::counted(further as u64, "further worker"),
        );
        let draft = finding(severity, "worker-lost", text);
        findings.push(draft.with("workers", further as f64).done());
    }
    if let Some(last) = findings.last_mut() {
        last.text += if judge_rest {
            "; as was asked for, what follows is judged by the others"
        } else {
            "; `throng show --judge-rest` judges what the others measured"
        };
    }
    findings
}

fn one(figures: &Figures, loss: &EventKind, severity: Severity) -> Option<Finding> {
    let &EventKind::WorkerLost {
        worker,
        loops_first,
        loops,
        told_ns,
        users,
        users_due_after,
        ref why,
        ..
    } = loss
    else {
        return None;
    };
    let workers = &figures.info.workers;
    let lost_at_ns = workers.get(worker as usize).and_then(|w| w.lost_at_ns);
    let all = u64::from(figures.info.generator.loops);
    let first = u64::from(loops_first);
    let last = first + u64::from(loops).saturating_sub(1);
    let which = if first == last {
        format!("{first}")
    } else {
        format!("{first} to {last}")
    };
    let text = format!(
        "worker {} of {} was lost at {} ({why}): {} users were gone, {} more never came (those \
         whose number leaves {which} when it is divided by {all})",
        u64::from(worker) + 1,
        workers.len(),
        words::duration(lost_at_ns.unwrap_or(told_ns) as f64),
        words::count(users),
        words::count(users_due_after),
    );
    let draft = finding(severity, "worker-lost", text)
        .with("worker", f64::from(worker))
        .with("told_ns", told_ns as f64)
        .with("users", users as f64)
        .with("users_due_after", users_due_after as f64)
        .with("loops", f64::from(loops));
    Some(draft.done())
}
