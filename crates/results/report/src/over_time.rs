//! A run over time in a few lines: users, completed operations, p99 of the steps with the most operations.

use judge::course::{Course, MeasureCourse, Number};
use stats::mean::mean;

use crate::live::chart::sparkline;
use crate::style::INDENT;
use crate::style::{Line, Style, Tone, shorten};

/// Most characters of a sparkline.
const SPARK_COLUMNS: usize = 60;
/// Characters that are left for the maximum behind it.
const MAXIMUM_COLUMNS: usize = 16;
/// Characters of a name.
const NAME_COLUMNS: usize = 22;
/// Most steps with a line of latency.
const STEPS_MAX: usize = 3;

/// A sparkline for each track of a run, from 0 to its maximum, which is printed beside it; empty for a run
/// without seconds. A character that covers several slots shows their mean for rates, else their maximum.
pub fn over_time(course: &Course, columns: usize, style: Style) -> String {
    let track = |name: &str| course.seconds.iter().find(|track| track.name == name);
    let room = columns.saturating_sub(INDENT.len() + NAME_COLUMNS + 2 + MAXIMUM_COLUMNS);
    let sparks = room.clamp(1, SPARK_COLUMNS);
    let mut lines = Vec::new();
    if let Some(track) = track("users") {
        let shown = |top: f64| units::count(top as u64);
        lines.extend(line("users", &track.mean, peak, shown, sparks, style));
    }
    if let Some(track) = track("operations_completed") {
        lines.extend(line("completed", &track.mean, mean, units::rate, sparks, style));
    }
    let mut steps: Vec<&MeasureCourse> = course.measures.iter().collect();
    // A connection is part of the request that opens it.
    steps.retain(|step| step.kind != "connect");
    steps.sort_by_key(|step| std::cmp::Reverse(step.count));
    for step in steps.into_iter().take(STEPS_MAX) {
        let name = format!("p99 of {}", step.name);
        lines.extend(line(&name, &step.p99, peak, units::duration, sparks, style));
    }
    if lines.is_empty() {
        return String::new();
    }
    let seconds = course.slots as u64 * course.slot_s;
    let head = format!("over time  0 s to {}", units::span(seconds * 1_000_000_000));
    lines.insert(0, Line::default().tone(Tone::Dim, head));
    let lines = lines.iter().map(|line| line.render(columns, style) + "\n");
    lines.collect()
}

/// `sparks`: most characters of the sparkline. `None` if all values are 0.
fn line(
    name: &str,
    numbers: &[Option<Number>],
    combine: fn(&[f64]) -> f64,
    show: impl Fn(f64) -> String,
    sparks: usize,
    style: Style,
) -> Option<Line> {
    let values: Vec<f64> = numbers.iter().map(|n| n.map_or(0.0, |n| n.0)).collect();
    let top = peak(&values);
    let name = shorten(name, NAME_COLUMNS, style);
    let few: Vec<f64> = values.chunks(values.len().div_ceil(sparks).max(1)).map(combine).collect();
    let line = Line::default()
        .text(format!("{INDENT}{name:<NAME_COLUMNS$}  "))
        .text(sparkline(&few, few.len(), style))
        .text(format!("  max {}", show(top)));
    (top > 0.0).then_some(line)
}

fn peak(values: &[f64]) -> f64 {
    values.iter().copied().fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use judge::course::{ProbeLines, Track};

    use super::*;

    const UNICODE: Style = Style { colour: false, unicode: true };

    fn numbers(values: impl Iterator<Item = f64>) -> Vec<Option<Number>> {
        values.map(|value| Some(Number(value))).collect()
    }

    fn step(name: &str, kind: &str, count: u64, p99: Vec<Option<Number>>) -> MeasureCourse {
        MeasureCourse {
            name: name.to_owned(),
            kind: kind.to_owned(),
            count,
            per_s: Vec::new(),
            p50: Vec::new(),
            p95: Vec::new(),
            p99,
            p999: Vec::new(),
            max: Vec::new(),
            heat: Vec::new(),
            bins: Vec::new(),
            response: Vec::new(),
        }
    }

    fn course(slots: usize) -> Course {
        let track = |name, values: Vec<Option<Number>>| Track {
            name,
            mean: values,
            min: Vec::new(),
            max: Vec::new(),
        };
        let rise = || numbers((0..slots).map(|n| n as f64));
        // One slow second in each hundred.
        let spikes = (0..slots).map(|n| if n % 100 == 50 { 900e6 } else { 3e6 });
        Course {
            slot_s: 1,
            slots,
            heat_slot_s: 1,
            seconds: vec![track("users", rise()), track("operations_completed", rise())],
            measures: vec![
                step("connect", "connect", 900, rise()),
                step("GET /a/name/that/is/long/enough", "request", 800, numbers(spikes)),
                step("GET /b", "request", 7, vec![None; slots]),
            ],
            measures_left_out: 0,
            line_slot_s: 1,
            lines: Vec::new(),
            errors: Vec::new(),
            errors_left_out: 0,
            probes: ProbeLines::default(),
        }
    }

    #[test]
    fn lines_scale_to_their_maximum_and_keep_peaks() {
        expect![[r#"
            over time  0 s to 5 min
              users                   ▁▁▁▁▁▁▁▂▂▂▂▂▂▂▂▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇████████  max 299
              completed               ▁▁▁▁▁▁▁▁▂▂▂▂▂▂▂▃▃▃▃▃▃▃▄▄▄▄▄▄▄▄▅▅▅▅▅▅▅▆▆▆▆▆▆▆▆▇▇▇▇▇▇▇████████  max 299/s
              p99 of GET /a/name/th…  ▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁▁█▁▁▁▁▁▁▁▁▁  max 900 ms
        "#]].assert_eq(&over_time(&course(300), 120, UNICODE));
        expect![[r#"
            over time  0 s to 12 s
              users                    .:--=+**#@@  max 11
              completed                .:--=+**#@@  max 11.0/s
              p99 of GET /a/name/th~  @@@@@@@@@@@@  max 3.00 ms
        "#]]
        .assert_eq(&over_time(&course(12), 80, Style::PLAIN));
    }

    #[test]
    fn a_run_without_seconds_has_no_lines() {
        let mut empty = course(0);
        empty.seconds.clear();
        empty.measures.clear();
        assert_eq!(over_time(&empty, 120, UNICODE), "");
    }
}
