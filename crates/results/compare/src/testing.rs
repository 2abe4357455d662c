//! Pieces of comparisons for the tests.

use crate::{Change, ComparedMeasure, ComparedRun, Figure, RunFigures, Side, Source, Verdict};

/// A change that was seen, and its values.
pub(crate) fn change(figure: Figure, from: f64, to: f64, counts: bool) -> Change {
    Change {
        figure,
        label: figure.label(),
        primary: false,
        baseline: Some(from),
        candidate: Some(to),
        windows: None,
        difference: to - from,
        interval: None,
        relative: (from != 0.0).then(|| (to - from) / from),
        relative_interval: None,
        t: 0.0,
        p: 0.0,
        p_adjusted: 0.0,
        neighbours: None,
        seen: true,
        counts,
    }
}

/// A measure with these changes, of which nothing was decided yet.
pub(crate) fn measure(name: &str, changes: Vec<Change>) -> ComparedMeasure {
    ComparedMeasure {
        name: name.to_owned(),
        kind: "request".to_owned(),
        verdict: Verdict::Inconclusive,
        text: String::new(),
        source: Source::Rows,
        error_bound: 0.0,
        runs: Vec::new(),
        changes,
        evidence: None,
        serial: Vec::new(),
        direct: None,
        published: None,
        published_bins: None,
        modes: Vec::new(),
        detect: Vec::new(),
        curves: None,
    }
}

/// A run of a side.
pub(crate) fn run(label: &str, side: Side) -> ComparedRun {
    ComparedRun {
        label: label.to_owned(),
        side,
        id: label.to_owned(),
        directory: format!("runs/{label}"),
        target: "http://127.0.0.1:8080".to_owned(),
        started_unix_ns: 0,
        seconds: 10.0,
        timed: true,
        trusted: true,
    }
}

/// The figures of a run in which this share of a hundred operations failed, as far as it is known.
pub(crate) fn run_figures(error_rate: Option<f64>) -> RunFigures {
    RunFigures {
        count: 100,
        rate: None,
        error_rate,
        all: None,
        mean_ns: Some(1e6),
        quantiles_ns: vec![1e6],
    }
}
