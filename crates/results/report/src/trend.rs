//! A trend as text: each figure with the parts between its changes, the alarms first.

use compare::index::{Trend, TrendAlarm, TrendFigure, TrendPart};
use compare::{p_value, signed_percent};
use serde::Serialize;

use crate::style::{COLUMNS, INDENT, Line, Style, Tone, wrap};
use crate::table::Table;

/// The trend for a terminal. Lines end with `\n`.
pub fn trend(trend: &Trend, alarms: &[TrendAlarm], style: Style) -> String {
    let mut lines = vec![headline(trend, alarms).render(COLUMNS, style)];
    for alarm in alarms {
        for part in wrap(&sentence(trend, alarm), COLUMNS - INDENT.len()) {
            let text = format!("{INDENT}{part}");
            lines.push(Line::default().tone(Tone::Bad, text).render(COLUMNS, style));
        }
    }
    for part in wrap(&subject(trend), COLUMNS) {
        lines.push(Line::default().tone(Tone::Dim, part).render(COLUMNS, style));
    }
    lines.push(String::new());
    lines.extend(figures(trend).render(COLUMNS, style));
    lines.into_iter().map(|line| line + "\n").collect()
}

/// The trend and its alarms as JSON.
pub fn trend_json(trend: &Trend, alarms: &[TrendAlarm]) -> String {
    #[derive(Serialize)]
    struct Judged<'a> {
        #[serde(flatten)]
        trend: &'a Trend,
        alarms: &'a [TrendAlarm],
    }
    crate::json(&Judged { trend, alarms })
}

fn headline(trend: &Trend, alarms: &[TrendAlarm]) -> Line {
    let line = Line::default();
    let line = match alarms {
        [] => line.tone(Tone::Good, "NO ALARM"),
        _ => line.tone(Tone::Bad, "WORSE"),
    };
    let runs = units::counted(trend.runs.len() as u64, "run");
    line.text(format!("  {} in {runs}", trend.name))
}

/// `p99 rose from 101 ms to 152 ms (+50 %, p 0.001) with the run runs/12: new pool`.
fn sentence(trend: &Trend, alarm: &TrendAlarm) -> String {
    let run = &trend.runs[alarm.from];
    let way = if alarm.since.0 > alarm.before.0 { "rose" } else { "fell" };
    let change = match alarm.before.0 {
        0.0 => String::new(),
        before => format!("{}, ", signed_percent(alarm.since.0 / before - 1.0)),
    };
    let note = run.note.as_ref().map_or_else(String::new, |note| format!(": {note}"));
    format!(
        "{} {way} from {} to {} ({change}p {}) with the run {}{note}",
        alarm.figure,
        value(alarm.unit, alarm.before.0),
        value(alarm.unit, alarm.since.0),
        p_value(alarm.p),
        run.path
    )
}

/// What was looked at.
fn subject(trend: &Trend) -> String {
    let mut parts = Vec::new();
    if let Some(step) = &trend.step {
        parts.push(format!("percentiles of {step}"));
    }
    if trend.untrusted > 0 {
        let runs = units::counted(trend.untrusted as u64, "untrusted run");
        parts.push(format!("{runs} left out"));
    }
    if trend.older > 0 {
        parts.push(format!("{} left out", units::counted(trend.older as u64, "older run")));
    }
    parts.push("a change is significant at 1 % for each figure and look".to_owned());
    parts.join(", ")
}

fn figures(trend: &Trend) -> Table {
    let mut table = Table::new(&["", "from run", "runs", "median", "change", "p"]);
    for figure in &trend.figures {
        for (place, part) in figure.parts.iter().enumerate() {
            let name = if place == 0 { format!("{INDENT}{}", figure.name) } else { String::new() };
            let cells = [
                name,
                trend.runs[part.from].path.clone(),
                units::count(known(figure, part)),
                value(figure.unit, part.median.0),
                part.change.map_or(String::new(), |change| signed_percent(change.0)),
                part.p.map_or(String::new(), p_value),
            ];
            table.row(cells.into_iter().map(|text| (None, text)).collect());
        }
    }
    table
}

/// Runs of a part that have the figure.
fn known(figure: &TrendFigure, part: &TrendPart) -> u64 {
    figure.values[part.from..=part.to].iter().flatten().count() as u64
}

fn value(unit: &str, value: f64) -> String {
    match unit {
        "ns" => units::duration(value),
        "share" => units::share(value),
        _ => units::rate(value),
    }
}

#[cfg(test)]
mod tests {
    use compare::index::TrendRun;
    use judge::course::Number;

    use super::*;

    fn example() -> Trend {
        let run = |n: usize| TrendRun {
            id: format!("{n:016x}"),
            path: format!("runs/{n}"),
            started_unix_ms: n as u64,
            note: (n == 8).then(|| "new pool".to_owned()),
        };
        let part = |from: usize, to: usize, ms: f64, p: Option<f64>| TrendPart {
            from,
            to,
            median: Number(1e6 * ms),
            p,
            change: p.map(|_| Number(0.5)),
        };
        let figure = TrendFigure {
            name: "p99",
            unit: "ns",
            values: (0..12).map(|n| Some(Number(if n < 8 { 1e8 } else { 1.5e8 }))).collect(),
            parts: vec![part(0, 7, 100.0, None), part(8, 11, 150.0, Some(0.002))],
        };
        Trend {
            name: "shop".to_owned(),
            step: Some("checkout".to_owned()),
            runs: (0..12).map(run).collect(),
            figures: vec![figure],
            older: 0,
            untrusted: 1,
        }
    }

    #[test]
    fn the_alarm_comes_first_with_the_run_that_it_began_with() {
        let found = example();
        let text = trend(&found, &found.alarms(6), Style::PLAIN);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "WORSE  shop in 12 runs");
        assert_eq!(
            lines[1],
            "  p99 rose from 100 ms to 150 ms (+50 %, p 0.0020) with the run runs/8: new pool"
        );
        assert!(
            lines[2].starts_with("percentiles of checkout, 1 untrusted run left out"),
            "{text}"
        );
        assert!(text.contains("runs/8"), "{text}");
        let json: serde_json::Value =
            serde_json::from_str(&trend_json(&found, &found.alarms(6))).unwrap();
        assert_eq!((&json["name"], &json["alarms"][0]["from"]), (&"shop".into(), &8.into()));
    }

    #[test]
    fn sentences_that_are_long_are_wrapped() {
        let mut found = example();
        found.runs[8].note =
            Some("a pool with more connections and a shorter time limit".to_owned());
        found.older = 7;
        let text = trend(&found, &found.alarms(6), Style::PLAIN);
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains("and a shorter time limit percentiles of checkout"), "{text}");
        assert!(words.contains("7 older runs left out, a change is significant"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= COLUMNS), "{text}");
    }

    #[test]
    fn an_old_change_is_no_alarm() {
        let found = example();
        let text = trend(&found, &found.alarms(3), Style::PLAIN);
        assert!(text.starts_with("NO ALARM  shop in 12 runs\n"), "{text}");
    }
}
