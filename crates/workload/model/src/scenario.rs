//! Writes the model as a scenario that can be run and scaled.

mod arrivals;
mod detail;
mod targets;

use std::fmt::Write as _;

use stats::fit::Family;

use crate::durations::{Durations, Fit};
use crate::recorded::{SEQUENCE_REQUESTS_MAX, spread, weights};
use crate::{BehaviourKind, Model, SCENARIO_BEGINS, Segment};

pub(crate) use detail::Detail;
pub(crate) use targets::{drawn, files, inline_max, target_of_sequence};

/// The default length of a run, in the log's time.
const SECONDS_MAX: f64 = 3_600.0;

/// How many recorded sessions of each segment the scenario has. It depends on the mean length of sessions: leaving
/// out single long ones would make the sessions in the scenario too short.
pub(crate) fn sequences_each(model: &Model) -> usize {
    let segments = model.segments.iter();
    let kept: Vec<(usize, f64)> = segments
        .map(|segment| {
            let sequences = &segment.behaviour.sequences;
            let requests: usize = sequences.iter().map(Vec::len).sum();
            (sequences.len(), requests as f64 / sequences.len().max(1) as f64)
        })
        .collect();
    let most = kept.iter().map(|kept| kept.0).max().unwrap_or(0);
    let requests = |each: usize| -> f64 {
        let of_segments = kept.iter();
        of_segments.map(|&(count, mean)| count.min(each) as f64 * mean).sum()
    };
    let fits = |each: &usize| requests(*each) <= SEQUENCE_REQUESTS_MAX as f64;
    (1..=most).rev().find(fits).unwrap_or(1)
}

/// `scenario.yaml`.
pub(crate) fn text(model: &Model) -> String {
    written(model, Detail::largest_that_fits(model).unwrap_or_default())
}

/// The scenario's text with this much detail.
fn written(model: &Model, detail: Detail) -> String {
    let mut out = head(model);
    let names = names(model);
    params(model, &names, &mut out);
    targets::data(model, &mut out);
    out.push_str("sessions:\n");
    for (segment, name) in model.segments.iter().zip(&names) {
        session(model, segment, name, detail, &mut out);
    }
    arrivals::arrivals(model, &names, &mut out);
    out
}

/// One number a line of ten, as `trace` reads them.
pub(crate) fn trace_text(bins: &[f64]) -> String {
    let mut out = String::with_capacity(bins.len() * 2);
    for line in bins.chunks(20) {
        let numbers: Vec<String> = line.iter().map(|&count| number(count)).collect();
        out.push_str(&numbers.join(" "));
        out.push('\n');
    }
    out
}

fn head(model: &Model) -> String {
    let one_segment = model.segments.len() == 1;
    let first = model.segments.first().map_or("all", |segment| &segment.name);
    let mut out = String::new();
    let _ = write!(
        out,
        "{SCENARIO_BEGINS} from {} requests; report.md shows how well it fits.\n\
         # Parameters, each by itself:\n\
         #   --set target=http://HOST:PORT/   the server\n\
         #   --set speed=20                   the same users 20 times as fast: arrivals and think times\n\
         #   --set users=2                    twice as many users of every segment\n",
        model.log.requests
    );
    if !one_segment {
        let _ = writeln!(
            out,
            "#   --set {}=…   users of {:?} a second",
            rate_name(&names(model)[0]),
            first
        );
    }
    if thinks(model) {
        if ends_by_chance(model) {
            out.push_str(
                "#   --set length=2                   twice the odds of a further request\n",
            );
        }
        out.push_str("#   --set think=6                    every think time six times as long\n");
    }
    if arrivals::uses_trace(model) {
        out.push_str("#   --set begin=10800                seconds into the log to begin at\n");
    }
    let _ = write!(
        out,
        "#   --set seconds=18000              seconds of the log's time (it has {})\n\
         name: {}\n\
         target: http://127.0.0.1:8080/\n\
         # The log has what browsers requested after a redirect.\n\
         options: {{ redirects: 0 }}\n\
         seed: {}\n",
        number(model.arrivals.span_s),
        quoted(&model.name),
        model.seed
    );
    out
}

/// Names of the segments' sessions: letters, digits and `_`, none twice.
pub(crate) fn names(model: &Model) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for segment in &model.segments {
        let mut name: String = segment
            .name
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' })
            .take(40)
            .collect();
        name = match name.trim_matches('_') {
            "" => "session".to_owned(),
            // YAML takes this word for no text at all.
            "null" => "null_session".to_owned(),
            other => other.to_owned(),
        };
        let free =
            std::iter::once(name.clone()).chain((2..).map(|number| format!("{name}_{number}")));
        let free = free.into_iter().find(|candidate| !names.contains(candidate));
        names.extend(free);
    }
    names
}

fn rate_name(name: &str) -> String {
    format!("rate_{name}")
}

