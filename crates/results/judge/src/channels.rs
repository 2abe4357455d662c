//! Channels that the target ended although their users had not left them.

use record::Outcome;
use record::schema::{Finding, MeasureSummary, Severity};

use crate::case::Case;
use crate::finding::finding;

/// Most steps that the text names.
const STEPS_MAX: usize = 4;

/// Channels that the target ended, by step.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let of = |measure: &MeasureSummary| {
        let kinds = &measure.errors_by_kind;
        kinds.get(Outcome::ChannelClosed.name()).copied()
    };
    let mut steps: Vec<(&str, u64)> = case
        .measures
        .iter()
        .filter_map(|measure| Some((measure.name.as_str(), of(measure)?)))
        .filter(|&(_, count)| count > 0)
        .collect();
    steps.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let total: u64 = steps.iter().map(|&(_, count)| count).sum();
    if total == 0 {
        return Vec::new();
    }
    let named = steps.iter().take(STEPS_MAX);
    let mut named: Vec<String> =
        named.map(|(name, count)| format!("{} at `{name}`", units::count(*count))).collect();
    let rest: u64 = steps.iter().skip(STEPS_MAX).map(|&(_, count)| count).sum();
    if rest > 0 {
        named.push(format!("{} at other steps", units::count(rest)));
    }
    let text = format!(
        "the target ended {} that users had joined and not left: {}",
        units::counted(total, "channel"),
        named.join(", ")
    );
    let mut draft = finding(Severity::Warning, "channels-ended", text);
    draft = draft.with("channels", total as f64);
    for (name, count) in steps {
        draft = draft.with(name, count as f64);
    }
    vec![draft.done()]
}

#[cfg(test)]
mod tests {
    use record::schema::MeasureInfo;

    use super::*;
    use crate::figures::Figures;
    use crate::sample::{self, REQUEST, fail, figures, judged};

    /// The finding of ended channels, if there is one.
    fn ended_in(figures: &Figures) -> Option<Finding> {
        let mut findings = judged(figures).findings.into_iter();
        findings.find(|finding| finding.code == "channels-ended")
    }

    #[test]
    fn channels_that_the_target_ended_are_named_by_step() {
        let mut figures = figures();
        fail(&mut figures, REQUEST, Outcome::ChannelClosed, 40);
        fail(&mut figures, REQUEST, Outcome::Timeout, 900);
        let found = ended_in(&figures).unwrap();
        let text =
            "the target ended 40 channels that users had joined and not left: 40 at `request`";
        assert_eq!(found.text, text);
        assert_eq!(found.severity, Severity::Warning);
        assert_eq!(found.evidence["channels"], 40.0);
        assert_eq!(found.evidence["request"], 40.0);
        fail(&mut figures, 0, Outcome::ChannelClosed, 60);
        let found = ended_in(&figures).unwrap();
        assert!(found.text.ends_with("60 at `connect`, 40 at `request`"), "{}", found.text);
    }

    #[test]
    fn few_steps_are_named() {
        let mut info = sample::info();
        for n in 0..6 {
            info.measures.push(MeasureInfo::new(&format!("join {n}"), "request"));
        }
        let mut figures = Figures::new(info, (0..60).map(sample::row).collect(), Vec::new());
        for n in 0..6 {
            fail(&mut figures, 2 + n, Outcome::ChannelClosed, 10 - n as u64);
        }
        let found = ended_in(&figures).unwrap();
        assert!(found.text.ends_with("7 at `join 3`, 11 at other steps"), "{}", found.text);
        assert_eq!(found.evidence["channels"], 45.0);
    }

    #[test]
    fn other_errors_end_no_channel() {
        let mut figures = figures();
        fail(&mut figures, REQUEST, Outcome::Rejected, 5);
        assert!(ended_in(&figures).is_none());
    }
}
