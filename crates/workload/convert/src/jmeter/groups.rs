//! Thread groups: how many users arrive when, and how often each repeats its steps.
//!
//! A thread is a user. Threads that start over the ramp-up time are users that arrive at an even rate, and repeat their
//! steps in a loop of their own, so that their variables stay as those of a thread do. Groups whose number of threads
//! rises and falls (Ultimate and Stepping Thread Group) are a closed population. Groups that cannot be phases side by side
//! are populations side by side.

use roxmltree::Node;

use super::Importer;
use super::properties::{children, flag, items, kind, label, opening, property, text};
use crate::writer::{Item, Map};

/// How long a group runs that never ends by itself.
const ENDLESS_S: f64 = 600.0;
/// How long users that end by themselves are waited for.
const FINISH_S: f64 = 3600.0;
/// The shortest phase: all threads at once.
const AT_ONCE_S: f64 = 0.1;
/// Most threads of a group.
const THREADS_MAX: f64 = 1e6;
/// Most characters of a population's name, which is the value of a tag.
const NAME_CHARS_MAX: usize = 16;
/// Most phases of a group.
const PHASES_MAX: usize = 1000;

/// When a user has done enough.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Until {
    /// After this many rounds.
    Rounds(f64),
    /// At this time of the run, in seconds.
    Time(f64),
}

/// How the users of a group come.
#[derive(Debug, Clone)]
pub(super) enum Load {
    /// So many arrive evenly within this time, in seconds.
    Threads { count: f64, ramp_s: f64, delay_s: f64, until: Until },
    /// Numbers of users at times in seconds, with straight lines between them.
    Curve(Vec<(f64, f64)>),
    /// Phases of arrivals.
    Arrivals(Vec<Map>),
}

impl<'d, 'i: 'd> Importer<'_> {
    /// The load of a thread group; `None` is reported.
    pub(super) fn load(&mut self, group: Node<'d, 'i>, tree: Option<Node<'d, 'i>>) -> Option<Load> {
        match kind(group) {
            "ThreadGroup" => self.thread_group(group, tree),
            "com.blazemeter.jmeter.threads.concurrency.ConcurrencyThreadGroup" => {
                self.concurrency(group)
            }
            "com.blazemeter.jmeter.threads.arrivals.ArrivalsThreadGroup" => {
                self.arrivals_group(group)
            }
            "OpenModelThreadGroup" => self.open_model(group),
            "kg.apc.jmeter.threads.UltimateThreadGroup" => self.ultimate(group),
            _ => self.stepping(group),
        }
    }

    /// A number of a group, which has to be known here.
    fn of_group(&mut self, group: Node<'d, 'i>, name: &str, default: f64) -> Option<f64> {
        let written = text(group, name).trim().to_owned();
        if written.is_empty() {
            return Some(default);
        }
        let found = self.fixed(&written).filter(|number| (0.0..=1e9).contains(number));
        if found.is_none() {
            let message = format!("`{written}` is not a number that is known");
            let at = super::properties::place(group, name);
            self.diagnostics.error("bad-number", at, message).hint("write a number in the plan");
        }
        found
    }

