//! The run of `testkit::runs::sample`, all well. Tests spoil what they are about.

use std::collections::BTreeMap;

use record::Outcome;
use record::schema::{FORMAT_VERSION, Finding, MeasureInfo, SeriesRow, Summary};

use crate::{Figures, judge_figures};

pub(crate) use testkit::runs::sample::{REQUEST, info, phase, row};
pub(crate) use testkit::runs::{MS, SECOND, US};

/// The number of updates among the measures.
pub(crate) const UPDATE: usize = 2;

/// The run of the module's head.
pub(crate) fn figures() -> Figures {
    let mut figures = Figures::new(info(), (0..60).map(row).collect(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 6000, 10 * MS, 20 * US);
    figures
}

/// The sample with these measures of messages besides, of which nothing was counted yet.
pub(crate) fn with_messages(names: &[String]) -> Figures {
    let mut info = info();
    info.measures.truncate(UPDATE);
    info.measures.extend(names.iter().map(|name| MeasureInfo::new(name, "message")));
    let mut figures = Figures::new(info, (0..60).map(row).collect(), Vec::new());
    succeed(&mut figures, 0, REQUEST, 6000, 10 * MS, 20 * US);
    figures
}

/// The sample with changed seconds; the cells stay as they are.
pub(crate) fn with_rows(change: impl Fn(&mut SeriesRow)) -> Figures {
    let mut figures = figures();
    figures.series.iter_mut().for_each(change);
    figures
}

/// Adds operations that succeeded.
pub(crate) fn succeed(
    figures: &mut Figures,
    phase: usize,
    measure: usize,
    n: u64,
    response_ns: u64,
    lag_ns: u64,
) {
    let cell = figures.cell_mut(phase, measure).expect("the sample has this cell");
    cell.response.record_n(response_ns, n);
    cell.service.record_n(response_ns - lag_ns, n);
    cell.lag.record_n(lag_ns, n);
    *cell.outcomes.entry(Outcome::Ok.name().to_owned()).or_default() += n;
}

/// Adds operations that ended otherwise.
pub(crate) fn fail(figures: &mut Figures, measure: usize, outcome: Outcome, n: u64) {
    let cell = figures.cell_mut(0, measure).expect("the sample has this cell");
    *cell.outcomes.entry(outcome.name().to_owned()).or_default() += n;
}

/// Judged without thresholds.
pub(crate) fn judged(figures: &Figures) -> Summary {
    judge_figures(figures, &[], false)
}

/// Findings as one text: severity and code, then the sentence in lines of at most 80 characters.
pub(crate) fn rendered(findings: &[Finding]) -> String {
    let mut text = String::new();
    for finding in findings {
        text += &format!("{:?} {}\n", finding.severity, finding.code);
        let mut width = 80;
        for word in finding.text.split(' ') {
            width += word.chars().count() + 1;
            if width > 80 {
                width = word.chars().count();
                text += if text.ends_with('\n') { "   " } else { "\n   " };
            }
            text += " ";
            text += word;
        }
        text += "\n";
    }
    text
}

/// Two clients: one with 100 handshakes around 10 ms, one with 300 around 30 ms.
pub(crate) fn import() -> record::Import {
    use record::import::{
        ClientReport, Import, Repair, ReportedMeasure, ReportedPercentile, Unreachable,
    };
    let client = |region: &str, count: u64, ms: u64| ClientReport {
        region: region.to_owned(),
        host: "10.0.0.1".to_owned(),
        users_planned: count + 1,
        online_ns: 60 * SECOND,
        connected: count,
        disconnected: 0,
        failed: 1,
        errors: BTreeMap::from([("read ECONNRESET".to_owned(), 1)]),
        measures: vec![ReportedMeasure {
            measure: 0,
            count,
            mean_ns: (ms * MS) as f64,
            deviation_ns: MS as f64,
            min_ns: ms * MS / 2,
            median_ns: ms * MS,
            max_ns: 2 * ms * MS,
            percentiles: [("50%", 0.5, ms), ("98%", 0.98, ms * 5 / 3)]
                .map(|(label, share, ms)| ReportedPercentile {
                    label: label.to_owned(),
                    share: Some(share),
                    value_ns: ms * MS,
                })
                .to_vec(),
        }],
    };
    Import {
        format: FORMAT_VERSION,
        layout: "thesis".to_owned(),
        source: "results".to_owned(),
        resolution_ns: MS,
        repairs: vec![Repair {
            code: "gap".to_owned(),
            count: 5,
            text: "minutes without a row inside a metric".to_owned(),
            lossy: true,
            first: "servers/eu/a/cpu.csv".to_owned(),
        }],
        absent: Vec::new(),
        unreachable: vec![Unreachable {
            region: "eu".to_owned(),
            host: "10.0.0.3".to_owned(),
            why: "it is empty".to_owned(),
        }],
        clients: vec![client("eu", 100, 10), client("us", 300, 30)],
    }
}
