//! A heat map of latency: a row for each band of latency, a column for each second.
//!
//! The shade of a cell shows its share of the second's operations, so that a few slow ones stay visible
//! beside many fast ones.

use std::collections::BTreeMap;

use stats::hist::LogHistogram;

use crate::style::Style;

/// Bands in a decade of latency.
const BANDS_PER_DECADE: f64 = 2.0;
/// Most rows; the lowest one includes everything faster.
pub(super) const ROWS_MAX: usize = 5;
/// The shares at which a cell gets one step darker.
const STEPS: [f64; 3] = [0.1, 0.3, 0.6];

/// The response times of one second.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct HeatColumn(BTreeMap<i32, u64>);

impl HeatColumn {
    /// Adds operations by their nanoseconds.
    pub fn add(&mut self, response: &LogHistogram) {
        for (lowest_ns, _, count) in response.iter() {
            let band = ((lowest_ns.max(1) as f64).log10() * BANDS_PER_DECADE).floor() as i32;
            *self.0.entry(band).or_default() += count;
        }
    }
}

/// A row: its lower bound in nanoseconds (`None`: everything below the row above), and its cells.
#[derive(Debug, PartialEq)]
pub(super) struct HeatRow {
    pub(super) from_ns: Option<f64>,
    pub(super) cells: String,
}

/// The rows, the slowest first, padded on the left to `width` cells; none if nothing was measured.
pub(super) fn rows(columns: &[HeatColumn], width: usize, style: Style) -> Vec<HeatRow> {
    let columns = &columns[columns.len().saturating_sub(width)..];
    let bands = || columns.iter().flat_map(|column| column.0.keys().copied());
    let (Some(least), Some(greatest)) = (bands().min(), bands().max()) else {
        return Vec::new();
    };
    let lowest = least.max(greatest - (ROWS_MAX as i32 - 1));
    let rows = (lowest..=greatest).rev().map(|band| HeatRow {
        from_ns: (band > lowest || lowest == least)
            .then(|| 10_f64.powf(f64::from(band) / BANDS_PER_DECADE)),
        cells: {
            let cells: String =
                columns.iter().map(|column| cell(column, band, lowest, style)).collect();
            format!("{cells:>width$}")
        },
    });
    rows.collect()
}

fn cell(column: &HeatColumn, band: i32, lowest: i32, style: Style) -> char {
    let all: u64 = column.0.values().sum();
    let own = column.0.iter().filter(|entry| (*entry.0).max(lowest) == band);
    let held: u64 = own.map(|(_, count)| count).sum();
    if held == 0 {
        return ' ';
    }
    let share = held as f64 / all as f64;
    let step = STEPS.iter().filter(|&&from| share >= from).count();
    style.pick(['░', '▒', '▓', '█'], ['.', ':', '*', '#'])[step]
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNICODE: Style = Style { colour: false, unicode: true };
    const MS: u64 = 1_000_000;

    fn column(times: &[(u64, u64)]) -> HeatColumn {
        let mut hist = LogHistogram::new();
        for &(ns, count) in times {
            hist.record_n(ns, count);
        }
        let mut column = HeatColumn::default();
        column.add(&hist);
        column
    }

    fn drawn(columns: &[HeatColumn], width: usize, style: Style) -> Vec<(Option<u64>, String)> {
        let rows = rows(columns, width, style).into_iter();
        rows.map(|row| (row.from_ns.map(|ns| ns.round() as u64), row.cells)).collect()
    }

    #[test]
    fn darkness_is_the_share_of_a_second() {
        let columns = [
            column(&[(2 * MS, 100)]),
            column(&[(2 * MS, 65), (4 * MS, 32), (20 * MS, 3)]),
            HeatColumn::default(),
            column(&[(2 * MS, 20), (4 * MS, 80)]),
        ];
        let expected = |cells: [&str; 3]| {
            let from = [10_000_000, 3_162_278, 1_000_000].map(Some);
            let rows = from.into_iter().zip(cells.map(str::to_owned));
            rows.collect::<Vec<_>>()
        };
        let unicode = drawn(&columns, 5, UNICODE);
        assert_eq!(unicode, expected(["  ░  ", "  ▓ █", " ██ ▒"]));
        let ascii = drawn(&columns, 5, Style::PLAIN);
        assert_eq!(ascii, expected(["  .  ", "  * #", " ## :"]));
    }

    #[test]
    fn only_the_newest_seconds_and_the_slowest_bands_have_room() {
        let columns = [column(&[(900 * MS, 1)]), column(&[(100, 1), (30 * MS, 1)])];
        let rows = drawn(&columns, 1, UNICODE);
        assert_eq!(rows.len(), ROWS_MAX);
        assert_eq!(rows[0], (Some(10_000_000), "▓".to_owned()));
        assert_eq!(rows[4], (None, "▓".to_owned()), "everything faster");
        assert_eq!(drawn(&[HeatColumn::default()], 9, UNICODE), []);
    }
}