    fn thread_group(&mut self, group: Node<'d, 'i>, tree: Option<Node<'d, 'i>>) -> Option<Load> {
        let count = self.of_group(group, "ThreadGroup.num_threads", 1.0)?;
        let ramp_s = self.of_group(group, "ThreadGroup.ramp_time", 0.0)?;
        let has_scheduler = flag(group, "ThreadGroup.scheduler");
        let delay_s = match has_scheduler {
            true => self.of_group(group, "ThreadGroup.delay", 0.0)?,
            false => 0.0,
        };
        let duration_s = match has_scheduler {
            true => self.of_group(group, "ThreadGroup.duration", 0.0)?,
            false => 0.0,
        };
        if !(1.0..=THREADS_MAX).contains(&count) {
            let message = format!("{count} threads are not carried over");
            self.diagnostics.lost(opening(group), message);
            return None;
        }
        if let Some(shaped) = self.shaped(tree) {
            return Some(Load::Arrivals(shaped));
        }
        let main = property(group, "ThreadGroup.main_controller").unwrap_or(group);
        let loops = text(main, "LoopController.loops").trim();
        let rounds = match loops {
            "-1" => None,
            "" if flag(main, "LoopController.continue_forever") => None,
            "" => Some(1.0),
            written => match self.fixed(written).filter(|rounds| rounds.fract() == 0.0) {
                Some(rounds) if rounds < 0.0 => None,
                Some(rounds) => Some(rounds),
                None => {
                    let message = format!("`{written}` is not a number of rounds that is known");
                    let at = super::properties::place(main, "LoopController.loops");
                    self.diagnostics.error("bad-number", at, message);
                    return None;
                }
            },
        };
        let until = match (rounds, duration_s > 0.0) {
            (Some(rounds), false) => Until::Rounds(rounds),
            (Some(rounds), true) => {
                let message = "a group with rounds and a duration ends with its rounds";
                self.diagnostics.differs("rounds", opening(group), message);
                Until::Rounds(rounds)
            }
            (None, true) => Until::Time(delay_s + duration_s),
            (None, false) => {
                let message =
                    "this group runs until it is stopped: it is given 10 minutes".to_owned();
                let hint = "choose the length in `arrivals`";
                self.diagnostics.stand_in(opening(group), message).hint(hint);
                Until::Time(delay_s + ENDLESS_S)
            }
        };
        Some(Load::Threads { count, ramp_s, delay_s, until })
    }

    fn concurrency(&mut self, group: Node<'d, 'i>) -> Option<Load> {
        let unit_s = if text(group, "Unit").trim() == "S" { 1.0 } else { 60.0 };
        let count = self.of_group(group, "TargetLevel", 1.0)?;
        let ramp_s = self.of_group(group, "RampUp", 0.0)? * unit_s;
        let hold_s = self.of_group(group, "Hold", 0.0)? * unit_s;
        if !(1.0..=THREADS_MAX).contains(&count) || hold_s + ramp_s <= 0.0 {
            let message = "this group has no threads, or no time".to_owned();
            self.diagnostics.lost(opening(group), message);
            return None;
        }
        if self.of_group(group, "Steps", 0.0)? > 0.0 {
            let message = "the threads of a group start evenly, not in steps";
            self.diagnostics.differs("steps", opening(group), message);
        }
        Some(Load::Threads { count, ramp_s, delay_s: 0.0, until: Until::Time(ramp_s + hold_s) })
    }

    fn arrivals_group(&mut self, group: Node<'d, 'i>) -> Option<Load> {
        let is_seconds = text(group, "Unit").trim() == "S";
        let unit = if is_seconds { "s" } else { "min" };
        let unit_s = if is_seconds { 1.0 } else { 60.0 };
        let rate = self.of_group(group, "TargetLevel", 1.0)?;
        let ramp_s = self.of_group(group, "RampUp", 0.0)? * unit_s;
        let hold_s = self.of_group(group, "Hold", 0.0)? * unit_s;
        if self.of_group(group, "Steps", 0.0)? > 0.0 {
            let message = "the rate of a group rises evenly, not in steps";
            self.diagnostics.differs("steps", opening(group), message);
        }
        let at = opening(group);
        let mut phases = Vec::new();
        if ramp_s > 0.0 {
            let rates = Item::Bare(format!("0/{unit}..{rate}/{unit}"));
            let ramp = Map::single(at.clone(), "ramp", rates);
            phases.push(ramp.with("for", Item::Bare(format!("{ramp_s}s"))));
        }
        if hold_s > 0.0 {
            let constant = Map::single(at, "poisson", Item::Bare(format!("{rate}/{unit}")));
            phases.push(constant.with("for", Item::Bare(format!("{hold_s}s"))));
        }
        self.sound_phases(group, phases)
    }

    fn sound_phases(&mut self, group: Node<'d, 'i>, phases: Vec<Map>) -> Option<Load> {
        if phases.is_empty() || phases.len() > PHASES_MAX {
            let message = "this group has no time in which users arrive, or too many".to_owned();
            self.diagnostics.lost(opening(group), message);
            return None;
        }
        Some(Load::Arrivals(phases))
    }

