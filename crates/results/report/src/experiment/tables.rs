//! The tables of one response.

use compare::experiment::{
    Analysis, EstimateFigures, FitFigures, PublishedTerm, ResponseAnalysis, TermFigures,
};

use super::numbers::{Numbers, chance, share};
use super::{INDENT, term_name};
use crate::style::{Line, Tone};
use crate::table::Table;

/// Most terms that are listed; those that explain least are left out.
const TERMS_MAX: usize = 31;
/// Most combinations whose means are listed where no model is fitted.
const CELLS_MAX: usize = 64;
/// Most combinations whose sign table is shown.
const SIGNS_MAX: usize = 8;
/// Most tables of two factors, and the least share that their interaction explains where there are
/// no intervals.
const INTERACTIONS_MAX: usize = 6;
const INTERACTION_SHARE_MIN: f64 = 0.02;

type Cell = (Option<Tone>, String);

fn plain(text: impl Into<String>) -> Cell {
    (None, text.into())
}

/// Effects and the allocation of variation.
pub(super) fn effects(analysis: &Analysis, response: &ResponseAnalysis, fit: &FitFigures) -> Table {
    let numbers = Numbers::new(response);
    let mut header = vec!["effect", "q", "interval", "low to high", "variation", "F", "p"];
    let published_mean = response.published.as_ref().and_then(|them| them.mean);
    if published_mean.is_some() {
        header.extend(["published q", "variation"]);
    }
    let mut table = Table::new(&header);
    let mut row = vec![
        plain(format!("{INDENT}mean")),
        plain(numbers.mean(fit.mean.value)),
        plain(numbers.interval(&fit.mean, Numbers::mean)),
    ];
    if let Some(mean) = published_mean {
        row.extend(["", "", "", ""].map(plain));
        row.push(plain(numbers.mean(mean)));
    }
    table.row(row);
    let mut shown: Vec<&TermFigures> = fit.terms.iter().collect();
    if shown.len() > TERMS_MAX {
        shown.sort_by(|a, b| b.share.total_cmp(&a.share));
        shown.truncate(TERMS_MAX);
    }
    for term in &shown {
        let mut row = term_row(analysis, term, numbers);
        if let Some(published) = published_term(response, term) {
            row.push(plain(effect_text(published.effect, numbers)));
            row.push(plain(share(published.share)));
        }
        table.row(row);
    }
    if let Some(error) = &fit.error {
        let mut row = vec![plain(format!("{INDENT}errors"))];
        row.extend(["", "", ""].map(plain));
        row.push(plain(share(error.share)));
        table.row(row);
    }
    let left = fit.terms.len() - shown.len();
    if left > 0 {
        let text = format!("{INDENT}and {left} more, which explain less");
        table.section(Line::default().tone(Tone::Dim, text));
    }
    table
}

/// The term of this name in the published values.
fn published_term<'r>(
    response: &'r ResponseAnalysis,
    term: &TermFigures,
) -> Option<&'r PublishedTerm> {
    let terms = &response.published.as_ref()?.terms;
    terms.iter().find(|other| other.name == term.name)
}

fn effect_text(effect: Option<f64>, numbers: Numbers) -> String {
    effect.map_or_else(String::new, |effect| numbers.effect(effect))
}

fn term_row(analysis: &Analysis, term: &TermFigures, numbers: Numbers) -> Vec<Cell> {
    let is_sure = |effect: &EstimateFigures| {
        effect.low.is_some_and(|low| low > 0.0) || effect.high.is_some_and(|high| high < 0.0)
    };
    let matters = match &term.effect {
        Some(effect) => is_sure(effect),
        None => term.p.is_some_and(|p| p < 1.0 - analysis.confidence),
    };
    let tone = matters.then_some(Tone::Strong);
    let name = format!("{INDENT}{}", term_name(&analysis.factors, term));
    let mut row = vec![(tone, name)];
    match &term.effect {
        Some(effect) => row.extend([
            (tone, numbers.effect(effect.value)),
            plain(numbers.interval(effect, Numbers::effect)),
            plain(match term.factors.len() {
                1 => numbers.effect(2.0 * effect.value),
                _ => String::new(),
            }),
        ]),
        None => row.extend(["", "", ""].map(plain)),
    }
    row.push((tone, share(term.share)));
    row.push(plain(match term.f {
        Some(f) => units::significant(f, 4),
        None => "–".to_owned(),
    }));
    row.push(plain(chance(term.p)));
    row
}

/// Means and effects of the levels of factors that have more than two.
pub(super) fn levels(
    analysis: &Analysis,
    response: &ResponseAnalysis,
    fit: &FitFigures,
) -> Option<Table> {
    let numbers = Numbers::new(response);
    let of_several = |term: &&TermFigures| term.levels.len() > 2;
    let mut table = Table::new(&["level", "mean", "interval", "effect", "interval"]);
    let mut is_empty = true;
    for term in fit.terms.iter().filter(of_several) {
        is_empty = false;
        let heading = format!("{INDENT}{}", term_name(&analysis.factors, term));
        table.section(Line::default().text(heading));
        for level in &term.levels {
            table.row(vec![
                plain(format!("{INDENT}{INDENT}{}", level.level)),
                plain(numbers.mean(level.mean.value)),
                plain(numbers.interval(&level.mean, Numbers::mean)),
                plain(numbers.effect(level.effect.value)),
                plain(numbers.interval(&level.effect, Numbers::effect)),
            ]);
        }
    }
    (!is_empty).then_some(table)
}

