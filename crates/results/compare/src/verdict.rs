//! From changes to a verdict, and its words.

use super::{Change, ComparedRun, Figure, Options, Verdict};

/// The verdict that follows from the changes of a measure, and the sentence that says so. Times are
/// of operations that succeeded: if more of them failed, shorter times are no better ones, and both is said.
/// `succeeded` is added to what is said of times.
pub(crate) fn of_changes(
    changes: &[Change],
    succeeded: &str,
    options: &Options,
) -> (Verdict, String) {
    if options.allow_errors {
        return with_errors_allowed(changes, succeeded);
    }
    let (verdict, text) = of_counting(changes, succeeded);
    let errors = changes.iter().find(|change| is_rise(change, options));
    match errors {
        Some(errors) if verdict == Verdict::Faster => {
            let times = times(changes).filter(|change| change.figure != Figure::Rate);
            (Verdict::MoreErrors, with_errors(errors, times, succeeded))
        }
        _ => (verdict, text),
    }
}

/// More failed operations than chance explains, where the errors are looked at for themselves. What is faster answers for
/// its errors without a correction for all other figures.
fn is_rise(change: &Change, options: &Options) -> bool {
    let is_beyond = change.relative.is_none_or(|share| share > options.tolerance);
    change.figure == Figure::ErrorRate
        && change.difference > 0.0
        && change.p <= options.alpha
        && is_beyond
}

/// The verdict by times and shapes alone.
fn with_errors_allowed(changes: &[Change], succeeded: &str) -> (Verdict, String) {
    let is_error = |change: &&Change| change.figure == Figure::ErrorRate;
    let others: Vec<Change> = changes.iter().filter(|c| !is_error(c)).cloned().collect();
    let (verdict, text) = of_counting(&others, succeeded);
    let errors = changes.iter().find(|c| is_error(c) && c.counts);
    let text = match errors {
        Some(errors) if errors.difference > 0.0 => {
            format!("{text}; more errors, which are allowed: {}", from_to(errors))
        }
        Some(errors) => format!("{text}; fewer errors: {}", from_to(errors)),
        None => text,
    };
    (verdict, text)
}

/// The changes of times and rates that count.
fn times(changes: &[Change]) -> impl Iterator<Item = &Change> + Clone {
    let is_time =
        |c: &&Change| !matches!(c.figure, Figure::Shape | Figure::Spread | Figure::ErrorRate);
    changes.iter().filter(|change| change.counts).filter(is_time)
}

/// The verdict that follows from the changes that count.
fn of_counting(changes: &[Change], succeeded: &str) -> (Verdict, String) {
    let counting = || changes.iter().filter(|change| change.counts);
    let errors = counting().find(|change| change.figure == Figure::ErrorRate);
    let times = || times(changes);
    if let Some(errors) = errors.filter(|errors| errors.difference > 0.0) {
        let of_times = times().filter(|change| change.figure != Figure::Rate);
        let text = with_errors(errors, of_times, succeeded);
        return (Verdict::MoreErrors, text);
    }
    let slower = greatest(times().filter(|c| is_slower(c)));
    // What no longer fails is completed: a rate that is greater for it says the same once more.
    let follows = |c: &Change| errors.is_some() && c.figure == Figure::Rate;
    let faster = greatest(times().filter(|c| !is_slower(c) && !follows(c)));
    let scattered = counting().find(|c| c.figure == Figure::Spread && c.difference > 0.0);
    match (slower, faster) {
        (Some(worse), Some(better)) => (
            Verdict::ModesDiffer,
            format!("modes differ: slower by {}, faster by {}{succeeded}", by(worse), by(better)),
        ),
        (Some(worse), None) => {
            let scattered =
                scattered.map_or(String::new(), |spread| format!(", and {}", apart(spread)));
            (Verdict::Slower, format!("slower by {}{succeeded}{scattered}", by(worse)))
        }
        (None, Some(better)) => {
            if let Some(spread) = scattered {
                let text = format!(
                    "modes differ: faster by {}{succeeded}, but {}",
                    by(better),
                    apart(spread)
                );
                return (Verdict::ModesDiffer, text);
            }
            let doubt = doubt(changes);
            (Verdict::Faster, format!("faster by {}{succeeded}{doubt}", by(better)))
        }
        (None, None) => without_times(errors, changes, succeeded),
    }
}

