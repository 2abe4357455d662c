//! The runs of each combination in groups of similar runs, with medians and histograms.

use compare::experiment::{Analysis, Ensemble, EnsembleMeasure, Histogram, Mode};

use super::{COLUMNS, INDENT};
use crate::style::{Line, Style, Tone};
use crate::table::Table;

/// Heights of a bar, from nothing.
const BARS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Most groups that are listed for a test.
const MODES_MAX: usize = 12;
/// Most runs that are listed for a group.
const RUNS_MAX: usize = 12;

/// A table for each measure; empty if nothing was compared.
pub(super) fn lines(analysis: &Analysis, style: Style) -> Vec<String> {
    let mut names: Vec<&str> = Vec::new();
    for measure in analysis.ensembles.iter().flat_map(|e| &e.measures) {
        if !names.contains(&measure.name.as_str()) {
            names.push(&measure.name);
        }
    }
    let mut lines = Vec::new();
    for name in names {
        let heading = Line::default().tone(Tone::Strong, format!("ENSEMBLES  {name}")).tone(
            Tone::Dim,
            "  runs by number; the runs of a mode are alike by the test".to_owned(),
        );
        lines.push(String::new());
        lines.push(heading.render(COLUMNS, style));
        lines.extend(table(analysis, name).render(COLUMNS, style));
    }
    for ensemble in &analysis.ensembles {
        if let Some(why) = &ensemble.why {
            let text = format!("{INDENT}{}: {why}", ensemble.levels.join(", "));
            lines.push(Line::default().text(text).render(COLUMNS, style));
        }
    }
    lines
}

fn table(analysis: &Analysis, name: &str) -> Table {
    let mut table = Table::new(&["test", "mode", "count", "median", "histogram"]);
    for ensemble in &analysis.ensembles {
        for measure in ensemble.measures.iter().filter(|m| m.name == name) {
            section(&mut table, ensemble, measure);
        }
    }
    table
}

fn section(table: &mut Table, ensemble: &Ensemble, measure: &EnsembleMeasure) {
    let medians = measure.medians_ns.iter().copied();
    let low = medians.clone().fold(f64::INFINITY, f64::min);
    let high = medians.fold(0.0, f64::max);
    let ends = measure.edges_ns.first().zip(measure.edges_ns.last());
    let ends = ends.map_or_else(String::new, |(low, high)| {
        format!(
            ", histograms from {} to {} (logarithmic)",
            units::duration(*low),
            units::duration(*high)
        )
    });
    let text = format!(
        "  {}, medians {} to {}{ends}",
        units::counted(ensemble.runs.len() as u64, "run"),
        units::duration(low),
        units::duration(high),
    );
    table.section(Line::default().tone(Tone::Strong, ensemble.levels.join(", ")).text(text));
    for tested in &measure.tested {
        let mut test = tested.tests.join(", ");
        for mode in tested.modes.iter().take(MODES_MAX) {
            table.row(row(&std::mem::take(&mut test), mode));
        }
        if let Some(more) = tested.modes.len().checked_sub(MODES_MAX).filter(|&n| n > 0) {
            let text = format!("{INDENT}and {} more", units::counted(more as u64, "mode"));
            table.section(Line::default().tone(Tone::Dim, text));
        }
    }
}

fn row(test: &str, mode: &Mode) -> Vec<(Option<Tone>, String)> {
    let runs = mode.runs.iter().take(RUNS_MAX).map(ToString::to_string);
    let more = if mode.runs.len() > RUNS_MAX { " …" } else { "" };
    let runs = format!("{{{}{more}}}", runs.collect::<Vec<_>>().join(" "));
    vec![
        (None, format!("{INDENT}{test}")),
        (None, runs),
        (None, units::count(mode.count)),
        (None, units::duration(mode.median_ns)),
        (Some(Tone::Dim), bars(&mode.histogram)),
    ]
}

/// A bar for each bin, scaled to the highest; every bin that is not empty is visible.
fn bars(histogram: &Histogram) -> String {
    let most = histogram.counts.iter().copied().max().unwrap_or(0).max(1);
    let top = BARS.len() as u64 - 1;
    let bars = histogram.counts.iter().map(|&count| {
        let height = (count * top).div_ceil(most);
        // At most `top`, which is small.
        BARS[height as usize]
    });
    bars.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_high_as_their_share_of_the_highest() {
        let counts = vec![0, 1, 500, 1000, 0];
        assert_eq!(bars(&Histogram { counts }), " ▁▄█ ");
        assert_eq!(bars(&Histogram { counts: vec![0, 0] }), "  ");
    }
}
