//! Attempts that failed and were tried again (`retry`).

use record::schema::{Finding, MeasureSummary, Severity};

use crate::case::Case;
use crate::finding::finding;
use crate::limits::{RETRIED_SHARE_MAX, STEPS_NAMED_MAX};

/// Attempts that were tried again, by the step at which they failed, and the number that each block needed.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    Vec::from_iter(retried(&case.measures))
}

fn retried(measures: &[MeasureSummary]) -> Option<Finding> {
    let retried = measures.iter().filter(|m| m.retried > 0);
    let is_block = |m: &&MeasureSummary| m.kind == "transaction";
    let mut blocks: Vec<&MeasureSummary> = retried.clone().filter(is_block).collect();
    let mut steps: Vec<&MeasureSummary> = retried.filter(|m| !is_block(m)).collect();
    let all: u64 = blocks.iter().map(|m| m.retried).sum();
    if all == 0 {
        return None;
    }
    steps.sort_by_key(|m| std::cmp::Reverse(m.retried));
    blocks.sort_by(|a, b| share(b).total_cmp(&share(a)));
    let mut failed: Vec<String> = steps
        .iter()
        .take(STEPS_NAMED_MAX)
        .map(|m| format!("{} at {}", units::count(m.retried), m.name))
        .collect();
    let others: u64 = steps.iter().skip(STEPS_NAMED_MAX).map(|m| m.retried).sum();
    if others > 0 {
        failed.push(format!("{} at other steps", units::count(others)));
    }
    let by_step: u64 = steps.iter().map(|m| m.retried).sum();
    if by_step < all {
        failed.push(format!("{} at `until`", units::count(all - by_step)));
    }
    let each = blocks.iter().take(STEPS_NAMED_MAX).map(|m| {
        let attempts = attempts(m) as f64 / m.count.max(1) as f64;
        let attempts = units::significant(attempts, 3);
        let lost = match m.errors {
            0 => String::new(),
            lost => format!(", {} without success", units::count(lost)),
        };
        format!("{} ({attempts} attempts each{lost})", m.name)
    });
    let each: Vec<String> = each.collect();
    let text = format!(
        "{} and {} tried again: {}; by block: {}",
        match all {
            1 => "1 attempt failed".to_owned(),
            _ => format!("{} attempts failed", units::count(all)),
        },
        if all == 1 { "was" } else { "were" },
        failed.join(", "),
        each.join(", "),
    );
    let worst = blocks.first().map_or(0.0, |m| share(m));
    let severity = match worst > RETRIED_SHARE_MAX {
        true => Severity::Warning,
        false => Severity::Note,
    };
    let draft = finding(severity, "attempts-retried", text);
    Some(draft.with("retries", all as f64).with("share", worst).done())
}

/// Attempts at the steps of a block: each block that ended had a last one.
fn attempts(block: &MeasureSummary) -> u64 {
    block.retried + block.count
}

/// The share of them that were tried again.
fn share(block: &MeasureSummary) -> f64 {
    block.retried as f64 / attempts(block).max(1) as f64
}

#[cfg(test)]
mod tests {
    use record::schema::MeasureInfo;

    use super::*;
    use crate::sample;

    /// The finding of 1,000 blocks; each count is that of attempts that were tried again.
    fn found(block: u64, step: u64) -> Option<(Severity, String)> {
        let mut figures = sample::figures();
        let measures = &mut figures.info.measures;
        measures.push(MeasureInfo::new("pay", "transaction"));
        let place = measures.len() - 1;
        figures.begun = vec![0; place + 1];
        figures.retried = vec![0; place + 1];
        figures.retried[sample::REQUEST] = step;
        figures.retried[place] = block;
        let mut measures = crate::measures(&figures, None);
        let mut pay = measures[0].clone();
        pay.name = "pay".to_owned();
        pay.kind = "transaction".to_owned();
        pay.count = 1000;
        pay.errors = 3;
        pay.retried = block;
        measures.retain(|m| m.name != "pay");
        measures.push(pay);
        let finding = retried(&measures)?;
        Some((finding.severity, finding.text))
    }

    #[test]
    fn attempts_are_reported_by_step_and_by_block() {
        assert_eq!(found(0, 0), None);
        let text = "20 attempts failed and were tried again: 18 at request, 2 at `until`; by block: pay (1.02 attempts \
                    each, 3 without success)";
        assert_eq!(found(20, 18), Some((Severity::Note, text.to_owned())));
    }

    #[test]
    fn more_than_one_in_ten_is_a_warning() {
        let severity = |block| found(block, block).map(|(severity, _)| severity);
        assert_eq!(severity(111), Some(Severity::Note));
        assert_eq!(severity(112), Some(Severity::Warning));
    }
}