    /// `rate(1/s) random_arrivals(2 min) rate(5/s) pause(10 s)`.
    fn open_model(&mut self, group: Node<'d, 'i>) -> Option<Load> {
        let at = opening(group);
        let schedule = self.filled(text(group, "OpenModelThreadGroup.schedule"), 0);
        let mut calls = Vec::new();
        let mut rest = schedule.trim();
        while let Some((name, after)) = rest.split_once('(') {
            let Some((argument, tail)) = after.split_once(')') else { break };
            calls.push((name.trim().to_owned(), argument.trim().to_owned()));
            rest = tail;
        }
        let rate_of = |text: &str| {
            let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
            let unit = match unit.trim() {
                "ms" => 0.001,
                "s" | "sec" | "second" => 1.0,
                "m" | "min" | "minute" => 60.0,
                "h" | "hour" => 3600.0,
                "day" => 86_400.0,
                _ => return None,
            };
            let number = number.trim().parse::<f64>().ok()?;
            Some(number / unit).filter(|rate| (0.0..=1e6).contains(rate))
        };
        let seconds_of = |text: &str| {
            let end = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
            let (number, unit) = text.split_at(end);
            let unit = match unit.trim() {
                "ms" => 0.001,
                "" | "s" | "sec" | "second" | "seconds" => 1.0,
                "m" | "min" | "minute" | "minutes" => 60.0,
                "h" | "hour" | "hours" => 3600.0,
                _ => return None,
            };
            let seconds = number.trim().parse::<f64>().ok()? * unit;
            Some(seconds).filter(|seconds| (0.001..=1e7).contains(seconds))
        };
        let mut phases = Vec::new();
        let mut rate = 0.0;
        for (index, (name, argument)) in calls.iter().enumerate() {
            match name.as_str() {
                "rate" => match rate_of(argument) {
                    Some(found) => rate = found,
                    None => return self.bad_schedule(group, argument),
                },
                "random_arrivals" | "even_arrivals" => {
                    let Some(seconds) = seconds_of(argument) else {
                        return self.bad_schedule(group, argument);
                    };
                    // The rate that follows is the one at the end.
                    let next = calls.get(index + 1).filter(|(name, _)| name == "rate");
                    let end = next.and_then(|(_, argument)| rate_of(argument)).unwrap_or(rate);
                    let is_even = name == "even_arrivals";
                    let length = Item::Bare(format!("{seconds}s"));
                    if rate == 0.0 && end == 0.0 {
                        phases.push(Map::single(at.clone(), "hold", length));
                    } else if rate == end {
                        let kind = if is_even { "constant" } else { "poisson" };
                        let rate = Item::Bare(format!("{rate}/s"));
                        phases.push(Map::single(at.clone(), kind, rate).with("for", length));
                    } else {
                        let rates = Item::Bare(format!("{rate}/s..{end}/s"));
                        let ramp = Map::single(at.clone(), "ramp", rates).with("for", length);
                        phases.push(match is_even {
                            true => ramp,
                            false => ramp.with("spacing", Item::Text("poisson".to_owned())),
                        });
                    }
                }
                "pause" => match seconds_of(argument) {
                    Some(seconds) => {
                        let length = Item::Bare(format!("{seconds}s"));
                        phases.push(Map::single(at.clone(), "hold", length));
                    }
                    None => return self.bad_schedule(group, argument),
                },
                _ => return self.bad_schedule(group, name),
            }
        }
        self.sound_phases(group, phases)
    }

    fn bad_schedule(&mut self, group: Node<'d, 'i>, part: &str) -> Option<Load> {
        let message = format!("`{part}` of this schedule is not read");
        let at = super::properties::place(group, "OpenModelThreadGroup.schedule");
        self.diagnostics.lost(at, message);
        None
    }

    /// Rows of a number, a delay, and the times to start, stay and leave.
    fn ultimate(&mut self, group: Node<'d, 'i>) -> Option<Load> {
        let mut rows = Vec::new();
        for row in items(group, "ultimatethreadgroupdata") {
            let cells: Vec<String> = row
                .children()
                .filter(Node::is_element)
                .map(|cell| cell.text().unwrap_or_default().to_owned())
                .collect();
            let numbers: Option<Vec<f64>> = cells
                .iter()
                .map(|cell| self.fixed(cell).filter(|n| (0.0..=1e7).contains(n)))
                .collect();
            match numbers.as_deref() {
                Some(&[count, delay, start, hold, leave]) => {
                    let begin = delay + start;
                    rows.push([
                        (delay, 0.0),
                        (begin.max(delay + 0.001), count),
                        (begin + hold.max(0.002), count),
                        (begin + hold.max(0.002) + leave.max(0.001), 0.0),
                    ]);
                }
                _ => {
                    let message = "this row is not five numbers that are known".to_owned();
                    self.diagnostics.error("bad-number", opening(row), message);
                    return None;
                }
            }
        }
        let rows: Vec<Vec<(f64, f64)>> = rows.into_iter().map(|row| row.to_vec()).collect();
        self.curve(group, &rows)
    }