/// Jain's sign table: the signs of all terms in each combination, and its mean.
pub(super) fn signs(
    analysis: &Analysis,
    response: &ResponseAnalysis,
    fit: &FitFigures,
) -> Option<Table> {
    let is_two_level = analysis.factors.iter().all(|factor| factor.levels.len() == 2);
    if !is_two_level || response.cells.len() > SIGNS_MAX || fit.terms.len() >= SIGNS_MAX {
        return None;
    }
    let numbers = Numbers::new(response);
    let mut header = vec!["sign table", "I"];
    header.extend(fit.terms.iter().map(|term| term.name.as_str()));
    header.push("mean");
    let published = response.published.as_ref();
    let published = published.filter(|them| !them.cells.is_empty());
    header.extend(published.map(|_| "published"));
    let mut table = Table::new(&header);
    for cell in &response.cells {
        let names = analysis.factors.iter().zip(&cell.levels);
        let names: Vec<&str> =
            names.map(|(factor, &level)| factor.levels[level].as_str()).collect();
        let mut row = vec![plain(format!("{INDENT}{}", names.join(", "))), plain("1")];
        row.extend(fit.terms.iter().map(|term| {
            let low = term.factors.iter().filter(|&&f| cell.levels[f] == 0).count();
            plain(if low % 2 == 1 { "−1" } else { "1" })
        }));
        row.push(plain(numbers.value(cell.mean)));
        let theirs = published.and_then(|them| them.cells.iter().find(|it| it.0 == cell.levels));
        row.extend(theirs.map(|(_, value)| plain(numbers.value(*value))));
        table.row(row);
    }
    let mut row = vec![plain(format!("{INDENT}q")), plain(numbers.mean(fit.mean.value))];
    row.extend(fit.terms.iter().map(|term| {
        let q = term.effect.map(|effect| effect.value);
        plain(effect_text(q, numbers))
    }));
    table.row(row);
    if let Some(mean) = published.and_then(|them| them.mean) {
        let mut row = vec![plain(format!("{INDENT}published q")), plain(numbers.mean(mean))];
        row.extend(fit.terms.iter().map(|term| {
            let q = published_term(response, term).and_then(|term| term.effect);
            plain(effect_text(q, numbers))
        }));
        table.row(row);
    }
    Some(table)
}

/// The means of combinations, those with a value that is only a lower bound as one.
pub(super) fn bounded(analysis: &Analysis, response: &ResponseAnalysis) -> Table {
    let numbers = Numbers::new(response);
    let mut table = Table::new(&["combination", "values", "lower bounds", "mean"]);
    for cell in response.cells.iter().take(CELLS_MAX) {
        let names = analysis.factors.iter().zip(&cell.levels);
        let names: Vec<&str> =
            names.map(|(factor, &level)| factor.levels[level].as_str()).collect();
        let at_least = if cell.bounds > 0 { "≥ " } else { "" };
        table.row(vec![
            plain(format!("{INDENT}{}", names.join(", "))),
            plain(units::count(cell.values.len() as u64)),
            plain(units::count(cell.bounds as u64)),
            plain(format!("{at_least}{}", numbers.value(cell.mean))),
        ]);
    }
    let left = response.cells.len().saturating_sub(CELLS_MAX);
    if left > 0 {
        let text = format!("{INDENT}and {left} more, in analysis.json");
        table.section(Line::default().tone(Tone::Dim, text));
    }
    table
}

/// Means by two factors, of those interactions that matter.
pub(super) fn interactions(
    analysis: &Analysis,
    response: &ResponseAnalysis,
    fit: &FitFigures,
) -> Vec<Table> {
    let mut pairs: Vec<&TermFigures> = fit
        .terms
        .iter()
        .filter(|term| term.factors.len() == 2)
        .filter(|term| match term.p {
            Some(p) => p < 1.0 - analysis.confidence,
            None => term.share >= INTERACTION_SHARE_MIN,
        })
        .collect();
    pairs.sort_by(|a, b| b.share.total_cmp(&a.share));
    let tables = pairs.iter().take(INTERACTIONS_MAX).filter_map(|term| {
        let found = fit.interactions.iter().find(|table| table.factors[..] == term.factors[..]);
        Some(interaction(analysis, response, &found?.factors, &found?.means))
    });
    tables.collect()
}

fn interaction(
    analysis: &Analysis,
    response: &ResponseAnalysis,
    &[first, second]: &[usize; 2],
    means: &[Vec<Option<f64>>],
) -> Table {
    let numbers = Numbers::new(response);
    let rows = &analysis.factors[first];
    let columns = &analysis.factors[second];
    let title = format!("means of {}{}", rows.letter, columns.letter);
    let heads: Vec<String> =
        columns.levels.iter().map(|level| format!("{}={level}", columns.name)).collect();
    let mut header = vec![title.as_str()];
    header.extend(heads.iter().map(String::as_str));
    let mut table = Table::new(&header);
    for (level, means) in rows.levels.iter().zip(means) {
        let mut row = vec![plain(format!("{INDENT}{}={level}", rows.name))];
        row.extend(means.iter().map(|mean| match mean {
            Some(mean) => plain(numbers.value(*mean)),
            None => plain("–"),
        }));
        table.row(row);
    }
    table
}
