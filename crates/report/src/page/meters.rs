//! The document of meters.

use judge::meters::Metered;
use serde::Serialize;

use super::Page;

/// Runs of a page at most.
const RUNS_MAX: usize = 100;

#[derive(Serialize)]
struct MetersDocument<'a> {
    reference: &'a str,
    runs: Vec<Run<'a>>,
    runs_left_out: usize,
}

#[derive(Serialize)]
struct Run<'a> {
    #[serde(flatten)]
    metered: &'a Metered,
    /// What it costs, in sentences; money has digits that numbers of a page have not.
    costs: Vec<String>,
}

impl Page {
    /// The page of the meters of runs, cured against the one of the name `reference`.
    pub fn meters(runs: &[Metered], reference: &str, throng: &str) -> Page {
        let told = &runs[..runs.len().min(RUNS_MAX)];
        let document = MetersDocument {
            reference,
            runs: told.iter().map(run).collect(),
            runs_left_out: runs.len() - told.len(),
        };
        let names: Vec<&str> = told.iter().map(|run| run.name.as_str()).collect();
        let sentences = vec![format!("Meters of {}", names.join(", "))];
        let title = "Meters · Throng".to_owned();
        Page::new(title, sentences, "meters", throng, document)
    }
}

fn run(metered: &Metered) -> Run<'_> {
    let costs = metered.cost.as_ref();
    Run {
        metered,
        costs: costs.map_or(Vec::new(), |(cost, usage)| {
            crate::meters::costs(cost, usage)
        }),
    }
}
