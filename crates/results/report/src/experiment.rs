//! The analysis of an experiment as text: factors, then for each response findings, effects, means of levels
//! and interactions.

mod ensembles;
mod numbers;
mod published;
mod tables;
mod values;

pub use values::{experiment_claims_csv, experiment_means_csv};

use compare::experiment::{
    Analysis, EffectVerdict, ExperimentDecision, FactorFigures, ResponseAnalysis, TermFigures,
};
use compare::{percent, percent_bounds, signed_percent};

use crate::style::{Line, Style, Tone};
use crate::table::Table;
use crate::verdict::finding_lines;

/// The width of the text on any terminal.
const COLUMNS: usize = 120;
/// Indent of the lines below a heading.
const INDENT: &str = "  ";
/// Most products of factors that are listed as confounded with the mean.
const CONFOUNDED_MAX: usize = 8;

/// The text of an analysis. Lines end with `\n` and have at most 120 characters, as far as names
/// allow.
pub fn experiment(analysis: &Analysis, style: Style) -> String {
    let mut lines = vec![headline(analysis).render(COLUMNS, style), String::new()];
    lines.extend(factors(analysis).render(COLUMNS, style));
    if !analysis.findings.is_empty() || !analysis.confounded.is_empty() {
        lines.push(String::new());
    }
    for finding in &analysis.findings {
        lines.extend(finding_lines(finding, style));
    }
    lines.extend(confounded(analysis).map(|line| line.render(COLUMNS, style)));
    if let Some(decision) = &analysis.decision {
        lines.push(String::new());
        lines.extend(decided(decision).render(COLUMNS, style));
    }
    for response in &analysis.responses {
        lines.push(String::new());
        lines.extend(response_lines(analysis, response, style));
    }
    lines.extend(ensembles::lines(analysis, style));
    lines.into_iter().fold(String::new(), |text, line| text + &line + "\n")
}

fn headline(analysis: &Analysis) -> Line {
    let levels = analysis.factors.iter().map(|factor| factor.levels.len().to_string());
    let levels: Vec<String> = levels.collect();
    Line::default().tone(Tone::Strong, format!("EXPERIMENT  {}", analysis.name)).text(format!(
        "  {} levels, {}, intervals of {}",
        levels.join(" × "),
        units::counted(analysis.observations as u64, "observation"),
        units::share(analysis.confidence)
    ))
}

fn factors(analysis: &Analysis) -> Table {
    let is_two_level = analysis.factors.iter().all(|factor| factor.levels.len() == 2);
    let mut table = match is_two_level {
        true => Table::new(&["factor", "low −1", "high +1"]),
        false => Table::new(&["factor", "levels"]),
    };
    for factor in &analysis.factors {
        let mut cells = vec![(None, format!("{INDENT}{} {}", factor.letter, factor.name))];
        match is_two_level {
            true => cells.extend(factor.levels.iter().map(|level| (None, level.clone()))),
            false => cells.push((None, factor.levels.join(", "))),
        }
        table.row(cells);
    }
    table
}

/// A line for each effect that is decided, or is to be.
fn decided(decision: &ExperimentDecision) -> Table {
    let interval = format!("change ({} interval, valid now)", percent(1.0 - decision.alpha));
    let mut table = Table::new(&["effect", "from", "to", &interval, "verdict"]);
    for effect in &decision.effects {
        let tone = match effect.verdict {
            EffectVerdict::Undecided => Some(Tone::Dim),
            EffectVerdict::Higher | EffectVerdict::Lower | EffectVerdict::NoDifference => None,
        };
        let bounds = effect.interval.map(|(low, high)| format!(" ({})", percent_bounds(low, high)));
        let change = effect.change.map_or("–".to_owned(), signed_percent);
        let cells = [
            format!("{INDENT}{} of {}", effect.factor, effect.response),
            effect.from.clone(),
            effect.to.clone(),
            format!("{change}{}", bounds.unwrap_or_default()),
            effect.verdict.name().to_owned(),
        ];
        table.row(cells.into_iter().map(|text| (tone, text)).collect());
    }
    table
}

fn confounded(analysis: &Analysis) -> Option<Line> {
    let words = &analysis.confounded;
    let more = if words.len() > CONFOUNDED_MAX { " = …" } else { "" };
    let shown = &words[..words.len().min(CONFOUNDED_MAX)];
    (!words.is_empty()).then(|| {
        Line::default().text(format!(
            "{INDENT}confounded: I = {}{more}; terms that differ by one of these factors are indistinguishable",
            shown.join(" = ")
        ))
    })
}

fn response_lines(analysis: &Analysis, response: &ResponseAnalysis, style: Style) -> Vec<String> {
    let values: usize = response.cells.iter().map(|cell| cell.values.len()).sum();
    let heading = Line::default().tone(Tone::Strong, response.name.clone()).tone(
        Tone::Dim,
        format!(
            "  {} model, {} in {}",
            response.model,
            units::counted(values as u64, "value"),
            units::counted(response.cells.len() as u64, "combination")
        ),
    );
    let mut lines = vec![heading.render(COLUMNS, style)];
    for finding in &response.findings {
        lines.extend(finding_lines(finding, style));
    }
    let Some(fit) = &response.fit else {
        if response.cells.iter().any(|cell| cell.bounds > 0) {
            lines.push(String::new());
            lines.extend(tables::bounded(analysis, response).render(COLUMNS, style));
        }
        lines.extend(published::lines(analysis, response, style));
        return lines;
    };
    let tables = [
        Some(tables::effects(analysis, response, fit)),
        tables::levels(analysis, response, fit),
        tables::signs(analysis, response, fit),
    ];
    let tables = tables.into_iter().flatten();
    for table in tables.chain(tables::interactions(analysis, response, fit)) {
        lines.push(String::new());
        lines.extend(table.render(COLUMNS, style));
    }
    lines.extend(published::lines(analysis, response, style));
    lines
}

/// A term with its factors' names: `AB batch × users`.
fn term_name(factors: &[FactorFigures], term: &TermFigures) -> String {
    let names: Vec<&str> = term
        .factors
        .iter()
        .filter_map(|&factor| factors.get(factor))
        .map(|factor| factor.name.as_str())
        .collect();
    let aliases: String = term.aliases.iter().take(2).map(|alias| format!(" + {alias}")).collect();
    let more = if term.aliases.len() > 2 { " + …" } else { "" };
    let name = match term.factors.len() {
        // The letters say it, and each has its name above.
        3.. => String::new(),
        _ => format!(" {}", names.join(" × ")),
    };
    format!("{}{aliases}{more}{name}", term.name)
}

#[cfg(test)]
mod tests;
