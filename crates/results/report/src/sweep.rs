//! A sweep over the values of a setting as text.

use compare::capacity::Ending;
use compare::sweep::{SweepConclusion, ValueFigures};
use plan::LoadSetting;

use crate::capacity::{conclusion, held_cell, none, time};
use crate::style::INDENT;
use crate::style::{Line, Style, Tone};
use crate::table::Table;

/// The conclusion of a sweep as text. Lines end with `\n`.
pub fn sweep(
    found: &SweepConclusion,
    setting: &LoadSetting,
    directory: &str,
    style: Style,
) -> String {
    let tone = match found.ending == Ending::Found {
        true => Tone::Good,
        false => Tone::Bad,
    };
    let shown = |value: f64| setting.shown(value);
    let headline = match &found.best {
        None => "NO BEST VALUE FOUND".to_owned(),
        Some(best) => match best.range {
            Some((low, high)) if low < high => {
                format!("BEST {} ({} TO {})", shown(best.value), shown(low), shown(high))
            }
            _ => format!("BEST {}", shown(best.value)),
        },
    };
    let headline = Line::default().tone(tone, headline).text(format!("  of {}", found.over));
    let mut table =
        Table::new(&["value", "held", "succeeded", "95 %", "of best", "p50", "p99", "errors"]);
    for value in &found.values {
        table.row(cells(value, found, setting));
    }
    conclusion(&headline, &found.findings, &table, directory, style)
}

fn cells(
    value: &ValueFigures,
    found: &SweepConclusion,
    setting: &LoadSetting,
) -> Vec<(Option<Tone>, String)> {
    let bounds = value
        .bounds
        .map_or_else(none, |(low, high)| format!("{} to {}", units::rate(low), units::rate(high)));
    let of_best = found.best.as_ref().zip(value.per_s);
    let of_best = of_best.map_or_else(none, |(best, per_s)| units::share(per_s / best.per_s));
    vec![
        (None, format!("{INDENT}{}", setting.shown(value.value))),
        held_cell(value.held, value.holds, value.breaks),
        (None, value.per_s.map_or_else(none, units::rate)),
        (None, bounds),
        (None, of_best),
        (None, time(value.p50_ns.map(|ns| (ns, value.p50_is_bound)))),
        (None, time(value.p99_ns.map(|ns| (ns, value.p99_is_bound)))),
        (None, value.error_share.map_or_else(none, units::share)),
    ]
}

#[cfg(test)]
mod tests;
