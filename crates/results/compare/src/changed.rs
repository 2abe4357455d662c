//! The result of a comparison as people read it first: one sentence, the measures that differ, and a line for the rest.

use super::verdict::{leading, signed_percent};
use super::{
    Acceptance, ChangedMeasure, ComparedMeasure, ErrorChange, Figure, Unchanged, Verdict, detect,
    errors,
};

/// Measures that a sentence names.
const NAMES_MAX: usize = 5;

/// The measures that differ, those with the greatest relative change first.
pub(crate) fn changed(measures: &[ComparedMeasure]) -> Vec<ChangedMeasure> {
    let mut found: Vec<ChangedMeasure> = measures
        .iter()
        .enumerate()
        .filter_map(|(place, measure)| {
            let change = leading(measure.verdict, &measure.changes)?;
            Some(ChangedMeasure { measure: place, change, text: text(measure, change) })
        })
        .collect();
    // From nothing to something is more than any share.
    let share = |one: &ChangedMeasure| {
        let relative = measures[one.measure].changes[one.change].relative;
        relative.map_or(f64::INFINITY, f64::abs)
    };
    found.sort_by(|a, b| share(b).total_cmp(&share(a)));
    found
}

/// The measure's verdict, and which other figures changed with the one that leads.
fn text(measure: &ComparedMeasure, leading: usize) -> String {
    let others = measure.changes.iter().enumerate().filter(|(place, change)| {
        *place != leading
            && change.counts
            && !matches!(change.figure, Figure::Shape | Figure::Spread)
    });
    let others: Vec<String> = others
        .map(|(_, change)| match change.relative {
            Some(share) => format!("{} {}", change.label, signed_percent(share)),
            None => change.label.clone(),
        })
        .collect();
    match others.is_empty() {
        true => measure.text.clone(),
        false => format!("{}; also {}", measure.text, others.join(", ")),
    }
}

/// The figures in which no difference counts, and which differences would have been seen; `None` if nothing was decided of
/// any figure.
pub(crate) fn unchanged(measures: &[ComparedMeasure]) -> Option<Unchanged> {
    let all = || measures.iter().flat_map(|measure| &measure.changes);
    all().next()?;
    let rest = || all().filter(|change| !change.counts);
    let figures = rest().count() as u64;
    if figures == 0 {
        return Some(Unchanged { figures, text: "all figures differ".to_owned() });
    }
    let other = if all().any(|change| change.counts) { "other " } else { "" };
    let beyond = if rest().any(|change| change.seen) { " beyond the tolerance" } else { "" };
    let counted = units::counted(figures, &format!("{other}figure"));
    let range = detect::seen_from(measures)
        .map(|range| format!("; differences of times {range} would have been seen"));
    let range = range.unwrap_or_default();
    Some(Unchanged { figures, text: format!("no difference seen{beyond} in {counted}{range}") })
}

/// The decision in one sentence.
pub(crate) fn sentence(
    verdict: Verdict,
    measures: &[ComparedMeasure],
    changed: &[ChangedMeasure],
    errors: &[ErrorChange],
) -> String {
    let decided = match verdict {
        Verdict::Inconclusive => return "nothing is decided".to_owned(),
        Verdict::NoDifference if measures.iter().any(has_more_errors) => {
            "no difference is seen in times and rates; more errors are allowed".to_owned()
        }
        Verdict::NoDifference => {
            "no difference is seen in times, rates and shares of errors".to_owned()
        }
        _ => of_measures(verdict, measures, changed),
    };
    // Failures that the measures' own verdicts do not name.
    let is_named = |step: &str| {
        let mut own = measures.iter().filter(|measure| measure.name == step);
        own.any(|measure| measure.verdict == Verdict::MoreErrors)
    };
    let rose = errors
        .iter()
        .filter(|error| error.counts && error.trend.is_rise() && !is_named(&error.step));
    if rose.clone().next().is_none() {
        return decided;
    }
    let joint = match verdict.acceptance() {
        Acceptance::Accepted => "but",
        Acceptance::Rejected | Acceptance::Undecided => "and",
    };
    format!("{decided}, {joint} failures rose: {}", errors::in_words(rose))
}

/// True if more operations failed. If that decided nothing, it is allowed.
fn has_more_errors(measure: &ComparedMeasure) -> bool {
    let mut own = measure.changes.iter();
    own.any(|change| change.figure == Figure::ErrorRate && change.counts && change.difference > 0.0)
}

/// The measure that leads, and the names of the others by their verdicts, the gravest first.
fn of_measures(
    verdict: Verdict,
    measures: &[ComparedMeasure],
    changed: &[ChangedMeasure],
) -> String {
    // Without a baseline there are groups, and no changes.
    let in_order: Vec<&ComparedMeasure> = match changed.is_empty() {
        true => measures.iter().collect(),
        false => changed.iter().map(|one| &measures[one.measure]).collect(),
    };
    let of = |wanted: Verdict| {
        let own = in_order.iter().filter(move |measure| measure.verdict == wanted);
        own.map(|measure| measure.name.as_str())
    };
    let Some(first) = in_order.iter().find(|measure| measure.verdict == verdict) else {
        return verdict.name().to_owned();
    };
    let mut sentence = clause(first);
    for (other, words) in [
        (Verdict::MoreErrors, "more errors"),
        (Verdict::Slower, "slower"),
        (Verdict::ModesDiffer, "modes differ"),
        (Verdict::Faster, "faster"),
        (Verdict::FewerErrors, "fewer errors"),
    ] {
        let names: Vec<&str> = of(other).skip(usize::from(other == verdict)).collect();
        let more = names.len().saturating_sub(NAMES_MAX);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        if !names.is_empty() {
            let also = if other == verdict { "also " } else { "" };
            let shown = names[..names.len().min(NAMES_MAX)].join(", ");
            sentence += &format!("; {also}{words}: {shown}{more}");
        }
    }
    sentence
}