fn params(model: &Model, names: &[String], out: &mut String) {
    let seconds = model.arrivals.span_s.min(SECONDS_MAX);
    let _ = write!(out, "params:\n  speed: 1\n  users: 1\n");
    if thinks(model) {
        out.push_str("  think: 1\n");
        if ends_by_chance(model) {
            out.push_str("  length: 1\n");
        }
    }
    let _ = writeln!(out, "  seconds: {}", number(seconds));
    if arrivals::uses_trace(model) {
        out.push_str("  begin: 0\n");
    }
    out.push_str("  # sessions a second, by segment\n");
    for (segment, name) in model.segments.iter().zip(names) {
        let rate = segment.sessions as f64 / model.arrivals.span_s;
        let _ = writeln!(out, "  {}: {}", rate_name(name), number(rate));
    }
    if !arrivals::apart(model) {
        let sum: Vec<String> = names.iter().map(|name| rate_name(name)).collect();
        let _ = writeln!(out, "  rate: \"${{{}}}\"", sum.join(" + "));
    }
}

/// Whether any session has more than one request.
fn thinks(model: &Model) -> bool {
    model.segments.iter().any(|segment| !segment.behaviour.transitions.is_empty())
}

/// Whether a segment's users follow a chain: also if none of its sessions could be kept.
pub(crate) fn is_chain(model: &Model, segment: &Segment) -> bool {
    model.behaviour == BehaviourKind::Chain || segment.behaviour.sequences.is_empty()
}

/// Whether there is a class after which some sessions of a chain end and others continue.
fn ends_by_chance(model: &Model) -> bool {
    let mut chains = model.segments.iter().filter(|s| is_chain(model, s));
    chains.any(|segment| {
        let behaviour = &segment.behaviour;
        let mut transitions = behaviour.transitions.iter();
        transitions.any(|transition| behaviour.exits[transition.from] > 0)
    })
}

fn session(model: &Model, segment: &Segment, name: &str, detail: Detail, out: &mut String) {
    let _ = write!(
        out,
        "  {name}: # {:?}, {} sessions\n    weight: \"${{{}}}\"\n    steps:\n",
        segment.name,
        segment.sessions,
        rate_name(name)
    );
    match is_chain(model, segment) {
        true => chain(model, segment, detail, out),
        false => sequences(model, segment, detail, out),
    }
}

fn chain(model: &Model, segment: &Segment, detail: Detail, out: &mut String) {
    let behaviour = &segment.behaviour;
    let classes = &model.classes;
    let sessions: u64 = behaviour.starts.iter().sum();
    let starts: Vec<String> = behaviour
        .starts
        .iter()
        .zip(classes)
        .filter(|(count, _)| **count > 0)
        .map(|(&count, class)| {
            format!("{}: {}", class.state, number(count as f64 / sessions as f64))
        })
        .collect();
    let _ = write!(
        out,
        "      - markov:\n          start: {{ {} }}\n          states:\n",
        starts.join(", ")
    );
    for (number_of, class) in classes.iter().enumerate() {
        let leaving: Vec<_> =
            behaviour.transitions.iter().filter(|t| t.from == number_of).collect();
        let exits = behaviour.exits[number_of];
        let seen = exits + leaving.iter().map(|t| t.count).sum::<u64>();
        if seen == 0 {
            continue;
        }
        let _ = write!(out, "            {}:\n              steps:\n", class.state);
        targets::request(model, class, 16, out);
        let think = behaviour.class_thinks[number_of].as_ref().unwrap_or(&behaviour.thinks);
        if leaving.iter().any(|t| t.think.is_none()) {
            let think = distribution(think, model, detail);
            let _ = writeln!(out, "              think: {think}");
        }
        out.push_str("              next:\n");
        let exit = exits as f64 / seen as f64;
        for transition in leaving {
            let p = probability(transition.p, exit);
            let to = &classes[transition.to].state;
            let _ = match &transition.think {
                Some(think) => writeln!(
                    out,
                    "                {to}: {{ p: {p}, think: {} }}",
                    distribution(think, model, detail)
                ),
                None => writeln!(out, "                {to}: {p}"),
            };
        }
        if exits == seen {
            out.push_str("                exit: 1\n");
        } else if exits > 0 {
            let e = number(exit);
            let on = number(1.0 - exit);
            let _ = writeln!(out, "                exit: \"${{{e} / ({e} + {on} * length)}}\"");
        }
    }
}

/// The probability of a transition, its odds against the session's end times `length`.
fn probability(p: f64, exit: f64) -> String {
    if exit == 0.0 {
        return number(p);
    }
    let p = number(p);
    let e = number(exit);
    let on = number(1.0 - exit);
    format!("\"${{{p} * length / ({e} + {on} * length)}}\"")
}

