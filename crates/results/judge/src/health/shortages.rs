//! Users and operations that were turned away.

use record::schema::{Finding, Severity};

use crate::case::Case;
use crate::finding::finding;
use crate::generator::{self, Shortage};

/// Users and operations turned away because of a lack of files, ports or memory: a finding for each resource.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let all = case.shortfall.shortages.iter();
    all.map(|shortage| finding_of(shortage, case)).collect()
}

fn finding_of(shortage: &Shortage, case: &Case<'_>) -> Finding {
    let Case { figures, users, .. } = case;
    let lost = match users.refused {
        0 => format!("with {}", units::counted(shortage.operations, "failed operation")),
        refused => format!("({} refused)", units::count(refused)),
    };
    let text = format!(
        "planned {} users, reached {} {lost}: {}; fix: {}",
        units::about(users.planned),
        units::count(users.started),
        shortage.what,
        shortage.fix,
    );
    finding(Severity::Fatal, shortage.code, text)
        .with("users_planned", users.planned)
        .with("users_started", users.started as f64)
        .with("users_refused", users.refused as f64)
        .with("operations_refused", shortage.operations as f64)
        .with("connections_peak", figures.peak(|row| row.connections) as f64)
        .with("in_flight_peak", figures.peak(|row| row.in_flight) as f64)
        .with("files", generator::open_files(figures) as f64)
        .done()
}