/// `checkout is slower by …`, `checkout has more errors: …`.
fn clause(measure: &ComparedMeasure) -> String {
    let text = &measure.text;
    let verb = match measure.verdict {
        _ if text.starts_with("faster") || text.starts_with("slower") => " is",
        Verdict::MoreErrors | Verdict::FewerErrors => " has",
        _ => ":",
    };
    format!("{}{verb} {text}", measure.name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{change, measure};
    use crate::{Change, ErrorTrend, Options};

    fn decided(name: &str, changes: Vec<Change>) -> ComparedMeasure {
        let (verdict, text) = crate::verdict::of_changes(&changes, "", &Options::default());
        ComparedMeasure { verdict, text, ..measure(name, changes) }
    }

    fn slower(name: &str, to_ns: f64) -> ComparedMeasure {
        let mean = change(Figure::Mean, 1e6, 1.1e6, true);
        decided(name, vec![mean, change(Figure::Quantile(0.95), 2e6, to_ns, true)])
    }

    fn faster(name: &str) -> ComparedMeasure {
        decided(name, vec![change(Figure::Quantile(0.95), 2e6, 1e6, true)])
    }

    fn broken(name: &str) -> ComparedMeasure {
        let errors = change(Figure::ErrorRate, 0.0, 0.042, true);
        decided(name, vec![change(Figure::Quantile(0.95), 2e6, 1e6, true), errors])
    }

    fn alike(name: &str) -> ComparedMeasure {
        let mean = Change { seen: false, ..change(Figure::Mean, 1e6, 1e6, false) };
        decided(name, vec![mean])
    }

    fn error(step: &str, baseline: f64) -> ErrorChange {
        ErrorChange {
            step: step.to_owned(),
            kind: "status".to_owned(),
            detail: Some("503".to_owned()),
            name: format!("503 at {step}"),
            is_share: true,
            baseline,
            candidate: 0.042,
            trend: if baseline > 0.0 { ErrorTrend::More } else { ErrorTrend::New },
            p: 0.001,
            p_adjusted: 0.01,
            seen: true,
            counts: true,
        }
    }

    fn said(measures: &[ComparedMeasure], errors: &[ErrorChange]) -> String {
        let most = measures.iter().map(|measure| measure.verdict).max_by_key(|v| v.weight());
        sentence(most.unwrap(), measures, &changed(measures), errors)
    }

    #[test]
    fn measures_stand_by_their_greatest_relative_change() {
        let measures = [slower("a", 2.2e6), alike("b"), slower("c", 8e6), broken("d"), faster("e")];
        let found = changed(&measures);
        let names: Vec<&str> =
            found.iter().map(|one| measures[one.measure].name.as_str()).collect();
        // From no error to some, by 300 %, 50 % and 10 %.
        assert_eq!(names, ["d", "c", "e", "a"]);
        assert_eq!(found[1].text, "slower by 6.00 ms at p95 (300 %); also mean +10 %");
        assert_eq!((found[1].change, found[0].change), (1, 1));
    }

    #[test]
    fn one_sentence_says_what_is_decided() {
        let p95 = "slower by 6.00 ms at p95 (300 %)";
        assert_eq!(said(&[alike("a"), slower("b", 8e6)], &[]), format!("b is {p95}"));
        assert_eq!(
            said(&[slower("a", 2.2e6), slower("b", 8e6), faster("c")], &[]),
            format!("b is {p95}; also slower: a; faster: c")
        );
        let unseen = said(&[alike("a")], &[]);
        assert_eq!(unseen, "no difference is seen in times, rates and shares of errors");
        assert_eq!(sentence(Verdict::Inconclusive, &[], &[], &[]), "nothing is decided");
    }

    #[test]
    fn an_improvement_with_more_failures_is_said_with_these() {
        let one = "is faster by 1.00 ms at p95 (50 %), but with more errors: 0 % to 4.20 %";
        assert_eq!(said(&[broken("a")], &[error("a", 0.0)]), format!("a {one}"));
        assert_eq!(
            said(&[faster("a"), broken("b")], &[error("b", 0.0)]),
            format!("b {one}; faster: a")
        );
        // Failures of one kind in place of another.
        assert_eq!(
            said(&[faster("a")], &[error("a", 0.0)]),
            "a is faster by 1.00 ms at p95 (50 %), but failures rose: 503 at a from 0 % to 4.20 %"
        );
        assert_eq!(
            said(&[alike("a")], &[error("a", 0.01)]),
            "no difference is seen in times, rates and shares of errors, but failures rose: 503 at a \
             from 1.00 % to 4.20 %"
        );
        let chance = ErrorChange { counts: false, ..error("a", 0.0) };
        assert_eq!(said(&[faster("a")], &[chance]), "a is faster by 1.00 ms at p95 (50 %)");
    }

    #[test]
    fn the_rest_is_one_line() {
        let text = |measures: &[ComparedMeasure]| unchanged(measures).unwrap().text;
        assert_eq!(
            text(&[alike("a"), slower("b", 8e6), alike("c")]),
            "no difference seen in 2 other figures"
        );
        assert_eq!(text(&[alike("a")]), "no difference seen in 1 figure");
        let tolerated = measure("a", vec![change(Figure::Mean, 1e6, 1.001e6, false)]);
        assert_eq!(text(&[tolerated]), "no difference seen beyond the tolerance in 1 figure");
        assert_eq!(text(&[faster("a")]), "all figures differ");
        assert_eq!(unchanged(&[measure("a", Vec::new())]), None);
    }
}
