//! What others measured, beside what the runs did.

use super::analysis::{PublishedFigures, PublishedTerm};
use super::{Data, ResponseData, Row, response};

/// The model of response `number`, multiplicative or not as that of the runs, fitted to the values that were published
/// for it; `None` if there are none or it does not suit them.
pub(super) fn figures(
    data: &Data,
    number: usize,
    multiplicative: bool,
) -> Option<PublishedFigures> {
    let own = &data.responses[number];
    if own.published.is_empty() || own.published.len() != data.planned.len() {
        return None;
    }
    // Without logarithms they would be fitted by another model.
    if multiplicative && own.published.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let cells: Vec<(Vec<usize>, f64)> = data
        .planned
        .iter()
        .cloned()
        .zip(own.published.iter().copied())
        .collect();
    let row = |(levels, value): &(Vec<usize>, f64)| Row {
        levels: levels.clone(),
        values: vec![Some(*value)],
        bounds: Vec::new(),
        run: String::new(),
    };
    let theirs = Data {
        name: data.name.clone(),
        factors: data.factors.clone(),
        responses: vec![ResponseData {
            multiplicative,
            published: Vec::new(),
            ..own.clone()
        }],
        rows: cells.iter().map(row).collect(),
        planned: Vec::new(),
        repetitions: 1,
        left_out: Vec::new(),
        confidence: data.confidence,
    };
    let fit = response::analyze(&theirs, 0).fit?;
    let terms = fit.terms.into_iter().map(|term| PublishedTerm {
        name: term.name,
        effect: term.effect.map(|effect| effect.value),
        share: term.share,
    });
    Some(PublishedFigures {
        mean: fit.mean.value,
        terms: terms.collect(),
        cells,
    })
}
