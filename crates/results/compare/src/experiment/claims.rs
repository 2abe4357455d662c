//! Orderings that others published, held against what the runs measured.

use record::schema::{Finding, Severity};
use serde::Serialize;
use units::Unit;

use super::bars::{Bar, BarGroup, Bars};
use super::findings::finding;
use super::{Data, ResponseData};

/// Significant digits of a mean and its interval.
const DIGITS: usize = 3;

/// An ordering of a factor's levels by a response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claim {
    /// The claim in words; empty: the ordering is all.
    pub text: String,
    /// The factor whose levels are ordered, from 0.
    pub factor: usize,
    /// The greatest first. Levels in one list are not ordered among each other.
    pub order: Vec<Vec<usize>>,
    /// By factor: the level at which it was made, or `None` for all.
    pub at: Vec<Option<usize>>,
}

/// Whether a claim holds. Two means are separable if their intervals part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum ClaimVerdict {
    /// All pairs part, in the order that was published.
    Holds,
    /// Something is missing.
    NotMeasured,
    /// Some pairs do not part, and none parts in the opposite order.
    NotSeparable,
    /// A pair parts in the opposite order.
    DoesNotHold,
}

/// A claim and what came of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimFigures {
    /// The claim in words.
    pub text: String,
    /// The factor whose levels are ordered, from 0.
    pub factor: usize,
    /// The levels, the greatest first: `a > b, c`.
    pub order: String,
    /// The worst of its places.
    pub verdict: ClaimVerdict,
    /// The combinations of the other factors, each with the verdict there.
    pub places: Vec<ClaimPlace>,
}

/// A claim at one combination of the other factors.
#[derive(Debug, Clone, PartialEq, Serialize, ts_rs::TS)]
pub struct ClaimPlace {
    /// By factor, from 0; `None` of the factor whose levels are ordered.
    pub levels: Vec<Option<usize>>,
    /// Whether it holds there.
    pub verdict: ClaimVerdict,
    /// The two means that decide it.
    pub why: String,
}

impl ClaimVerdict {
    /// The verdict in words.
    pub fn text(self) -> &'static str {
        match self {
            ClaimVerdict::Holds => "holds",
            ClaimVerdict::NotMeasured => "not measured",
            ClaimVerdict::NotSeparable => "not separable",
            ClaimVerdict::DoesNotHold => "does not hold",
        }
    }
}

/// Holds the claims on a response against its means, which `bars` gives by the levels of a factor.
pub(super) fn figures(
    data: &Data,
    response: &ResponseData,
    bars: impl Fn(usize) -> Bars,
) -> Vec<ClaimFigures> {
    let claims = response.published.claims.iter();
    let figures = claims.map(|claim| {
        let names = &data.factors[claim.factor].1;
        let words = Words { names, unit: response.unit };
        let means = bars(claim.factor);
        let groups = means.groups.iter().filter(|group| {
            let mut wanted = claim.at.iter().zip(&group.levels);
            wanted.all(|(wanted, level)| wanted.is_none() || wanted == level)
        });
        let places: Vec<ClaimPlace> = groups.map(|group| place(claim, group, &words)).collect();
        let worst = places.iter().map(|place| place.verdict).max();
        let order = order(claim, names);
        ClaimFigures {
            text: match claim.text.is_empty() {
                true => order.clone(),
                false => claim.text.clone(),
            },
            factor: claim.factor,
            order,
            verdict: worst.unwrap_or(ClaimVerdict::NotMeasured),
            places,
        }
    });
    figures.collect()
}

/// `a > b, c`.
fn order(claim: &Claim, names: &[String]) -> String {
    let groups = claim.order.iter().map(|group| {
        let names: Vec<&str> = group.iter().map(|&level| names[level].as_str()).collect();
        names.join(", ")
    });
    groups.collect::<Vec<_>>().join(" > ")
}

/// How often the claims on a response hold.
pub(super) fn in_words(claims: &[ClaimFigures]) -> Option<Finding> {
    let count = |verdict| claims.iter().filter(|one| one.verdict == verdict).count();
    let all = [
        (ClaimVerdict::Holds, "holds", "hold"),
        (ClaimVerdict::DoesNotHold, "does not hold", "do not hold"),
        (ClaimVerdict::NotSeparable, "is not separable", "are not separable"),
        (ClaimVerdict::NotMeasured, "was not measured", "were not measured"),
    ];
    let parts = all.iter().filter_map(|(verdict, one, several)| {
        let count = count(*verdict);
        let words = if count == 1 { one } else { several };
        (count > 0).then(|| format!("{count} {words}"))
    });
    let text = format!(
        "of {}: {}",
        units::counted(claims.len() as u64, "published claim"),
        parts.collect::<Vec<_>>().join(", ")
    );
    let evidence = [
        ("claims", claims.len() as f64),
        ("hold", count(ClaimVerdict::Holds) as f64),
        ("do_not_hold", count(ClaimVerdict::DoesNotHold) as f64),
    ];
    (!claims.is_empty()).then(|| finding(Severity::Note, "published-claims", text, &evidence))
}

