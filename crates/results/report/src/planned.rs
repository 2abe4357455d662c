//! The load that a scenario plans, in words and as a small plot over time.

use plan::{Iterations, Phase, PhaseKind, Plan, Spacing};

use crate::style::{INDENT, Line, Style, wrap};

/// Most characters of a plot.
const PLOT_COLUMNS: usize = 60;
/// Lines of a plot.
const ROWS: usize = 3;
/// Characters of the label beside a plot.
const LABEL_COLUMNS: usize = 10;
/// Parts of a character's height.
const EIGHTHS: usize = 8;
/// Most phases that the words describe.
const PHASES_SAID_MAX: usize = 6;

/// Users who arrive by phases one after the other.
#[derive(Clone, Copy)]
struct Arrivals<'p> {
    /// Empty: they have no name.
    population: &'p str,
    phases: &'p [Phase],
    /// Users beside them who start at times of their own.
    singles_count: u64,
}

/// The load of a plan: a sentence for each population, a plot of the rate at which its users start, and one of users whose
/// number is fixed, all above one axis of time.
pub fn planned(plan: &Plan, columns: usize, style: Style) -> String {
    let named = plan.populations.iter().map(|population| Arrivals {
        population: &population.name,
        phases: &population.phases,
        singles_count: population.singles_count,
    });
    let only =
        Arrivals { population: "", phases: &plan.phases, singles_count: plan.singles.len() as u64 };
    let only = plan.populations.is_empty().then_some(only);
    let all: Vec<Arrivals<'_>> = only.into_iter().chain(named).collect();
    rendered(&all, columns, style)
}

