//! A model's whole report as Markdown: `report.md`.

use model::{
    ArrivalProcess, Arrivals, Behaviour, Durations, Model, Outcome, ProcessReason, SegmentProcess,
    Severity,
};

use units::counted;

use super::{figure, span};

/// Transitions of a segment that are shown.
const TRANSITIONS_MAX: usize = 30;
/// Characters a picture's line has.
const BARS: &[char] = &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const PICTURE_COLUMNS: usize = 100;

/// The report: what fits, what does not, and every test.
pub fn markdown(model: &Model) -> String {
    let mut out = format!("# The workload of {}\n\n", plain(&model.name));
    findings(model, &mut out);
    log(model, &mut out);
    sessions(model, &mut out);
    out += "\n## How users arrive\n";
    let whole = &model.arrivals;
    let apart = model.segments.iter().any(|segment| segment.process.is_some());
    let how = match apart {
        true => "each segment by a process of its own".to_owned(),
        false => {
            process_text(whole.process)
                + if whole.process_requested { ", as requested" } else { "" }
        }
    };
    arrivals("all", whole, &how, &mut out);
    for segment in &model.segments {
        let how = match &segment.process {
            Some(process) => process_text(process.kind) + reason_text(process),
            None => "as all segments".to_owned(),
        };
        if let Some(own) = &segment.arrivals {
            arrivals(&segment.name, own, &how, &mut out);
        }
    }
    out += "\n## What users do\n";
    classes(model, &mut out);
    for segment in &model.segments {
        behaviour(model, &segment.name, &segment.behaviour, &mut out);
    }
    out
}

fn findings(model: &Model, out: &mut String) {
    for (severity, heading) in [
        (Severity::Warning, "Where the model does not fit, or may not"),
        (Severity::Good, "Where it fits"),
        (Severity::Note, "Good to know"),
    ] {
        let mut of_it = model.findings.iter().filter(|f| f.severity == severity).peekable();
        if of_it.peek().is_none() {
            continue;
        }
        *out += &format!("**{heading}**\n\n");
        for finding in of_it {
            *out += &format!("- {}\n", plain(&finding.text));
        }
        *out += "\n";
    }
}

fn log(model: &Model, out: &mut String) {
    let log = &model.log;
    *out += "## The log\n\n| file | format | lines |\n| --- | --- | ---: |\n";
    for file in &log.files {
        let cut = file.cut_off.as_ref().map_or(String::new(), |why| format!(" (cut off: {why})"));
        *out += &format!(
            "| {} | {} | {}{} |\n",
            plain(&file.name),
            file.format,
            file.lines,
            plain(&cut)
        );
    }
    *out += &format!(
        "\n{} in {}, times in steps of {} s.\n",
        counted(log.requests, "request"),
        span(model.arrivals.span_s),
        figure(log.step_s)
    );
    for (kind, count) in &log.problems {
        let what = if kind.is_bad() { "left out" } else { "kept" };
        *out += &format!("\n{} {} ({what}):\n\n", counted(count.lines, "line"), kind.text());
        for example in &count.examples {
            *out += &format!("- {}: `{}`\n", plain(&example.at), example.text.replace('`', "'"));
        }
    }
}

fn sessions(model: &Model, out: &mut String) {
    let Some(gap) = &model.gap else {
        return;
    };
    *out += &format!(
        "\n## Sessions\n\nThe key of a user is {}; a session ends after {} s without a request. Other gaps would \
         give:\n\n| gap | sessions |\n| ---: | ---: |\n",
        plain(&model.key),
        figure(gap.seconds)
    );
    for (seconds, sessions) in &gap.others {
        *out += &format!("| {} | {sessions} |\n", span(*seconds));
    }
    *out += "\n| segment | sessions | requests | a session | sessions of 1 | per second |\n\
             | --- | ---: | ---: | ---: | ---: | ---: |\n";
    for segment in &model.segments {
        let single = segment.behaviour.lengths.get(&1).copied().unwrap_or(0);
        *out += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            plain(&segment.name),
            segment.sessions,
            segment.requests,
            figure(segment.requests as f64 / segment.sessions as f64),
            units::share(single as f64 / segment.sessions as f64),
            figure(segment.sessions as f64 / model.arrivals.span_s)
        );
    }
}

/// An arrival process in words.
fn process_text(process: ArrivalProcess) -> String {
    let words = match process {
        ArrivalProcess::Poisson => "a Poisson process of one rate",
        ArrivalProcess::Cycle => "a Poisson process whose rate follows the clock",
        ArrivalProcess::Trace => "as recorded",
    };
    words.to_owned()
}