/// More errors, and what became of times, if they went one way.
fn with_errors<'a>(
    errors: &Change,
    times: impl Iterator<Item = &'a Change> + Clone,
    succeeded: &str,
) -> String {
    let errors = format!("more errors: {}", from_to(errors));
    let slower = greatest(times.clone().filter(|change| is_slower(change)));
    let faster = greatest(times.filter(|change| !is_slower(change)));
    match (slower, faster) {
        (None, Some(better)) => {
            format!("faster by {}{succeeded}, but with {errors}", by(better))
        }
        (Some(worse), None) => format!("{errors}, and slower by {}{succeeded}", by(worse)),
        _ => errors,
    }
}

/// The words beside an improvement if more operations failed, though no more than chance or the tolerance allows.
fn doubt(changes: &[Change]) -> String {
    let rises = |change: &&Change| change.figure == Figure::ErrorRate && change.difference > 0.0;
    let Some(errors) = changes.iter().find(rises) else {
        return String::new();
    };
    let why = if errors.seen { "within the tolerance" } else { "which may be chance" };
    format!(", but with more errors: {}, {why}", from_to(errors))
}

fn without_times(
    fewer_errors: Option<&Change>,
    changes: &[Change],
    succeeded: &str,
) -> (Verdict, String) {
    if let Some(errors) = fewer_errors {
        let text = format!("fewer errors: {}", from_to(errors));
        return (Verdict::FewerErrors, text);
    }
    let counting = || changes.iter().filter(|change| change.counts);
    if let Some(spread) = counting().find(|c| c.figure == Figure::Spread) {
        return (Verdict::ModesDiffer, format!("modes differ: {}{succeeded}", apart(spread)));
    }
    if let Some(shape) = counting().find(|c| c.figure == Figure::Shape) {
        let text = format!(
            "modes differ: the distributions are {} apart (Kolmogorov–Smirnov){succeeded}",
            units::share(shape.difference)
        );
        return (Verdict::ModesDiffer, text);
    }
    let text = if changes.iter().any(|change| change.seen) {
        "no difference seen beyond the tolerance"
    } else {
        "no difference seen"
    };
    (Verdict::NoDifference, format!("{text}{succeeded}"))
}

/// `runs of the candidate lie 19 % from their median, those of the baseline 2.1 %`.
fn apart(spread: &Change) -> String {
    let of = |value: Option<f64>| percent(value.unwrap_or(0.0));
    format!(
        "runs of the candidate lie {} from their median, those of the baseline {}",
        of(spread.candidate),
        of(spread.baseline)
    )
}

/// The place of the figure that a verdict names first; `None` if none of them counts.
pub(crate) fn leading(verdict: Verdict, changes: &[Change]) -> Option<usize> {
    let counting = || changes.iter().filter(|change| change.counts);
    // A rise that no other figure is corrected for may lead without counting by itself.
    let errors = changes.iter().find(|change| change.figure == Figure::ErrorRate);
    let times = times(changes);
    let of = |figure: Figure| counting().find(move |change| change.figure == figure);
    let found = match verdict {
        Verdict::MoreErrors | Verdict::FewerErrors => errors.or_else(|| greatest(times)),
        Verdict::Slower => greatest(times.filter(|change| is_slower(change))),
        Verdict::Faster => greatest(times.filter(|change| !is_slower(change))),
        Verdict::ModesDiffer => {
            greatest(times).or_else(|| of(Figure::Spread)).or_else(|| of(Figure::Shape))
        }
        Verdict::NoDifference | Verdict::Inconclusive => None,
    };
    let found = found?.figure;
    changes.iter().position(|change| change.figure == found)
}

/// Longer times and lower rates.
fn is_slower(change: &Change) -> bool {
    match change.figure {
        Figure::Rate => change.difference < 0.0,
        _ => change.difference > 0.0,
    }
}

