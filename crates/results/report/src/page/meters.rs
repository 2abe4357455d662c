//! The document of meters.

use judge::meters::RunMeters;
use serde::Serialize;

use super::{Content, Page};

/// Most runs in a page.
const RUNS_MAX: usize = 100;

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(super) struct MetersDocument<'a> {
    reference: &'a str,
    runs: Vec<Run<'a>>,
    runs_left_out: usize,
}

impl Content for MetersDocument<'_> {
    const KIND: &'static str = "meters";
}

#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
struct Run<'a> {
    #[serde(flatten)]
    metered: &'a RunMeters,
    /// Costs in sentences: decimal amounts of money, which are exact.
    costs: Vec<String>,
}

impl Page {
    /// The page of the meters of runs, normalised to the run of the name `reference`.
    pub fn meters(runs: &[RunMeters], reference: &str, throng: &str) -> Page {
        let shown = &runs[..runs.len().min(RUNS_MAX)];
        let document = MetersDocument {
            reference,
            runs: shown.iter().map(run).collect(),
            runs_left_out: runs.len() - shown.len(),
        };
        let names: Vec<&str> = shown.iter().map(|run| run.name.as_str()).collect();
        let sentences = vec![format!("Meters of {}", names.join(", "))];
        let title = "Meters · Throng".to_owned();
        Page::new(title, sentences, throng, &document)
    }
}

fn run(metered: &RunMeters) -> Run<'_> {
    let costs = metered.cost.as_ref();
    Run {
        metered,
        costs: costs.map_or(Vec::new(), |(cost, usage)| crate::meters::costs(cost, usage)),
    }
}