fn rendered(all: &[Arrivals<'_>], columns: usize, style: Style) -> String {
    let room = columns.saturating_sub(INDENT.len()).max(1);
    let said = all.iter().filter_map(|arriving| {
        let of = match arriving.population {
            "" => String::new(),
            name => format!(" of {name}"),
        };
        let mut said = in_words(arriving.phases);
        if arriving.singles_count > 0 {
            let singles = units::counted(arriving.singles_count, "user");
            said += if said.is_empty() { "" } else { "; " };
            said += &format!("{singles} at times of their own");
        }
        Some(wrap(&format!("load{of}: {said}"), room)).filter(|_| !said.is_empty())
    });
    let said = said.flatten();
    let said = said.map(|line| format!("{INDENT}{line}"));
    let lines = said.chain(plots(all, columns, style));
    lines.map(|line| Line::default().text(line).render(columns, style) + "\n").collect()
}

/// The phases in their order.
fn in_words(phases: &[Phase]) -> String {
    let mut said: Vec<String> = phases.iter().take(PHASES_SAID_MAX).map(phase_in_words).collect();
    let more = phases.len().saturating_sub(PHASES_SAID_MAX);
    if more > 0 {
        said.push(units::counted(more as u64, "more phase"));
    }
    said.join(", then ")
}

fn phase_in_words(phase: &Phase) -> String {
    kind_in_words(phase) + &limit_in_words(phase)
}

/// What may end a phase before its time, or the users that it starts.
fn limit_in_words(phase: &Phase) -> String {
    let PhaseKind::Closed(population) = phase.kind else {
        let most = phase.users_max.map(|max| format!(", {} at most", units::counted(max, "user")));
        let until = if phase.until_done { ", or until all have left" } else { "" };
        return most.unwrap_or_default() + until;
    };
    match phase.iterations {
        Some(iterations) if population.most() == 1 => {
            let sessions = units::counted(iterations.total(1), "session");
            format!(", or until {sessions} of it are over")
        }
        Some(Iterations::Shared(sessions)) => {
            let sessions = units::counted(sessions, "session");
            format!(", or until {sessions} of all are over")
        }
        Some(Iterations::Each(sessions)) => {
            let sessions = units::counted(sessions, "session");
            format!(", or until {sessions} of each are over")
        }
        None if phase.until_done => ", or until all have left".to_owned(),
        None => String::new(),
    }
}

fn kind_in_words(phase: &Phase) -> String {
    let length = units::span(phase.duration_ns);
    match &phase.kind {
        PhaseKind::Rate { from_per_s, to_per_s, spacing } => {
            let chance = match spacing {
                Spacing::Even => "",
                Spacing::Poisson => " at random times",
            };
            let from = rate(*from_per_s);
            let to = rate(*to_per_s);
            match from == to {
                true => format!("users start at {from}{chance} for {length}"),
                false => {
                    format!("the rate of new users goes from {from} to {to}{chance} in {length}")
                }
            }
        }
        PhaseKind::Trace(_) | PhaseKind::Starts(_) => {
            let most = rate(phase.rate_max_per_s());
            format!("users start as recorded, at {most} at most, for {length}")
        }
        PhaseKind::Together(streams) => {
            let streams = units::counted(streams.len() as u64, "stream");
            format!("{streams} of users side by side for {length}")
        }
        PhaseKind::Hold => format!("no user starts for {length}"),
        PhaseKind::Closed(population) if population.is_ramp() => {
            let from = units::count(population.from_count);
            let to = units::count(population.to_count);
            format!("the number of users goes from {from} to {to} in {length}")
        }
        PhaseKind::Closed(population) => {
            let users = units::counted(population.most(), "user");
            format!("{users} at a time for {length}")
        }
    }
}

/// A rate without decimals that say nothing.
fn rate(per_s: f64) -> String {
    match per_s.fract() == 0.0 {
        true => format!("{}/s", units::about(per_s)),
        false => units::rate(per_s),
    }
}

/// A stretch of the run, never empty.
#[derive(Clone, Copy)]
struct Slot {
    from_ns: u64,
    to_ns: u64,
}

impl Slot {
    /// The part of it that lies in the phase.
    fn within(self, phase: &Phase) -> Option<Slot> {
        let from_ns = self.from_ns.max(phase.start_ns);
        let to_ns = self.to_ns.min(phase.end_ns());
        (from_ns < to_ns).then_some(Slot { from_ns, to_ns })
    }

    /// The highest value of a line from one value to the other over the phase.
    fn highest(self, phase: &Phase, from: f64, to: f64) -> f64 {
        let share = |at_ns: u64| (at_ns - phase.start_ns) as f64 / phase.duration_ns as f64;
        let value = |at_ns: u64| from + (to - from) * share(at_ns);
        value(self.from_ns).max(value(self.to_ns))
    }
}

/// The highest rate at which users start in the slot, per second, in phases one after the other.
fn rate_in(phases: &[Phase], slot: Slot) -> f64 {
    let rate = |phase: &Phase| {
        let Some(part) = slot.within(phase) else {
            return 0.0;
        };
        let is_over = |max: u64| phase.users_by(part.from_ns) >= max as f64;
        if phase.users_max.is_some_and(is_over) {
            return 0.0;
        }
        match &phase.kind {
            PhaseKind::Rate { from_per_s, to_per_s, .. } => {
                part.highest(phase, *from_per_s, *to_per_s)
            }
            PhaseKind::Trace(_) | PhaseKind::Starts(_) => {
                let users = phase.users_by(part.to_ns) - phase.users_by(part.from_ns);
                users / ((part.to_ns - part.from_ns) as f64 / 1e9)
            }
            PhaseKind::Together(streams) => {
                streams.iter().map(|stream| rate_in(stream, slot)).sum()
            }
            PhaseKind::Hold | PhaseKind::Closed(_) => 0.0,
        }
    };
    phases.iter().map(rate).fold(0.0, f64::max)
}

/// The largest number of users of closed populations in the slot.
fn users_in(phases: &[Phase], slot: Slot) -> f64 {
    let users = |phase: &Phase| {
        let Some(part) = slot.within(phase) else {
            return 0.0;
        };
        match &phase.kind {
            PhaseKind::Closed(population) => {
                let from = population.from_count as f64;
                part.highest(phase, from, population.to_count as f64).ceil()
            }
            PhaseKind::Together(streams) => {
                streams.iter().map(|stream| users_in(stream, slot)).sum()
            }
            PhaseKind::Rate { .. }
            | PhaseKind::Trace(_)
            | PhaseKind::Starts(_)
            | PhaseKind::Hold => 0.0,
        }
    };
    phases.iter().map(users).fold(0.0, f64::max)
}

/// The plots and their axis; nothing if nobody comes.
fn plots(all: &[Arrivals<'_>], columns: usize, style: Style) -> Vec<String> {
    // The label, a blank, and the line beside the plot.
    let beside = INDENT.len() + LABEL_COLUMNS + 2;
    let width = columns.saturating_sub(beside).clamp(1, PLOT_COLUMNS);
    let phases = all.iter().flat_map(|arriving| arriving.phases);
    let end_ns = phases.map(Phase::end_ns).max().unwrap_or(0);
    let bound = |number: usize| (end_ns as f64 * number as f64 / width as f64) as u64;
    let slots = (0..width).map(|number| Slot { from_ns: bound(number), to_ns: bound(number + 1) });
    let most = |values: &[f64]| values.iter().copied().fold(0.0, f64::max);
    let mut lines = Vec::new();
    for Arrivals { population, phases, .. } in all.iter().copied() {
        let rates: Vec<f64> = slots.clone().map(|slot| rate_in(phases, slot)).collect();
        let top = most(&rates);
        if top > 0.0 {
            lines.extend(plot(&rates, top, [&rate(top), population], style));
        }
        let users: Vec<f64> = slots.clone().map(|slot| users_in(phases, slot)).collect();
        let top = most(&users);
        if top > 0.0 {
            let label = units::counted(top as u64, "user");
            lines.extend(plot(&users, top, [&label, population], style));
        }
    }
    if lines.is_empty() {
        return lines;
    }
    let corner = style.pick("└", "+");
    let axis = style.pick("─", "-").repeat(width);
    lines.push(format!("{INDENT}{:LABEL_COLUMNS$} {corner}{axis}", ""));
    let begin = units::clock(0);
    let end = units::clock(end_ns);
    let room = width.saturating_sub(begin.len()).max(end.len() + 1);
    lines.push(format!("{INDENT}{:LABEL_COLUMNS$}  {begin}{end:>room$}", ""));
    lines
}

/// Values from 0 to `top`, a column each. The labels stand beside the first rows.
fn plot(values: &[f64], top: f64, labels: [&str; 2], style: Style) -> Vec<String> {
    let levels: Vec<char> = style.pick(" ▁▂▃▄▅▆▇█", " ...::::#").chars().collect();
    let side = style.pick("│", "|");
    let rows = (0..ROWS).rev().map(|row| {
        let cell = |value: &f64| {
            let height = value / top * (ROWS * EIGHTHS) as f64;
            let eighths = (height - (row * EIGHTHS) as f64).ceil();
            levels[eighths.clamp(0.0, EIGHTHS as f64) as usize]
        };
        let cells: String = values.iter().map(cell).collect();
        let label =
            labels.get(ROWS - 1 - row).map_or_else(String::new, |label| short(label, style));
        format!("{INDENT}{label:>LABEL_COLUMNS$} {side}{cells}")
    });
    rows.collect()
}

/// A label that fits beside a plot.
fn short(label: &str, style: Style) -> String {
    if label.chars().count() <= LABEL_COLUMNS {
        return label.to_owned();
    }
    let kept: String = label.chars().take(LABEL_COLUMNS - 1).collect();
    kept + style.pick("…", "~")
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use plan::Population;

    use super::*;

    const UNICODE: Style = Style { colour: false, unicode: true };

    fn phase(start_s: u64, kind: PhaseKind) -> Phase {
        Phase {
            name: String::new(),
            kind,
            start_ns: start_s * 1_000_000_000,
            duration_ns: 10_000_000_000,
            session: None,
            weights: None,
            users_max: None,
            iterations: None,
            until_done: false,
        }
    }

    fn open(start_s: u64, from_per_s: f64, to_per_s: f64) -> Phase {
        let spacing = Spacing::Even;
        phase(start_s, PhaseKind::Rate { from_per_s, to_per_s, spacing })
    }

    fn both() -> Vec<Phase> {
        let users = PhaseKind::Closed(Population::fixed(20));
        vec![open(0, 0.0, 30.0), phase(10, users)]
    }

    fn unnamed(phases: &[Phase]) -> [Arrivals<'_>; 1] {
        [Arrivals { population: "", phases, singles_count: 0 }]
    }

    #[test]
    fn rates_and_users_have_one_axis() {
        let shown = |style| {
            let lines = plots(&unnamed(&both()), 24, style);
            let lines = lines.iter().map(|line| line.trim_end().to_owned() + "\n");
            "load\n".to_owned() + &lines.collect::<String>()
        };
        expect![[r#"
            load
                    30/s │   ▄█
                         │ ▂▇██
                         │▅████
                20 users │     █████
                         │     █████
                         │     █████
                         └──────────
                          0:00  0:20
        "#]]
        .assert_eq(&shown(UNICODE));
        expect![[r#"
            load
                    30/s |   :#
                         | .:##
                         |:####
                20 users |     #####
                         |     #####
                         |     #####
                         +----------
                          0:00  0:20
        "#]]
        .assert_eq(&shown(Style::PLAIN));
    }

    #[test]
    fn the_width_is_bounded() {
        for columns in [0, 10, 40, 1000] {
            let widest = plots(&unnamed(&both()), columns, UNICODE)
                .iter()
                .map(|line| line.chars().count())
                .max();
            assert!(widest <= Some(INDENT.len() + LABEL_COLUMNS + 2 + PLOT_COLUMNS), "{columns}");
            let text = rendered(&unnamed(&both()), columns, UNICODE);
            assert!(text.lines().all(|line| line.chars().count() <= columns), "{columns}: {text}");
        }
        assert!(plots(&unnamed(&[phase(0, PhaseKind::Hold)]), 80, UNICODE).is_empty());
    }

    #[test]
    fn populations_have_one_axis() {
        let ramp = Population { kept_count: 0, from_count: 0, to_count: 40 };
        let rise = [phase(0, PhaseKind::Closed(ramp))];
        let buyers = [phase(0, PhaseKind::Hold), open(10, 8.0, 8.0)];
        let all = [
            Arrivals { population: "readers", phases: &rise, singles_count: 0 },
            Arrivals { population: "early buyers", phases: &buyers, singles_count: 2 },
        ];
        let lines = rendered(&all, 130, UNICODE);
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(
            lines[..2],
            [
                "  load of readers: the number of users goes from 0 to 40 in 10 s",
                "  load of early buyers: no user starts for 10 s, then users start at 8/s for 10 s; 2 users at times of their own",
            ]
        );
        let shown = plots(&all, 22, UNICODE);
        let shown = shown.iter().map(|line| line.trim_end().to_owned() + "\n");
        expect![[r#"
            load
                40 users │  ▂█
                 readers │ ▄██
                         │▆███
                     8/s │    ████
              early buy… │    ████
                         │    ████
                         └────────
                          0:00 0:20
        "#]]
        .assert_eq(&("load\n".to_owned() + &shown.collect::<String>()));
    }

    /// Users leave when their sessions are over: nobody is to think that they stay for the time that is the limit.
    #[test]
    fn what_ends_a_phase_before_its_time_is_said() {
        let closed = |count, iterations| Phase {
            iterations,
            ..phase(0, PhaseKind::Closed(Population::fixed(count)))
        };
        let until_done = |phase: Phase| Phase { until_done: true, ..phase };
        for (phase, expected) in [
            (
                closed(20, Some(Iterations::Shared(1000))),
                "20 users at a time for 10 s, or until 1,000 sessions of all are over",
            ),
            (
                closed(2, Some(Iterations::Each(7))),
                "2 users at a time for 10 s, or until 7 sessions of each are over",
            ),
            (
                closed(1, Some(Iterations::Shared(2))),
                "1 user at a time for 10 s, or until 2 sessions of it are over",
            ),
            (until_done(closed(3, None)), "3 users at a time for 10 s, or until all have left"),
            (
                until_done(phase(0, PhaseKind::Hold)),
                "no user starts for 10 s, or until all have left",
            ),
            (
                Phase { users_max: Some(30), ..open(0, 5.0, 5.0) },
                "users start at 5/s for 10 s, 30 users at most",
            ),
        ] {
            assert_eq!(phase_in_words(&phase), expected);
        }
    }

    #[test]
    fn phases_are_said_in_their_order() {
        let ramp = Population { kept_count: 0, from_count: 0, to_count: 1500 };
        let mut phases = both();
        phases.push(phase(20, PhaseKind::Closed(ramp)));
        phases.push(phase(30, PhaseKind::Together(vec![both(), both()])));
        phases.push(phase(40, PhaseKind::Hold));
        phases.push(open(50, 2.5, 2.5));
        phases.push(open(60, 1.0, 1.0));
        assert_eq!(
            in_words(&phases),
            "the rate of new users goes from 0/s to 30/s in 10 s, then 20 users at a time for 10 s, then the number of \
             users goes from 0 to 1,500 in 10 s, then 2 streams of users side by side for 10 s, then no user starts for \
             10 s, then users start at 2.50/s for 10 s, then 1 more phase"
        );
    }
}
