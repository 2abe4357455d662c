//! A target that did not keep up: what there is to say of it, and what that means for the verdict.

use record::schema::{Finding, Verdict};

use crate::case::Case;
use crate::figures::Figures;
use crate::saturation::{Overload, Saturation};
use crate::silence;

/// Silences and saturation, the one that explains the most first.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let Overload { silences, saturation } = &case.overload;
    let saturation = saturation.as_ref().filter(|found| !found.is_short());
    let first = saturation.filter(|found| found.is_too_late());
    let last = saturation.filter(|found| !found.is_too_late());
    let first = first.map(Saturation::finding).into_iter();
    let silences = silences.iter().map(silence::finding_of);
    first.chain(silences).chain(last.map(Saturation::finding)).collect()
}

/// A run too short to say whether its target keeps up.
pub(crate) fn too_short(case: &Case<'_>) -> Vec<Finding> {
    let saturation = case.overload.saturation.iter();
    let short = saturation.filter(|found| found.is_short());
    short.map(Saturation::finding).collect()
}

/// True of findings that say that the target did not do what was due to the end.
pub fn fails_to_keep_up(finding: &Finding) -> bool {
    finding.is_overload()
}

/// The verdict of a run whose target may have fallen behind or stopped: not passed then, unless the scenario expects it.
pub(crate) fn verdict(figures: &Figures, findings: &[Finding], verdict: Verdict) -> Verdict {
    match verdict {
        Verdict::Passed
            if findings.iter().any(fails_to_keep_up) && !figures.info.expects_overload =>
        {
            Verdict::Failed
        }
        other => other,
    }
}