/// The one that changed by the greatest share. Times go before rates, which follow from them.
fn greatest<'a>(changes: impl Iterator<Item = &'a Change>) -> Option<&'a Change> {
    let share = |change: &Change| change.relative.map_or(f64::INFINITY, f64::abs);
    changes.max_by(|a, b| {
        let is_time = |change: &Change| change.figure != Figure::Rate;
        is_time(a).cmp(&is_time(b)).then(share(a).total_cmp(&share(b)))
    })
}

/// `3.01 ms at p99 (24 %)`; of windows `3.01 ms at p99 of windows (24 %)`.
fn by(change: &Change) -> String {
    let of = change.windows.map_or("", |_| " of windows");
    let amount = match change.figure {
        Figure::Rate => format!("{} completed{of}", units::rate(change.difference.abs())),
        Figure::Mean => format!("{} in the mean{of}", units::duration(change.difference.abs())),
        figure => {
            let amount = units::duration(change.difference.abs());
            format!("{amount} at {}{of}", figure.name())
        }
    };
    match change.relative {
        Some(share) => format!("{amount} ({})", percent(share.abs())),
        None => amount,
    }
}

/// `12.4 ms to 15.4 ms`, in the figure's unit.
pub(crate) fn from_to(change: &Change) -> String {
    let (Some(from), Some(to)) = (change.baseline, change.candidate) else {
        return String::new();
    };
    let shown = |value: f64| shown(change.figure, value);
    format!("{} to {}", shown(from), shown(to))
}

/// The figure's value for people.
pub fn shown(figure: Figure, value: f64) -> String {
    match figure {
        Figure::Mean | Figure::Quantile(_) => units::duration(value),
        Figure::Rate => units::rate(value),
        Figure::ErrorRate | Figure::Shape | Figure::Spread => units::share(value),
    }
}

/// A relative change: `24 %`, `0.31 %`, `310 %`.
pub fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}

/// A relative change with its sign: `+24 %`, `-0.31 %`, `0 %`.
pub fn signed_percent(share: f64) -> String {
    format!("{}{}", sign(share), percent(share.abs()))
}

/// The bounds of a relative change in percent: `+28 to +43`, `-1.4 to +9`.
pub fn percent_bounds(low: f64, high: f64) -> String {
    let bound = |share: f64| format!("{}{}", sign(share), short(100.0 * share.abs()));
    format!("{} to {}", bound(low), bound(high))
}

/// `+` or `-`, and nothing for zero.
fn sign(value: f64) -> &'static str {
    match value {
        value if value > 0.0 => "+",
        value if value < 0.0 => "-",
        _ => "",
    }
}