    /// Steps of threads that start, one after the other.
    fn stepping(&mut self, group: Node<'d, 'i>) -> Option<Load> {
        let count = self.of_group(group, "ThreadGroup.num_threads", 1.0)?;
        let delay = self.of_group(group, "Threads initial delay", 0.0)?;
        let burst = self.of_group(group, "Start users count burst", 0.0)?;
        let step = self.of_group(group, "Start users count", 1.0)?.max(1.0);
        let period = self.of_group(group, "Start users period", 0.0)?;
        let ramp = self.of_group(group, "rampUp", 0.0)?.max(0.001);
        let hold = self.of_group(group, "flighttime", 60.0)?;
        let leave = self.of_group(group, "Stop users count", count)?.max(1.0);
        let leave_period = self.of_group(group, "Stop users period", 0.0)?;
        if count > THREADS_MAX || count / step > 500.0 || count / leave > 500.0 {
            let message = "this group has too many steps".to_owned();
            self.diagnostics.lost(opening(group), message);
            return None;
        }
        let mut at = delay;
        let mut users = 0.0;
        let mut points = vec![(at, 0.0)];
        while users < count {
            let add = if users == 0.0 && burst > 0.0 { burst } else { step };
            users = (users + add).min(count);
            points.push((at + ramp, users));
            at += ramp + period.max(0.001);
            points.push((at, users));
        }
        at += hold;
        points.push((at, users));
        while users > 0.0 {
            users = (users - leave).max(0.0);
            points.push((at + 0.001, users));
            at += leave_period.max(0.002);
            points.push((at, users));
        }
        self.curve(group, &[points])
    }

    /// The sum of several curves.
    fn curve(&mut self, group: Node<'d, 'i>, curves: &[Vec<(f64, f64)>]) -> Option<Load> {
        let mut times: Vec<f64> = curves.iter().flatten().map(|(time, _)| *time).collect();
        times.push(0.0);
        times.sort_by(f64::total_cmp);
        times.dedup();
        let points: Vec<(f64, f64)> = times
            .into_iter()
            .map(|time| (time, curves.iter().map(|curve| height(curve, time)).sum::<f64>().round()))
            .collect();
        let most = points.iter().map(|(_, users)| *users).fold(0.0, f64::max);
        if !(1.0..=THREADS_MAX).contains(&most) || points.len() > PHASES_MAX {
            let message = "this group has no threads, or too many".to_owned();
            self.diagnostics.lost(opening(group), message);
            return None;
        }
        Some(Load::Curve(points))
    }

    /// Arrivals that keep to a Throughput Shaping Timer: its rates of requests, by the number that a user sends.
    fn shaped(&mut self, tree: Option<Node<'d, 'i>>) -> Option<Vec<Map>> {
        let tree = tree?;
        let around = tree.parent_element();
        let timer = [Some(tree), around].into_iter().flatten().find_map(|tree| {
            children(tree)
                .map(|(node, _)| node)
                .find(|node| kind(*node) == "kg.apc.jmeter.timers.VariableThroughputTimer")
        })?;
        let samplers =
            children(tree).filter(|(node, _)| kind(*node).starts_with("HTTPSampler")).count();
        let has_others = children(tree).any(|(node, _)| kind(node).ends_with("Controller"));
        if samplers == 0 || has_others {
            return None;
        }
        let at = opening(timer);
        let mut phases = Vec::new();
        for row in items(timer, "load_profile") {
            let cells: Vec<Option<f64>> = row
                .children()
                .filter(Node::is_element)
                .map(|cell| cell.text().unwrap_or_default().to_owned())
                .map(|cell| self.fixed(&cell).filter(|number| (0.0..=1e6).contains(number)))
                .collect();
            let [Some(from), Some(to), Some(seconds)] = cells[..] else {
                return None;
            };
            if seconds <= 0.0 {
                continue;
            }
            let from = from / samplers as f64;
            let to = to / samplers as f64;
            let length = Item::Bare(format!("{seconds}s"));
            phases.push(if from == 0.0 && to == 0.0 {
                Map::single(at.clone(), "hold", length)
            } else if from == to {
                Map::single(at.clone(), "constant", Item::Bare(format!("{from}/s")))
                    .with("for", length)
            } else {
                let rates = Item::Bare(format!("{from}/s..{to}/s"));
                Map::single(at.clone(), "ramp", rates).with("for", length)
            });
        }
        if phases.is_empty() || phases.len() > PHASES_MAX {
            return None;
        }
        self.shapers.push(at.start);
        let message = "the rate of the timer is that of users who arrive, each with one round";
        self.diagnostics.differs("shaper", at, message);
        Some(phases)
    }

