//! The means of an experiment and what came of published claims, as CSV (RFC 4180).

use compare::experiment::{Analysis, ClaimFigures, ClaimPlace};

use crate::csv::table;

/// The means of all responses by combination of levels: a row for each, with its interval and what was published. Values
/// are in base units: nanoseconds, per second, shares of 1.
pub fn experiment_means_csv(analysis: &Analysis) -> String {
    table(|writer| {
        let factors = analysis.factors.iter().map(|factor| factor.name.as_str());
        let columns = ["response", "unit"].into_iter().chain(factors);
        let columns = columns.chain(["runs", "mean", "low", "high", "bound", "published"]);
        writer.write_record(columns)?;
        for response in &analysis.responses {
            let bars = &response.bars;
            for group in &bars.groups {
                for bar in &group.bars {
                    let mut levels = group.levels.clone();
                    if let Some(own) = levels.get_mut(bars.factor) {
                        *own = Some(bar.level);
                    }
                    let mut cells = vec![response.name.clone(), unit(response.unit)];
                    cells.extend(names(analysis, &levels));
                    cells.extend([
                        bar.runs.to_string(),
                        bar.mean.to_string(),
                        known(bar.low),
                        known(bar.high),
                        bar.is_bound.to_string(),
                        known(bar.published),
                    ]);
                    writer.write_record(cells)?;
                }
            }
        }
        Ok(())
    })
}

/// The published claims on all responses: a row for each combination at which one was made; the cell of the factor whose
/// levels are ordered is empty.
pub fn experiment_claims_csv(analysis: &Analysis) -> String {
    table(|writer| {
        let factors = analysis.factors.iter().map(|factor| factor.name.as_str());
        let columns = ["response", "claim", "order", "source"].into_iter();
        let columns = columns.chain(factors).chain(["verdict", "why"]);
        writer.write_record(columns)?;
        for response in &analysis.responses {
            let Some(published) = &response.published else {
                continue;
            };
            for claim in &published.claims {
                let head = [&response.name, &claim.text, &claim.order, &published.source];
                let head: Vec<String> = head.map(Clone::clone).to_vec();
                for tail in places(analysis, claim) {
                    writer.write_record(head.iter().chain(&tail))?;
                }
            }
        }
        Ok(())
    })
}

/// Rows of the places of a claim: the levels, whether the claim holds there, and why. A claim that
/// was not measured anywhere has a row, too.
fn places(analysis: &Analysis, claim: &ClaimFigures) -> Vec<Vec<String>> {
    let row = |levels: &[Option<usize>], verdict: &str, why: &str| {
        let mut cells = names(analysis, levels);
        cells.extend([verdict.to_owned(), why.to_owned()]);
        cells
    };
    let of_place = |place: &ClaimPlace| row(&place.levels, place.verdict.text(), &place.why);
    match &claim.places[..] {
        [] => vec![row(&vec![None; analysis.factors.len()], claim.verdict.text(), "")],
        places => places.iter().map(of_place).collect(),
    }
}

/// The names of levels by factor, empty where there is none.
fn names(analysis: &Analysis, levels: &[Option<usize>]) -> Vec<String> {
    let all = analysis.factors.iter().zip(levels);
    all.map(|(factor, level)| {
        let name = level.and_then(|level| factor.levels.get(level));
        name.cloned().unwrap_or_default()
    })
    .collect()
}

/// The factors and levels of a combination, without factors that have none in it.
pub(super) fn levels_of<'a>(
    analysis: &'a Analysis,
    levels: &[Option<usize>],
) -> Vec<(&'a str, &'a str)> {
    let all = analysis.factors.iter().zip(levels);
    let known = all.filter_map(|(factor, level)| {
        let level = factor.levels.get((*level)?)?;
        Some((factor.name.as_str(), level.as_str()))
    });
    known.collect()
}

/// `users=250, requests=10`.
pub(super) fn at(levels: &[(&str, &str)]) -> String {
    let parts = levels.iter().map(|(factor, level)| format!("{factor}={level}"));
    parts.collect::<Vec<_>>().join(", ")
}

/// As `analysis.json` writes it.
fn unit(unit: units::Unit) -> String {
    let text = serde_json::to_value(unit).ok();
    let text = text.and_then(|value| value.as_str().map(str::to_owned));
    text.unwrap_or_default()
}

fn known(value: Option<f64>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}