/// Two significant digits, whole numbers as such.
fn short(value: f64) -> String {
    let text = units::significant(value, 2);
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// A p-value: `0.032`, `below 0.001`.
pub fn p_value(value: f64) -> String {
    if value < 0.001 { "below 0.001".to_owned() } else { short(value) }
}

/// `R1 R2 R5`.
pub fn labels(places: &[usize], runs: &[ComparedRun]) -> String {
    let labels = places.iter().filter_map(|&place| runs.get(place));
    let labels: Vec<&str> = labels.map(|run| run.label.as_str()).collect();
    labels.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::change;

    fn check(changes: &[Change], verdict: Verdict, text: &str) {
        assert_eq!(of_changes(changes, "", &Options::default()), (verdict, text.to_owned()));
    }

    #[test]
    fn the_greatest_change_of_a_time_names_the_verdict() {
        let p99 = change(Figure::Quantile(0.99), 12.0e6, 15.0e6, true);
        let mean = change(Figure::Mean, 1.0e6, 1.1e6, true);
        let rate = change(Figure::Rate, 100.0, 10.0, true);
        check(
            &[mean.clone(), p99.clone(), rate.clone()],
            Verdict::Slower,
            "slower by 3.00 ms at p99 (25 %)",
        );
        check(&[mean, rate], Verdict::Slower, "slower by 100 µs in the mean (10 %)");
        check(
            &[change(Figure::Quantile(0.999), 4.0e6, 1.0e6, true)],
            Verdict::Faster,
            "faster by 3.00 ms at p99.9 (75 %)",
        );
        check(
            &[change(Figure::Rate, 100.0, 90.0, true)],
            Verdict::Slower,
            "slower by 10.0/s completed (10 %)",
        );
        check(
            &[p99, change(Figure::Quantile(0.5), 2.0e6, 1.0e6, true)],
            Verdict::ModesDiffer,
            "modes differ: slower by 3.00 ms at p99 (25 %), faster by 1.00 ms at p50 (50 %)",
        );
    }

    #[test]
    fn errors_and_shapes_speak_where_times_are_silent() {
        check(
            &[change(Figure::ErrorRate, 0.0, 0.02, true)],
            Verdict::MoreErrors,
            "more errors: 0 % to 2.00 %",
        );
        check(
            &[change(Figure::ErrorRate, 0.02, 0.01, true)],
            Verdict::FewerErrors,
            "fewer errors: 2.00 % to 1.00 %",
        );
        check(
            &[change(Figure::Shape, 0.0, 0.08, true)],
            Verdict::ModesDiffer,
            "modes differ: the distributions are 8.00 % apart (Kolmogorov–Smirnov)",
        );
        let within = change(Figure::Mean, 100.0, 100.5, false);
        check(&[within], Verdict::NoDifference, "no difference seen beyond the tolerance");
        check(&[], Verdict::NoDifference, "no difference seen");
    }

    #[test]
    fn a_rise_of_errors_outweighs_whatever_else_there_is_and_times_are_named_with_it() {
        let errors = change(Figure::ErrorRate, 0.0, 0.5, true);
        let faster = change(Figure::Quantile(0.99), 2.0e6, 1.0e6, true);
        let slower = change(Figure::Mean, 1.0e6, 2.0e6, true);
        let rate = change(Figure::Rate, 100.0, 50.0, true);
        let with = |beside: &[&Change], text: &str| {
            let all: Vec<Change> = beside.iter().copied().chain([&errors]).cloned().collect();
            check(&all, Verdict::MoreErrors, text);
        };
        with(&[&rate], "more errors: 0 % to 50 %");
        with(&[&faster, &slower], "more errors: 0 % to 50 %");
        with(
            &[&faster, &rate],
            "faster by 1.00 ms at p99 (50 %), but with more errors: 0 % to 50 %",
        );
        with(&[&slower], "more errors: 0 % to 50 %, and slower by 1.00 ms in the mean (100 %)");
    }

    #[test]
    fn an_improvement_with_more_failures_is_never_named_alone() {
        let faster = change(Figure::Quantile(0.99), 2.0e6, 1.0e6, true);
        let tolerated = change(Figure::ErrorRate, 0.5, 0.501, false);
        check(
            &[faster.clone(), tolerated],
            Verdict::Faster,
            "faster by 1.00 ms at p99 (50 %), but with more errors: 50 % to 50.1 %, within the \
             tolerance",
        );
        let unseen = Change { seen: false, p: 0.3, ..change(Figure::ErrorRate, 0.0, 0.005, false) };
        check(
            &[faster.clone(), unseen],
            Verdict::Faster,
            "faster by 1.00 ms at p99 (50 %), but with more errors: 0 % to 0.500 %, which may be \
             chance",
        );
        let fewer = change(Figure::ErrorRate, 0.01, 0.009, false);
        check(&[faster, fewer], Verdict::Faster, "faster by 1.00 ms at p99 (50 %)");
    }

    #[test]
    fn what_is_faster_answers_for_its_errors_without_a_correction() {
        let faster = change(Figure::Quantile(0.99), 2.0e6, 1.0e6, true);
        let alone =
            Change { seen: false, p: 0.02, ..change(Figure::ErrorRate, 0.01, 0.015, false) };
        check(
            &[faster, alone.clone()],
            Verdict::MoreErrors,
            "faster by 1.00 ms at p99 (50 %), but with more errors: 1.00 % to 1.50 %",
        );
        check(&[alone], Verdict::NoDifference, "no difference seen");
    }

    #[test]
    fn errors_that_are_allowed_are_said_and_decide_nothing() {
        let allowed = |changes: &[Change]| {
            let options = Options { allow_errors: true, ..Options::default() };
            of_changes(changes, "", &options)
        };
        let faster = change(Figure::Quantile(0.99), 2.0e6, 1.0e6, true);
        let errors = change(Figure::ErrorRate, 0.0, 0.5, true);
        let (verdict, text) = allowed(&[faster, errors.clone()]);
        assert_eq!(verdict, Verdict::Faster);
        assert_eq!(
            text,
            "faster by 1.00 ms at p99 (50 %); more errors, which are allowed: 0 % to 50 %"
        );
        let (verdict, text) = allowed(&[errors]);
        assert_eq!(verdict, Verdict::NoDifference);
        assert_eq!(text, "no difference seen; more errors, which are allowed: 0 % to 50 %");
    }

    #[test]
    fn runs_that_scatter_more_are_no_improvement() {
        let spread = change(Figure::Spread, 0.021, 0.19, true);
        let apart = "runs of the candidate lie 19 % from their median, those of the baseline 2.1 %";
        check(
            std::slice::from_ref(&spread),
            Verdict::ModesDiffer,
            &format!("modes differ: {apart}"),
        );
        let faster = change(Figure::Mean, 2.0e6, 1.0e6, true);
        check(
            &[faster.clone(), spread.clone()],
            Verdict::ModesDiffer,
            &format!("modes differ: faster by 1.00 ms in the mean (50 %), but {apart}"),
        );
        let steadier = change(Figure::Spread, 0.19, 0.021, true);
        check(&[faster, steadier], Verdict::Faster, "faster by 1.00 ms in the mean (50 %)");
        let slower = change(Figure::Mean, 1.0e6, 2.0e6, true);
        check(
            &[slower, spread],
            Verdict::Slower,
            &format!("slower by 1.00 ms in the mean (100 %), and {apart}"),
        );
    }

    #[test]
    fn what_is_left_out_of_times_is_said_beside_them() {
        let faster = change(Figure::Quantile(0.99), 2.0e6, 1.0e6, true);
        let errors = change(Figure::ErrorRate, 0.0, 0.5, true);
        let (_, text) =
            of_changes(&[faster, errors], ", of operations that succeeded", &Options::default());
        assert_eq!(
            text,
            "faster by 1.00 ms at p99 (50 %), of operations that succeeded, but with more errors: \
             0 % to 50 %"
        );
    }

    #[test]
    fn the_leading_figure_is_that_of_the_verdict() {
        let changes = [
            change(Figure::Mean, 1.0e6, 1.1e6, true),
            change(Figure::Quantile(0.99), 2.0e6, 1.0e6, true),
            change(Figure::Rate, 100.0, 10.0, true),
            change(Figure::ErrorRate, 0.0, 0.02, true),
            change(Figure::Shape, 0.0, 0.08, true),
        ];
        let check = |verdict, place| assert_eq!(leading(verdict, &changes), place, "{verdict:?}");
        check(Verdict::MoreErrors, Some(3));
        check(Verdict::Slower, Some(0));
        check(Verdict::Faster, Some(1));
        check(Verdict::ModesDiffer, Some(1));
        check(Verdict::NoDifference, None);
        assert_eq!(leading(Verdict::ModesDiffer, &changes[4..]), Some(0));
    }

    #[test]
    fn relative_changes_have_signs() {
        assert_eq!([0.354, -0.0031, 0.0].map(signed_percent), ["+35 %", "-0.31 %", "0 %"]);
        assert_eq!(percent_bounds(0.28, 0.43), "+28 to +43");
        assert_eq!(percent_bounds(-0.014, 0.09), "-1.4 to +9");
    }

    #[test]
    fn a_rate_that_follows_from_fewer_errors_is_not_reported_as_faster() {
        let errors = change(Figure::ErrorRate, 0.5, 0.25, true);
        let greater = change(Figure::Rate, 50.0, 75.0, true);
        check(&[greater, errors.clone()], Verdict::FewerErrors, "fewer errors: 50 % to 25 %");
        let fewer = change(Figure::Rate, 50.0, 40.0, true);
        check(&[fewer, errors], Verdict::Slower, "slower by 10.0/s completed (20 %)");
    }
}
