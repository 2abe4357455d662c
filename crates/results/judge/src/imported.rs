//! The verdict on plain samples of another tool: figures of their operations, and what nobody can know.

use record::Run;
use record::import::Import;
use record::samples::NO_CLOCK;
use record::schema::{
    FORMAT_VERSION, Finding, HealthSummary, Severity, Summary, UsersSummary, Verdict,
};

use crate::totals::operations;
use crate::{Figures, JudgeError, finding, measures};

/// Judges imported samples: figures and findings, without thresholds. Nothing is known of the generator,
/// and that is the first finding. The rate is 0 if it is not known when operations started.
///
/// # Errors
/// A file of the directory cannot be read.
pub fn judge_samples(run: &Run, import: &Import) -> Result<Summary, JudgeError> {
    let figures = Figures::read(run)?;
    let info = &figures.info;
    let mut measures = measures(&figures, None);
    let has_clock = info.clock != NO_CLOCK;
    if !has_clock {
        for measure in &mut measures {
            measure.rate_per_s = 0.0;
            measure.offered_per_s = None;
            measure.begun_per_s = None;
        }
    }
    let absent = import.absent.iter();
    let findings = std::iter::once(generator_unknown()).chain(absent.map(|what| {
        let text = format!("not in the imported samples: {what}");
        finding(Severity::Note, "samples-lack", text).done()
    }));
    Ok(Summary {
        format: FORMAT_VERSION,
        id: info.id.clone(),
        name: info.name.clone(),
        verdict: Verdict::Measured,
        allow_lost_workers: false,
        expects_overload: false,
        findings: findings.collect(),
        errors: crate::errors::summarise(&figures),
        incidents: Vec::new(),
        thresholds: Vec::new(),
        users: UsersSummary::default(),
        health: HealthSummary::default(),
        traffic: None,
        tls_handshakes: None,
        clocks: Vec::new(),
        own_work: Vec::new(),
        operations: operations(&measures),
        measures,
        totals: Vec::new(),
        regions: Vec::new(),
        tags: Vec::new(),
        metrics: Vec::new(),
        phases: Vec::new(),
    })
}

/// The first finding on imported results.
pub fn generator_unknown() -> Finding {
    let text = "another generator measured these results: whether it kept up is unknown, and \
        latencies may include its lag";
    finding(Severity::Warning, "generator-unknown", text.to_owned()).done()
}
