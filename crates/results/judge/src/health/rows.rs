//! Rows of a fleet's run that are not in the record.

use record::schema::{Finding, RowsKept, Severity, WorkerInfo};

use crate::case::Case;
use crate::finding::finding;
use crate::limits::AGENTS_LISTED_MAX;

/// Rows that agents kept, or did not write.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    of_workers(&case.figures.info.workers)
}

fn of_workers(workers: &[WorkerInfo]) -> Vec<Finding> {
    let left: Vec<_> = workers
        .iter()
        .filter_map(|worker| Some((worker.agent.as_deref()?, worker.rows.as_ref()?)))
        .collect();
    if left.is_empty() {
        return Vec::new();
    }
    if left.iter().any(|(_, rows)| rows.kept == RowsKept::Nowhere) {
        let text = "no rows of single operations were written (--rows none); percentiles and counts cover all \
                    operations; `compare` has histograms only, `analyze` has neither outages nor the laws of queues, \
                    and there are no errors by kind over time";
        return vec![finding(Severity::Note, "rows-none", text.to_owned()).done()];
    }
    let sum = |of: &dyn Fn(&record::schema::WorkerRows) -> u64| -> u64 {
        let counts = left.iter().map(|(_, rows)| of(rows));
        counts.fold(0, u64::saturating_add)
    };
    let rows = sum(&|rows| rows.part.as_ref().map_or(0, |part| part.rows));
    let bytes = sum(&|rows| rows.part.as_ref().map_or(0, |part| part.bytes));
    let text = format!(
        "rows of single operations stayed on the machines of {} ({}, {} known); percentiles and counts cover all \
         operations; `throng fleet fetch` brings the rows for `compare` and `analyze`",
        units::counted(left.len() as u64, "agent"),
        units::counted(rows, "row"),
        units::bytes(bytes),
    );
    let kept = finding(Severity::Note, "rows-left", text)
        .with("rows", rows as f64)
        .with("bytes", bytes as f64);
    let mut findings = vec![kept.done()];
    let unwritten = left.iter().filter(|(_, rows)| rows.lost > 0);
    for (agent, rows) in unwritten.take(AGENTS_LISTED_MAX) {
        let why = rows.problem.as_deref().unwrap_or("it did not say why");
        let text = format!(
            "agent {agent} did not write {}: {why}; percentiles and counts cover them",
            units::counted(rows.lost, "row")
        );
        let lost = finding(Severity::Warning, "rows-lost", text);
        findings.push(lost.with("rows", rows.lost as f64).done());
    }
    findings
}

#[cfg(test)]
mod tests {
    use record::schema::{RowsPart, WorkerRows};

    use super::*;

    fn worker(agent: &str, kept: RowsKept, lost: u64) -> WorkerInfo {
        let part = RowsPart { sha256: "00".repeat(32), rows: 1_000, bytes: 30_000 };
        WorkerInfo {
            agent: Some(agent.to_owned()),
            rows: Some(WorkerRows {
                part: Some(part),
                lost,
                problem: (lost > 0).then(|| "the disk has no room".to_owned()),
                ..WorkerRows::new(kept, "r1")
            }),
            ..WorkerInfo::default()
        }
    }

    fn codes(workers: &[WorkerInfo]) -> Vec<String> {
        of_workers(workers).into_iter().map(|f| f.code).collect()
    }

    #[test]
    fn rows_that_are_not_in_the_record_are_a_finding() {
        assert_eq!(of_workers(&[WorkerInfo::default()]), []);
        let none = [worker("a1", RowsKept::Nowhere, 0)];
        assert_eq!(codes(&none), ["rows-none"]);
        let left = [1, 2].map(|n| worker(&format!("a{n}"), RowsKept::Agent, 0));
        let found = of_workers(&left);
        assert_eq!(found[0].evidence["rows"], 2_000.0);
        assert!(found[0].text.contains("2 agents (2,000 rows"), "{}", found[0].text);
        assert_eq!(found.len(), 1);
    }

    #[test]
    fn an_agent_that_could_not_write_rows_is_named() {
        let one = [worker("a1", RowsKept::Agent, 0), worker("a2", RowsKept::Agent, 7)];
        assert_eq!(codes(&one), ["rows-left", "rows-lost"]);
        let text = &of_workers(&one)[1].text;
        assert!(text.starts_with("agent a2 did not write 7 rows: the disk has"), "{text}");
    }
}