fn sequences(model: &Model, segment: &Segment, detail: Detail, out: &mut String) {
    out.push_str("      - choose:\n");
    let kept = &segment.behaviour.sequences;
    let places: Vec<usize> = spread(detail.sequences.min(kept.len()), kept.len()).collect();
    let weights = weights(&segment.behaviour.lengths, kept, &places);
    let alike = weights.iter().all(|weight| *weight == weights[0]);
    for (&sequence, weight) in places.iter().zip(&weights) {
        match alike {
            true => out.push_str("          - steps:\n"),
            false => {
                let weight = number(*weight);
                let _ = write!(out, "          - weight: {weight}\n            steps:\n");
            }
        }
        for (place, &(class, before_s)) in kept[sequence].iter().enumerate() {
            if place > 0 && before_s > 0.0 {
                let _ = writeln!(out, "              - think: {}", scaled(before_s));
            }
            let target = target_of_sequence(model, &segment.behaviour, sequence, place);
            let step = targets::step(&model.classes[class], target);
            let _ = writeln!(out, "              - {step}");
        }
    }
}

/// A duration in seconds, scaled by the parameters.
fn scaled(seconds: f64) -> String {
    format!("\"${{{} * think / speed}}s\"", number(seconds))
}

fn distribution(durations: &Durations, model: &Model, detail: Detail) -> String {
    let gap_s = model.gap.as_ref().map_or(f64::INFINITY, |gap| gap.seconds);
    if let Some(text) = durations.chosen_fit().and_then(|fit| fitted(fit, gap_s)) {
        return text;
    }
    empirical(&durations.points(detail.points))
}

/// Values with their weights; values of equal weight are grouped.
fn empirical(points: &[(f64, f64)]) -> String {
    let parts: Vec<(f64, String)> = points
        .chunk_by(|a, b| (a.1 - b.1).abs() <= 1e-9 * a.1)
        .map(|alike| {
            let values: Vec<String> = alike.iter().map(|&(value, _)| scaled(value)).collect();
            let weight = alike.iter().map(|point| point.1).sum();
            match &values[..] {
                [only] => (weight, only.clone()),
                values => (weight, format!("{{ empirical: [{}] }}", values.join(", "))),
            }
        })
        .collect();
    match &parts[..] {
        [] => "0s".to_owned(),
        [(_, only)] => only.clone(),
        parts => {
            let part = |(weight, of): &(f64, String)| {
                format!("{{ weight: {}, of: {of} }}", number(*weight))
            };
            let parts: Vec<String> = parts.iter().map(part).collect();
            format!("{{ mixture: [{}] }}", parts.join(", "))
        }
    }
}

/// A fit in the scenario's syntax; `None` if its parameters are outside what a scenario allows.
fn fitted(fit: &Fit, gap_s: f64) -> Option<String> {
    let value = |name: &str| Some(fit.value(name)).filter(|x| (1e-6..=1e6).contains(x));
    let bare = |name: &str| value(name).map(number);
    let time = |name: &str| value(name).map(scaled);
    let text = match fit.family {
        Family::Exponential => format!("exponential: {}", time("mean")?),
        Family::Weibull => {
            format!("weibull: {{ scale: {}, shape: {} }}", time("scale")?, bare("shape")?)
        }
        Family::Lognormal => {
            format!("lognormal: {{ median: {}, sigma: {} }}", time("median")?, bare("sigma")?)
        }
        Family::Pareto => {
            format!("pareto: {{ scale: {}, shape: {} }}", time("scale")?, bare("shape")?)
        }
        Family::Gamma => format!("gamma: {{ mean: {}, shape: {} }}", time("mean")?, bare("shape")?),
        Family::Hyperexponential => {
            let share = value("share").filter(|share| *share < 1.0)?;
            format!(
                "mixture: [ {{ weight: {}, of: {{ exponential: {} }} }}, {{ weight: {}, of: {{ exponential: {} }} }} ]",
                number(share),
                time("mean")?,
                number(1.0 - share),
                time("other_mean")?
            )
        }
    };
    // A think that is longer than the gap would have ended the session.
    Some(match gap_s.is_finite() {
        true => format!("{{ {text}, max: {} }}", scaled(gap_s)),
        false => format!("{{ {text} }}"),
    })
}

/// A number with seven significant digits, never with an exponent.
pub(crate) fn number(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return "0".to_owned();
    }
    let before = x.abs().log10().floor() as i32 + 1;
    let places = (7 - before).clamp(0, 15) as usize;
    let text = format!("{x:.places$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Text in double quotes, as JSON has it, which YAML reads alike; nothing in it is filled in.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text.replace("${", "\\${")).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_no_exponents_and_no_noise() {
        for (x, text) in [
            (0.1 + 0.2, "0.3"),
            (1e-9, "0.000000001"),
            (123_456_789.0, "123456789"),
            (35.771894, "35.77189"),
            (-2.5, "-2.5"),
            (0.0, "0"),
        ] {
            assert_eq!(number(x), text);
        }
    }
}