    /// The steps of a session, repeated as its group says; `one_end`: when the run ends, if it does for all groups.
    pub(super) fn repeated(
        &mut self,
        load: &Load,
        rounds: Vec<Map>,
        steps: Vec<Map>,
        one_end: bool,
    ) -> Vec<Map> {
        let mut inner = rounds;
        inner.extend(steps);
        let mut out = Vec::new();
        let Load::Threads { delay_s, until, .. } = load else {
            return inner;
        };
        if *delay_s > 0.0 {
            out.push(Map::single(0..0, "think", Item::Bare(format!("{delay_s}s"))));
        }
        match until {
            Until::Rounds(count) if *count == 1.0 => out.extend(inner),
            Until::Rounds(count) => {
                let step = Map::single(0..0, "loop", Item::Bare(format!("{count}")));
                out.push(step.with("steps", Item::List(inner)));
            }
            Until::Time(_) if one_end => {
                out.push(Map::single(0..0, "forever", Item::List(inner)));
            }
            Until::Time(end_s) => {
                self.needs_begin = true;
                let condition = format!("now() - run_begin < {}", end_s * 1000.0);
                let step = Map::single(0..0, "while", Item::Text(condition));
                out.push(step.with("steps", Item::List(inner)));
            }
        }
        out
    }
}

/// The height of a curve at a time: 0 before and behind it.
fn height(curve: &[(f64, f64)], time: f64) -> f64 {
    for two in curve.windows(2) {
        let ((from_s, from), (to_s, to)) = (two[0], two[1]);
        if (from_s..=to_s).contains(&time) {
            let share = if to_s > from_s { (time - from_s) / (to_s - from_s) } else { 1.0 };
            return from + share * (to - from);
        }
    }
    0.0
}

