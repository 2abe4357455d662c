//! The verdict on imported results: what they show, and what nobody can know from them.

use record::import::Import;
use record::schema::{
    FORMAT_VERSION, Finding, HealthSummary, RunInfo, Severity, Summary, Tally, UsersSummary,
    Verdict,
};

use judge::totals::operations;
use judge::{Figures, clients, error_findings, finding, measures};

/// Judges imported results: figures and findings, without thresholds. Nothing is known of the
/// generator, and that is the first finding.
pub fn judge(info: &RunInfo, import: &Import, tally: &Tally) -> Summary {
    let mut figures = Figures::new(info.clone(), Vec::new(), Vec::new());
    figures.add_tally(tally);
    let measures = measures(&figures, None);
    let mut findings = judge::failures(&[], &measures, &[]);
    let verdict = match findings.is_empty() {
        true => Verdict::Measured,
        false => Verdict::Failed,
    };
    findings.push(judge::generator_unknown());
    findings.extend(unreachable(import));
    findings.extend(import.repairs.iter().map(repaired));
    findings.extend(error_findings(&measures, &[]));
    findings.push(bounded(import));
    Summary {
        format: FORMAT_VERSION,
        id: info.id.clone(),
        name: info.name.clone(),
        verdict,
        allow_lost_workers: false,
        expects_overload: false,
        findings,
        errors: Vec::new(),
        incidents: Vec::new(),
        thresholds: Vec::new(),
        users: users(info, import),
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
    }
}

/// Users as the clients count them; who was connected made a handshake.
fn users(info: &RunInfo, import: &Import) -> UsersSummary {
    let handshake = info.measures.iter().position(|m| m.kind == "handshake");
    let handshake = handshake.and_then(|at| u16::try_from(at).ok());
    let reported = handshake.and_then(|measure| clients::pool(import, measure, |_| true));
    let connected = reported.map_or(0, |reported| reported.pooled.count);
    let failed: u64 = import.clients.iter().map(|client| client.failed).sum();
    UsersSummary {
        planned: info.phases.iter().map(|phase| phase.users_planned).sum(),
        started: connected.saturating_add(failed),
        connected,
        ..UsersSummary::default()
    }
}

fn unreachable(import: &Import) -> Option<Finding> {
    let first = import.unreachable.first()?;
    let count = import.unreachable.len();
    let text = format!(
        "{} of {} left no readable report, and their measurements are missing from all figures; \
         the first: {} in {}: {}",
        units::count(count as u64),
        units::counted((count + import.clients.len()) as u64, "client"),
        first.host,
        first.region,
        first.why,
    );
    let finding = finding(Severity::Warning, "clients-unreachable", text);
    Some(finding.with("clients", count as f64).done())
}

fn repaired(repair: &record::import::Repair) -> Finding {
    let severity = match repair.lossy {
        true => Severity::Warning,
        false => Severity::Note,
    };
    let text = format!(
        "{} × {} (`{}`; first: {})",
        units::count(repair.count),
        repair.text,
        repair.code,
        repair.first
    );
    let finding = finding(severity, "import-repaired", text);
    finding.with("count", repair.count as f64).done()
}

fn bounded(import: &Import) -> Finding {
    let text = format!(
        "percentiles of {} cannot be merged: the table shows the bounds between which they lie, \
         with a resolution of {}",
        units::counted(import.clients.len() as u64, "client"),
        units::duration(import.resolution_ns as f64),
    );
    finding(Severity::Note, "percentiles-bounded", text).done()
}

#[cfg(test)]
mod tests;