/// Names and units for the text of a claim.
struct Words<'d> {
    names: &'d [String],
    unit: Unit,
}

/// Two means with their intervals, of which the first should be the greater.
struct Pair<'g> {
    upper: &'g Bar,
    lower: &'g Bar,
    /// From the upper end of the lower interval to the lower end of the upper one; below 0 if they overlap.
    gap: f64,
    /// The gap if the order were the opposite.
    opposite: f64,
}

fn place(claim: &Claim, group: &BarGroup, words: &Words<'_>) -> ClaimPlace {
    let (verdict, why) = match pairs(claim, group, words) {
        Ok(pairs) => judged(&pairs, words),
        Err((verdict, why)) => (verdict, why),
    };
    ClaimPlace { levels: group.levels.clone(), verdict, why }
}

/// All pairs of levels that are ordered, or what is missing.
fn pairs<'g>(
    claim: &Claim,
    group: &'g BarGroup,
    words: &Words<'_>,
) -> Result<Vec<Pair<'g>>, (ClaimVerdict, String)> {
    let bar = |level: usize| {
        let found = group.bars.iter().find(|bar| bar.level == level);
        let name = &words.names[level];
        let missing = |why: String| (ClaimVerdict::NotMeasured, why);
        let bar = found.ok_or_else(|| missing(format!("{name} has no value")))?;
        match (bar.low, bar.high) {
            (Some(low), Some(high)) => Ok((bar, low, high)),
            _ if bar.is_bound => Err(missing(format!("of {name} only a lower bound is known"))),
            _ => Err((
                ClaimVerdict::NotSeparable,
                "there are no intervals without repetitions".to_owned(),
            )),
        }
    };
    let mut found = Vec::new();
    for (at, uppers) in claim.order.iter().enumerate() {
        for &upper in uppers {
            for &lower in claim.order[at + 1..].iter().flatten() {
                let (upper, upper_low, upper_high) = bar(upper)?;
                let (lower, lower_low, lower_high) = bar(lower)?;
                found.push(Pair {
                    upper,
                    lower,
                    gap: upper_low - lower_high,
                    opposite: lower_low - upper_high,
                });
            }
        }
    }
    Ok(found)
}

fn judged(pairs: &[Pair<'_>], words: &Words<'_>) -> (ClaimVerdict, String) {
    let opposite = pairs.iter().max_by(|a, b| a.opposite.total_cmp(&b.opposite));
    if let Some(pair) = opposite.filter(|pair| pair.opposite > 0.0) {
        return (ClaimVerdict::DoesNotHold, words.compared(pair, "is below"));
    }
    let Some(closest) = pairs.iter().min_by(|a, b| a.gap.total_cmp(&b.gap)) else {
        return (ClaimVerdict::NotMeasured, "no level has a value".to_owned());
    };
    if closest.gap > 0.0 {
        return (ClaimVerdict::Holds, words.compared(closest, "is above"));
    }
    let overlapping = pairs.iter().filter(|pair| pair.gap <= 0.0).count();
    let why = words.compared(closest, "overlaps");
    let why = match pairs.len() {
        1 => why,
        all => format!("{overlapping} of {all} pairs overlap: {why}"),
    };
    (ClaimVerdict::NotSeparable, why)
}

impl Words<'_> {
    fn compared(&self, pair: &Pair<'_>, verb: &str) -> String {
        format!("{} {verb} {}", self.bar(pair.upper), self.bar(pair.lower))
    }

    /// `a 172 ms (168 ms to 176 ms)`.
    fn bar(&self, bar: &Bar) -> String {
        let name = &self.names[bar.level];
        let ends = bar.low.zip(bar.high);
        let ends =
            ends.map(|(low, high)| format!(" ({} to {})", self.value(low), self.value(high)));
        format!("{name} {}{}", self.value(bar.mean), ends.unwrap_or_default())
    }

    fn value(&self, value: f64) -> String {
        let sign = if value < 0.0 { "−" } else { "" };
        // Means of counts are fractions.
        let unit = match self.unit {
            Unit::Count => Unit::Plain,
            unit => unit,
        };
        format!("{sign}{}", unit.format(value.abs(), DIGITS))
    }
}