/// The arrivals of all groups; `None`: they cannot be phases side by side.
pub(super) fn arrivals(groups: &[(String, Load)], one_end: bool) -> Option<Vec<Map>> {
    let length = |seconds: f64| Item::Bare(format!("{}s", (seconds * 1000.0).round() / 1000.0));
    if let [(name, Load::Curve(points))] = groups {
        let mut phases = Vec::new();
        for two in points.windows(2) {
            let ((from_s, from), (to_s, to)) = (two[0], two[1]);
            if (to_s - from_s) < 0.0005 {
                continue;
            }
            let phase = if from == 0.0 && to == 0.0 {
                Map::single(0..0, "hold", length(to_s - from_s))
            } else {
                let users = if from == to { format!("{to}") } else { format!("{from}..{to}") };
                Map::single(0..0, "users", Item::Bare(users))
                    .with("for", length(to_s - from_s))
                    .with("session", Item::Text(name.clone()))
            };
            phases.push(phase);
        }
        return Some(phases);
    }
    let mut side_by_side: Vec<Map> = Vec::new();
    let mut end_s: f64 = 0.0;
    let mut longest_s: f64 = 0.0;
    let mut is_open_ended = false;
    for (name, load) in groups {
        match load {
            Load::Curve(_) => return None,
            Load::Arrivals(phases) if groups.len() == 1 => {
                let mut phases: Vec<Map> = phases.clone();
                for phase in phases.iter_mut().filter(|phase| phase.entries[0].0 != "hold") {
                    phase.put("session", Item::Text(name.clone()));
                }
                phases.push(finish(FINISH_S));
                return Some(phases);
            }
            Load::Arrivals(phases) => {
                let [only] = phases.as_slice() else { return None };
                if only.entries[0].0 == "hold" {
                    return None;
                }
                side_by_side.push(only.clone().with("session", Item::Text(name.clone())));
                is_open_ended = true;
            }
            Load::Threads { count, ramp_s, delay_s, until } => {
                let ramp_s = ramp_s.max(AT_ONCE_S);
                let rate = count / ramp_s;
                // Half a gap more, so that the last one is within.
                let ramp_s = ramp_s + 0.5 / rate;
                longest_s = longest_s.max(ramp_s);
                let phase = Map::single(0..0, "constant", Item::Bare(format!("{rate}/s")))
                    .with("for", length(ramp_s))
                    .with("users_max", Item::Bare(format!("{count}")))
                    .with("session", Item::Text(name.clone()));
                side_by_side.push(phase);
                match until {
                    Until::Rounds(_) => is_open_ended = true,
                    Until::Time(time_s) => end_s = end_s.max(*time_s),
                }
                end_s = end_s.max(delay_s + ramp_s);
            }
        }
    }
    let mut phases = match side_by_side.len() {
        1 => side_by_side,
        _ => vec![Map::single(0..0, "together", Item::List(side_by_side))],
    };
    let left_s = end_s - longest_s;
    if one_end && !is_open_ended {
        if left_s > 0.0 {
            phases.push(Map::single(0..0, "hold", length(left_s)));
        }
    } else {
        phases.push(finish(left_s.max(0.0) + FINISH_S));
    }
    Some(phases)
}

/// The groups as populations, each with its own arrivals.
pub(super) fn populations(groups: &[(String, Load)]) -> Map {
    let mut populations = Map::new(0..0);
    for group in groups {
        let phases = arrivals(std::slice::from_ref(group), false).unwrap_or_default();
        let is_free = |name: &String| populations.entries.iter().all(|(taken, _)| taken != name);
        let own = population_name(&group.0);
        let numbered = (2..).map(|number: u64| format!("group {number}"));
        let name = std::iter::once(own).chain(numbered).find(is_free);
        let name = name.expect("there are more numbers than groups");
        let population = Map::single(0..0, "arrivals", Item::List(phases));
        populations.put(&name, Item::Map(population));
    }
    populations
}

/// The name of a group, as a tag can have it.
fn population_name(name: &str) -> String {
    let is_sound = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '_' | '-' | '.' | '/');
    let kept: String = name.chars().filter(is_sound).take(NAME_CHARS_MAX).collect();
    match kept.trim() {
        "" => "threads".to_owned(),
        name => name.to_owned(),
    }
}

/// The phase in which users finish.
fn finish(seconds: f64) -> Map {
    Map::single(0..0, "hold", Item::Bare(format!("{seconds}s")))
        .with("until", Item::Text("done".to_owned()))
}

/// Whether the users of all groups stay until the same time, which is then the end of the run.
pub(super) fn have_one_end(groups: &[(String, Load)]) -> bool {
    let ends = groups.iter().map(|(_, load)| match load {
        Load::Threads { until: Until::Time(end_s), .. } => Some(*end_s),
        _ => None,
    });
    let ends: Option<Vec<f64>> = ends.collect();
    ends.is_some_and(|ends| ends.windows(2).all(|two| two[0] == two[1]))
}

/// The name of a group's session.
pub(super) fn session_name(group: Node<'_, '_>) -> String {
    match label(group).as_str() {
        "" => "threads".to_owned(),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names are cut to what a tag can have, and may then be those of others.
    #[test]
    fn populations_have_names_of_their_own() {
        let names =
            ["group 2", "Buyers of the shop in spring", "Buyers of the shop in summer", "(,)"];
        let rise = Load::Curve(vec![(0.0, 0.0), (5.0, 10.0)]);
        let groups = names.map(|name| (name.to_owned(), rise.clone()));
        let made = populations(&groups);
        let made: Vec<&str> = made.entries.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(made, ["group 2", "Buyers of the sh", "group 3", "threads"]);
    }
}