fn reason_text(process: &SegmentProcess) -> &'static str {
    match (process.reason, process.kind) {
        (ProcessReason::Own, _) => "",
        (ProcessReason::Given, _) => ", as requested",
        (ProcessReason::Few, ArrivalProcess::Cycle) => {
            " at the hours of all, because it has few sessions"
        }
        (ProcessReason::Few, _) => ", because it has few sessions",
    }
}

/// `how`: they arrive in the scenario.
fn arrivals(name: &str, arrivals: &Arrivals, how: &str, out: &mut String) {
    *out += &format!(
        "\n### {}\n\n{}, {} a second (95 %: {} to {}, for a Poisson process). In the scenario: {how}.\n",
        plain(name),
        counted(arrivals.users, "user"),
        figure(arrivals.rate_per_s),
        figure(arrivals.rate_low),
        figure(arrivals.rate_high),
    );
    scales(arrivals, out);
    cycle(arrivals, out);
    if let Some(gaps) = &arrivals.gaps {
        *out += "\nTimes between arrivals:\n\n";
        fits(gaps, out);
    }
    hurst(arrivals, out);
}

fn scales(arrivals: &Arrivals, out: &mut String) {
    if arrivals.scales.is_empty() {
        return;
    }
    *out += "\n| window | windows | mean | variance / mean | p (Poisson) | correlations outside | p (independence) |\n\
             | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for scale in &arrivals.scales {
        *out += &format!(
            "| {} s | {} | {} | {} | {} | {} of {} | {} |\n",
            scale.window_s,
            scale.windows,
            figure(scale.mean),
            figure(scale.index),
            p_value(scale.p_dispersion),
            scale.outside,
            scale.autocorrelation.len().saturating_sub(1),
            p_value(scale.p_dependence)
        );
    }
    *out += "\nThe same recording at each scale, around its middle. If it looks alike at all scales, arrivals are \
             self-similar.\n\n```\n";
    for scale in &arrivals.scales {
        *out += &format!("{:>6} s |{}|\n", scale.window_s, picture(&scale.picture));
    }
    *out += "```\n";
}

fn cycle(arrivals: &Arrivals, out: &mut String) {
    let Some(cycle) = &arrivals.cycle else {
        return;
    };
    *out += &format!(
        "\nUsers a second by the hour{}:\n\n```\n",
        if cycle.rates.len() > 24 { " of the week" } else { "" }
    );
    let top = cycle.rates.iter().copied().fold(0.0, f64::max);
    for (day, rates) in cycle.rates.chunks(24).enumerate() {
        let bars: String = rates.iter().map(|rate| bar(rate / top)).collect();
        let name = match cycle.rates.len() {
            24 => "every day",
            _ => ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
                [day % 7],
        };
        let low = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = rates.iter().copied().fold(0.0, f64::max);
        *out += &format!("{name:>9} |{bars}| {} to {}\n", figure(low), figure(high));
    }
    *out += "```\n";
}

fn hurst(arrivals: &Arrivals, out: &mut String) {
    let Some(hurst) = &arrivals.hurst else {
        return;
    };
    *out += &format!(
        "\nSelf-similarity of {} counts of {} s each:\n\n| method | of | scales | H | 95 % | p (straight) |\n\
         | --- | --- | --- | ---: | ---: | ---: |\n",
        hurst.numbers, hurst.number_s
    );
    for estimate in &hurst.estimates {
        let interval = match (estimate.low, estimate.high) {
            (Some(low), Some(high)) => format!("{low:.3} to {high:.3}"),
            _ => "–".to_owned(),
        };
        *out += &format!(
            "| {} | {} | {} to {} | {:.3} | {interval} | {} |\n",
            estimate.method,
            if estimate.about_cycle { "counts without the cycle" } else { "counts" },
            span(estimate.from_s),
            span(estimate.upto_s),
            estimate.h,
            estimate.p_straight.map_or("–".to_owned(), p_value)
        );
    }
}

fn classes(model: &Model, out: &mut String) {
    *out += "\n| class | state | requests | most frequent target |\n| --- | --- | ---: | --- |\n";
    for class in &model.classes {
        let target = class.targets.first();
        let target =
            target.map_or(String::new(), |target| format!("{} {}", target.method, target.target));
        *out += &format!(
            "| {} | {} | {} | {} |\n",
            plain(&class.name),
            class.state,
            class.requests,
            plain(&target)
        );
    }
}

