//! Published values, beside those of the runs.

use super::analysis::{PublishedFigures, PublishedTerm};
use super::claims::ClaimFigures;
use super::{Data, PublishedResponse, ResponseData, Row, response};

/// The published figures of response `number`: the values, the model of the response,
/// multiplicative or not as that of the runs, fitted to them, and the verdicts on its claims.
/// `None` if nothing was published.
pub(super) fn figures(
    data: &Data,
    number: usize,
    multiplicative: bool,
    claims: Vec<ClaimFigures>,
) -> Option<PublishedFigures> {
    let own = &data.responses[number];
    let cells = cells(data, own);
    if cells.is_empty() && claims.is_empty() {
        return None;
    }
    let (mean, terms) = fit(data, own, &cells, multiplicative)
        .map_or((None, Vec::new()), |(mean, terms)| (Some(mean), terms));
    Some(PublishedFigures { source: own.published.source.clone(), mean, terms, cells, claims })
}

/// The combinations whose value was published, with it.
pub(super) fn cells(data: &Data, own: &ResponseData) -> Vec<(Vec<usize>, f64)> {
    let values = &own.published.values;
    if values.len() != data.planned.len() {
        return Vec::new();
    }
    let cells = data.planned.iter().zip(values);
    let known = cells.filter_map(|(levels, value)| Some((levels.clone(), (*value)?)));
    known.collect()
}

/// The mean and the terms of the values; `None` if some are missing or do not suit the model.
fn fit(
    data: &Data,
    own: &ResponseData,
    cells: &[(Vec<usize>, f64)],
    multiplicative: bool,
) -> Option<(f64, Vec<PublishedTerm>)> {
    if cells.len() < data.planned.len() {
        return None;
    }
    // Without logarithms they would be fitted by another model.
    if multiplicative && cells.iter().any(|(_, value)| *value <= 0.0) {
        return None;
    }
    let row = |(levels, value): &(Vec<usize>, f64)| Row {
        levels: levels.clone(),
        values: vec![Some(*value)],
        bounds: Vec::new(),
        run: String::new(),
        repetition: 0,
    };
    let theirs = Data {
        name: data.name.clone(),
        factors: data.factors.clone(),
        responses: vec![ResponseData {
            multiplicative,
            published: PublishedResponse::default(),
            ..own.clone()
        }],
        rows: cells.iter().map(row).collect(),
        planned: Vec::new(),
        repetitions: 1,
        left_out: Vec::new(),
        confidence: data.confidence,
        until: None,
    };
    let fit = response::analyze(&theirs, 0).fit?;
    let terms = fit.terms.into_iter().map(|term| PublishedTerm {
        name: term.name,
        effect: term.effect.map(|effect| effect.value),
        share: term.share,
    });
    Some((fit.mean.value, terms.collect()))
}