fn behaviour(model: &Model, name: &str, behaviour: &Behaviour, out: &mut String) {
    if behaviour.transitions.is_empty() {
        return;
    }
    *out += &format!("\n### {}\n\nAll think times:\n\n", plain(name));
    fits(&behaviour.thinks, out);
    let sessions: u64 = behaviour.starts.iter().sum();
    *out += "\n| from | to | times | probability | 95 % | mean think time | distribution | p |\n\
             | --- | --- | ---: | ---: | ---: | ---: | --- | ---: |\n";
    for (class, &count) in behaviour.starts.iter().enumerate().filter(|(_, count)| **count > 0) {
        *out += &format!(
            "| *begin* | {} | {count} | {} | | | | |\n",
            model.classes[class].state,
            figure(count as f64 / sessions as f64)
        );
    }
    let mut transitions: Vec<_> = behaviour.transitions.iter().collect();
    transitions.sort_by_key(|transition| std::cmp::Reverse(transition.count));
    for transition in transitions.iter().take(TRANSITIONS_MAX) {
        let think = transition.think.as_ref();
        *out += &format!(
            "| {} | {} | {} | {} | {} to {} | {} | {} | {} |\n",
            model.classes[transition.from].state,
            model.classes[transition.to].state,
            transition.count,
            figure(transition.p),
            figure(transition.low),
            figure(transition.high),
            think.map_or(String::new(), |think| format!("{} s", figure(think.mean_s))),
            think.map_or("that of its class".to_owned(), |think| fit_name(think).to_owned()),
            think
                .and_then(|think| think.test.as_ref())
                .map_or(String::new(), |test| p_value(test.p_distance.min(test.p_anderson)))
        );
    }
    if transitions.len() > TRANSITIONS_MAX {
        *out += &format!("\n{} more are in model.json.\n", transitions.len() - TRANSITIONS_MAX);
    }
}

fn fit_name(durations: &Durations) -> &'static str {
    durations.chosen_fit().map_or("values", |fit| fit.family.name())
}

fn fits(durations: &Durations, out: &mut String) {
    if durations.fits.is_empty() {
        *out += &format!("{}, too few or too similar to fit.\n", counted(durations.count, "time"));
        return;
    }
    *out += "| distribution | parameters (95 %) | AIC |\n| --- | --- | ---: |\n";
    let best = durations.fits[0].aic;
    for fit in &durations.fits {
        let parameters: Vec<String> = fit
            .parameters
            .iter()
            .map(|parameter| match (parameter.low, parameter.high) {
                (Some(low), Some(high)) => {
                    format!(
                        "{} {} ({} to {})",
                        parameter.name,
                        figure(parameter.value),
                        figure(low),
                        figure(high)
                    )
                }
                _ => format!("{} {}", parameter.name, figure(parameter.value)),
            })
            .collect();
        *out += &format!(
            "| {} | {} | +{:.1} |\n",
            fit.family.name(),
            parameters.join(", "),
            fit.aic - best
        );
    }
    if let Some(test) = &durations.test {
        *out += &format!(
            "\nTest of the first, on {} of {} times with {} redrawn samples: D = {:.4} at {} s (p = {}), A² = {:.3} (p = \
             {}): {}.\n",
            test.count,
            durations.count,
            test.rounds,
            test.distance,
            figure(test.at_s),
            p_value(test.p_distance),
            test.anderson,
            p_value(test.p_anderson),
            match durations.outcome {
                Outcome::Fits => "not rejected",
                Outcome::Near => "rejected, but within 5 %, and used",
                Outcome::NoFit | Outcome::TooFew => "rejected; the scenario draws recorded values",
            }
        );
    }
}

fn p_value(p: f64) -> String {
    if p < 0.0001 { "< 0.0001".to_owned() } else { format!("{p:.4}") }
}

/// Counts as bars, put together so that they fit on a line.
fn picture(counts: &[u32]) -> String {
    let each = counts.len().div_ceil(PICTURE_COLUMNS).max(1);
    let sums: Vec<u64> =
        counts.chunks(each).map(|c| c.iter().map(|&count| u64::from(count)).sum()).collect();
    let top = sums.iter().copied().max().unwrap_or(0).max(1);
    sums.iter().map(|&sum| bar(sum as f64 / top as f64)).collect()
}

fn bar(share: f64) -> char {
    BARS[((share * (BARS.len() - 1) as f64).round() as usize).min(BARS.len() - 1)]
}

/// Text whose characters mean nothing to Markdown.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '|' | '*' | '_' | '`' | '<' | '>' | '[' | ']' | '\\') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}
