//! Windows of a series in which its level was worse than in the rest.
//!
//! Circular binary segmentation of Olshen, Venkatraman, Lucito and Wigler, "Circular binary segmentation for the
//! analysis of array-based DNA copy number data" (Biostatistics 2004): of all windows, the one is taken whose level
//! differs most from the level of the rest; it is taken out, and the rest is searched likewise. Counts are compared
//! by the likelihood ratio of Kulldorff, "A spatial scan statistic" (1997). Windows are worse, never better: greater.
//!
//! How often chance makes such a window is not told by a permutation, which a window of one number survives, but by the
//! scatter of the rest, which is taken for healthy:
//!
//! - Levels have a tail that is never lighter than the normal one with the rest's variance, widened for the correlation of
//!   neighbours (an autoregression of first order, its coefficient freed of its bias by Kendall 1954). Levels of a queue
//!   have a heavier one: it is fitted to the upper quarter of the rest as an exponential tail (peaks over a threshold,
//!   Pickands 1975), and the error of its scale is allowed for, which makes a Pareto tail of it.
//! - Counts are Poisson numbers, divided by how much more they scatter from second to second than Poisson numbers do.
//!
//! The p-value is multiplied by the number of windows that do not overlap, over all lengths, each counted twice
//! (Bonferroni). `make incident-truth` measures what that leaves of false alarms.
//!
//! Several windows are found if the weakest of them stands out from what all of them leave: one after the other is
//! taken out before any is tested, so that none hides another.

use std::ops::Range;

use crate::order::{median, median_of_sorted};
use crate::special::gamma_p;

/// Most windows of a series.
pub const WINDOWS_MAX: usize = 12;
/// Greatest share of a series that is in windows; the rest says what is usual.
const SHARE_MAX: f64 = 0.85;
/// Least seconds of the rest.
const REST_MIN: usize = 5;
/// Ratio of a length to the one before it, of those that are tried first; ends are then moved one by one.
const LENGTHS_RATIO: f64 = 1.25;
/// Loads that are less than the greatest one by less than this share are the same load.
const LOAD_SHARE_MIN: f64 = 0.8;
/// Greatest correlation of neighbours: closer to 1, a series would wander without end.
const CORRELATION_MAX: f64 = 0.95;
/// A standard normal number is above this with a probability of a quarter …
const NORMAL_QUARTILE: f64 = 0.674_489_750_196_081_7;
/// … and then by this on average.
const NORMAL_EXCESS: f64 = 0.596_616;
/// The share of numbers that are above the upper quartile.
const ABOVE_QUARTILE: f64 = 0.25;
/// Fewer hits are no window.
const HITS_MIN: f64 = 5.0;
/// A window has at least this number of times the share of hits of the rest.
const HITS_RATIO_MIN: f64 = 1.5;

/// Windows whose levels differ by fewer standard deviations are those of chance, and need no test …
const LEVEL_SCORE_MIN: f64 = 3.5;
/// … as are counts whose likelihood ratio has a smaller logarithm.
const COUNT_SCORE_MIN: f64 = 6.0;

/// The level of one second, or of another stretch of a series.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Level {
    /// The level; greater is worse.
    pub value: f64,
    /// How many numbers it is a mean of; 0: there is none.
    pub weight: f64,
}

/// Counts of one second, or of another stretch of a series.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Count {
    /// Those that are worse.
    pub hits: f64,
    /// All of them.
    pub of: f64,
}

/// What counts as a window.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rules {
    /// The probability with which chance may make any window of the series.
    pub alpha: f64,
    /// Least difference between the window and the rest that is relevant: of levels, or of shares.
    pub least: f64,
    /// Least length of a window, in seconds; at least 1.
    pub shortest: usize,
}

/// A window that is worse than the rest of its series.
#[derive(Debug, Clone, PartialEq)]
pub struct Window {
    /// The seconds of the window.
    pub seconds: Range<usize>,
    /// The level in the window: of counts the share of hits.
    pub inside: f64,
    /// The level of the rest, without the other windows.
    pub outside: f64,
    /// The probability of any such window by chance.
    pub p: f64,
}

/// The windows in which levels are greater than in the rest, in the order of time. A level that is not finite counts as
/// none.
pub fn levels(series: &[Level], rules: &Rules) -> Vec<Window> {
    let known = series.iter().filter(|level| level.weight > 0.0 && level.value.is_finite());
    let weights: Vec<f64> = known.map(|level| level.weight).collect();
    // Levels of many numbers are not known the better for it: they scatter by more than their numbers do.
    let usual = median(&weights).unwrap_or(1.0);
    let parts: Vec<Part> = series
        .iter()
        .map(|level| match level.value.is_finite() && level.weight > 0.0 {
            true => {
                let weight = level.weight.min(usual) / usual;
                Part { weight, sum: weight * level.value }
            }
            false => Part::default(),
        })
        .collect();
    let levels: Vec<f64> =
        parts.iter().filter(|part| part.weight > 0.0).map(|part| part.level()).collect();
    let middle = median(&levels).unwrap_or(0.0);
    let known = parts.iter().filter(|part| part.weight > 0.0);
    let distances = known.map(|part| part.weight.sqrt() * (part.level() - middle).abs());
    let scatter = median(&distances.collect::<Vec<_>>()).unwrap_or(0.0) / NORMAL_QUARTILE;
    segmented(&parts, rules, level_score, LEVEL_SCORE_MIN * scatter, level_p)
}

/// The windows in which a greater share is hits than in the rest, in the order of time.
pub fn counts(series: &[Count], rules: &Rules) -> Vec<Window> {
    let part = |count: &Count| Part { weight: count.of, sum: count.hits.min(count.of) };
    let parts: Vec<Part> = series.iter().map(part).collect();
    segmented(&parts, rules, count_score, COUNT_SCORE_MIN, count_p)
}

/// The level of each second that its load explains: the median of all seconds whose load was alike, or of all whose load was
/// at least as great, or hardly less, if that is less. More load makes no level better, so that a second is neither worse
/// than usual because its load was great, nor as usual because most seconds with its load were worse than those with more.
/// Where there are none but itself and its neighbours, as at the peak of a ramp, the load explains what its level is.
///
/// # Panics
/// If there are not as many loads as levels.
pub fn explained_by_load(series: &[Level], load: &[f64]) -> Vec<f64> {
    assert_eq!(series.len(), load.len(), "each second has a load");
    let mut order: Vec<usize> = (0..load.len()).collect();
    order.sort_by(|&a, &b| load[b].total_cmp(&load[a]));
    let known = |second: usize| {
        let Level { value, weight } = series[second];
        Some(value).filter(|value| weight > 0.0 && value.is_finite())
    };
    // From the greatest load down: each second has the levels of the one before it, and further ones.
    let mut further = order.iter().copied().peekable();
    let mut greater = order.iter().copied().peekable();
    let mut as_great = SortedLevels::default();
    let mut alike = SortedLevels::default();
    let mut explained = vec![0.0; load.len()];
    for &second in &order {
        let own = load[second];
        while let Some(other) = further.next_if(|&other| load[other] >= LOAD_SHARE_MIN * own) {
            if let Some(level) = known(other) {
                as_great.insert(level);
                alike.insert(level);
            }
        }
        while let Some(other) = greater.next_if(|&other| own < LOAD_SHARE_MIN * load[other]) {
            if let Some(level) = known(other) {
                alike.remove(level);
            }
        }
        let medians = [alike.median(), as_great.median()].into_iter().flatten();
        explained[second] = medians.reduce(f64::min).unwrap_or(0.0);
    }
    explained
}

/// Levels in ascending order.
#[derive(Default)]
struct SortedLevels(Vec<f64>);

impl SortedLevels {
    fn place(&self, level: f64) -> usize {
        self.0.partition_point(|known| *known < level)
    }

    fn insert(&mut self, level: f64) {
        self.0.insert(self.place(level), level);
    }

    /// Takes out one that was put in.
    fn remove(&mut self, level: f64) {
        self.0.remove(self.place(level));
    }

    fn median(&self) -> Option<f64> {
        median_of_sorted(&self.0)
    }
}

/// A second, or several: the sum of the weights, and of the levels times these.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
struct Part {
    weight: f64,
    sum: f64,
}

impl Part {
    fn level(self) -> f64 {
        self.sum / self.weight
    }

    fn without(self, other: Part) -> Part {
        Part { weight: self.weight - other.weight, sum: self.sum - other.sum }
    }
}

/// Sums over the seconds up to each one, without those taken out.
struct Sums {
    parts: Vec<Part>,
    taken: Vec<usize>,
}

impl Sums {
    fn of(parts: &[Part], taken: &[bool]) -> Sums {
        let mut sums = Sums { parts: vec![Part::default()], taken: vec![0] };
        let mut so_far = Part::default();
        let mut count = 0;
        for (part, &is_taken) in parts.iter().zip(taken) {
            if is_taken {
                count += 1;
            } else {
                so_far = Part { weight: so_far.weight + part.weight, sum: so_far.sum + part.sum };
            }
            sums.parts.push(so_far);
            sums.taken.push(count);
        }
        sums
    }

    fn length(&self) -> usize {
        self.parts.len() - 1
    }

    fn all(&self) -> Part {
        self.parts[self.length()]
    }

    fn within(&self, seconds: &Range<usize>) -> Part {
        self.parts[seconds.end].without(self.parts[seconds.start])
    }

    fn left(&self) -> usize {
        self.length() - self.taken[self.length()]
    }

    /// Whether a window has nothing in it that was taken out, and leaves enough.
    fn admits(&self, seconds: &Range<usize>) -> bool {
        let left = self.left();
        let rest = (left - seconds.len().min(left)) as f64;
        self.taken[seconds.end] == self.taken[seconds.start]
            && rest >= (REST_MIN as f64).max((1.0 - SHARE_MAX) * self.length() as f64)
    }
}

/// How much worse a window is than the rest; `None`: it is not, or by less than is relevant.
type Score = fn(inside: Part, outside: Part, least: f64) -> Option<f64>;
/// The probability that chance makes the level of one window.
type Tail = fn(parts: &[Part], taken: &[bool], seconds: &Range<usize>) -> f64;

/// Takes out one window after the other, and keeps as many as all stand out from what they leave.
fn segmented(
    parts: &[Part],
    rules: &Rules,
    score: Score,
    score_min: f64,
    tail: Tail,
) -> Vec<Window> {
    let lengths = lengths(parts.len(), rules.shortest.max(1));
    let tried: f64 = lengths.iter().map(|&length| 2.0 * parts.len() as f64 / length as f64).sum();
    let mut taken = vec![false; parts.len()];
    let mut windows: Vec<Window> = Vec::new();
    let mut kept = 0;
    while windows.len() < WINDOWS_MAX {
        let sums = Sums::of(parts, &taken);
        let judge = |seconds: &Range<usize>| {
            let inside = sums.within(seconds);
            let outside = sums.all().without(inside);
            let is_known = inside.weight > 0.0 && outside.weight > 0.0 && sums.admits(seconds);
            let score = is_known.then(|| score(inside, outside, rules.least)).flatten();
            score.filter(|&score| score >= score_min)
        };
        let Some(seconds) = best(&lengths, parts.len(), rules.shortest.max(1), judge) else {
            break;
        };
        let inside = sums.within(&seconds);
        let outside = sums.all().without(inside);
        taken[seconds.clone()].fill(true);
        let p = (tail(parts, &taken, &seconds) * tried).min(1.0);
        windows.push(Window { seconds, inside: inside.level(), outside: outside.level(), p });
        if p <= rules.alpha {
            kept = windows.len();
        }
    }
    windows.truncate(kept);
    // The first ones were compared with a rest in which the others were.
    let mut taken = vec![false; parts.len()];
    windows.iter().for_each(|window| taken[window.seconds.clone()].fill(true));
    let rest = Sums::of(parts, &taken).all();
    for window in &mut windows {
        window.outside = rest.level();
    }
    windows.sort_by_key(|window| window.seconds.start);
    windows
}

/// Lengths that grow by a quarter, up to the longest window.
fn lengths(seconds: usize, shortest: usize) -> Vec<usize> {
    let longest = (SHARE_MAX * seconds as f64) as usize;
    let next = |&length: &usize| Some((length + 1).max((length as f64 * LENGTHS_RATIO) as usize));
    std::iter::successors(Some(shortest), next).take_while(|&length| length <= longest).collect()
}

/// The window with the greatest score: of the lengths that are tried, then with its ends moved while that raises it.
fn best(
    lengths: &[usize],
    seconds: usize,
    shortest: usize,
    judge: impl Fn(&Range<usize>) -> Option<f64>,
) -> Option<Range<usize>> {
    let mut found: Option<(f64, Range<usize>)> = None;
    let take = |found: &mut Option<(f64, Range<usize>)>, window: Range<usize>| {
        let score = judge(&window);
        let is_better = score.filter(|&score| found.as_ref().is_none_or(|(best, _)| score > *best));
        if let Some(score) = is_better {
            *found = Some((score, window));
        }
        is_better.is_some()
    };
    for &length in lengths {
        for start in 0..=seconds - length {
            take(&mut found, start..start + length);
        }
    }
    loop {
        let (_, window) = found.clone()?;
        let moved = [
            (window.start.wrapping_sub(1), window.end),
            (window.start + 1, window.end),
            (window.start, window.end - 1),
            (window.start, window.end + 1),
            (window.start.wrapping_sub(1), window.end - 1),
            (window.start + 1, window.end + 1),
        ];
        let mut is_moved = false;
        for (start, end) in moved {
            if end <= seconds && start < end && end - start >= shortest {
                is_moved |= take(&mut found, start..end);
            }
        }
        if !is_moved {
            return found.map(|(_, window)| window);
        }
    }
}

/// Olshen and others (2004): the difference of the levels in units of what independent seconds scatter by.
fn level_score(inside: Part, outside: Part, least: f64) -> Option<f64> {
    let difference = inside.level() - outside.level();
    let share = inside.weight * outside.weight / (inside.weight + outside.weight);
    (difference >= least).then(|| difference * share.sqrt())
}

/// Kulldorff (1997), equation 1: the logarithm of the likelihood ratio of two shares against one.
fn count_score(inside: Part, outside: Part, least: f64) -> Option<f64> {
    let is_relevant = inside.sum >= HITS_MIN
        && inside.level() - outside.level() >= least
        && inside.level() >= HITS_RATIO_MIN * outside.level();
    let all = Part { weight: inside.weight + outside.weight, sum: inside.sum + outside.sum };
    is_relevant.then(|| likelihood(inside) + likelihood(outside) - likelihood(all))
}

/// The logarithm of the greatest likelihood of a share.
fn likelihood(part: Part) -> f64 {
    let term = |count: f64| match count > 0.0 {
        true => count * (count / part.weight).ln(),
        false => 0.0,
    };
    term(part.sum) + term(part.weight - part.sum)
}

/// The deviations of the rest from its level, by second, and what they say of its scatter.
struct Rest {
    deviations: Vec<Option<f64>>,
    known: f64,
    /// Mean square.
    variance: f64,
    correlation: f64,
}

impl Rest {
    /// `None` of too few seconds.
    fn of(parts: &[Part], taken: &[bool], deviation: impl Fn(&Part) -> f64) -> Option<Rest> {
        let seconds = parts.iter().zip(taken);
        let deviations: Vec<Option<f64>> = seconds
            .map(|(part, &taken)| (!taken && part.weight > 0.0).then(|| deviation(part)))
            .collect();
        let known = deviations.iter().flatten().count();
        if known < REST_MIN {
            return None;
        }
        let known = known as f64;
        let squares: f64 = deviations.iter().flatten().map(|x| x * x).sum();
        let pairs = deviations.windows(2).filter_map(|pair| Some(pair[0]? * pair[1]?));
        let raw = if squares > 0.0 { pairs.sum::<f64>() / squares } else { 0.0 };
        let correlation = raw + (1.0 + 3.0 * raw.max(0.0)) / known;
        Some(Rest {
            known,
            variance: squares / (known - 1.0),
            correlation: correlation.clamp(0.0, CORRELATION_MAX),
            deviations,
        })
    }

    /// How many seconds one makes itself felt over.
    fn span(&self) -> f64 {
        (1.0 + self.correlation) / (1.0 - self.correlation)
    }

    /// The variance of the sum of so many neighbours, in variances of one.
    fn sum_variance(&self, length: f64) -> f64 {
        let phi = self.correlation;
        let ends = 2.0 * phi * (1.0 - phi.powf(length)) / (1.0 - phi).powi(2);
        length * self.span() - ends
    }
}

fn level_p(parts: &[Part], taken: &[bool], seconds: &Range<usize>) -> f64 {
    let rest = Sums::of(parts, taken).all();
    let level = rest.level();
    // Each second in units of the same scatter.
    let deviation = |part: &Part| part.weight.sqrt() * (part.level() - level);
    let Some(rest) = Rest::of(parts, taken, deviation) else {
        return 1.0;
    };
    let window = parts[seconds.clone()].iter().fold(Part::default(), |sum, part| Part {
        weight: sum.weight + part.weight,
        sum: sum.sum + part.sum,
    });
    let length = seconds.len() as f64;
    let height = (window.level() - level) * (window.weight / length).sqrt();
    let mean_variance =
        rest.variance * rest.sum_variance(length) * (1.0 + length / rest.known) / length.powi(2);
    let normal = mean_variance.sqrt();
    // The tail of the single seconds, where a sum of them is great because one of them is.
    let excess = mean_excess(&rest);
    let scale = (NORMAL_EXCESS * normal).max(excess * length.min(rest.span()) / length);
    let above = height - NORMAL_QUARTILE * normal;
    if above <= 0.0 {
        return 1.0;
    }
    if scale <= 0.0 {
        return 0.0;
    }
    let excesses = (ABOVE_QUARTILE * rest.known).max(2.0);
    ABOVE_QUARTILE * (1.0 + above / scale / excesses).powf(-excesses)
}

/// By how much seconds of the rest are above its upper quartile, on average.
fn mean_excess(rest: &Rest) -> f64 {
    let mut sorted: Vec<f64> = rest.deviations.iter().copied().flatten().collect();
    sorted.sort_by(f64::total_cmp);
    let from = ((1.0 - ABOVE_QUARTILE) * sorted.len() as f64) as usize;
    let above = &sorted[from + 1..];
    let sum: f64 = above.iter().map(|x| x - sorted[from]).sum();
    sum / above.len().max(1) as f64
}

fn count_p(parts: &[Part], taken: &[bool], seconds: &Range<usize>) -> f64 {
    let rest = Sums::of(parts, taken).all();
    let share = rest.level();
    let deviation = |part: &Part| {
        let expected = part.weight * share * (1.0 - share);
        if expected > 0.0 { (part.sum - part.weight * share) / expected.sqrt() } else { 0.0 }
    };
    let Some(scatter) = Rest::of(parts, taken, deviation) else {
        return 1.0;
    };
    let bursts = scatter.variance.max(1.0) * scatter.span();
    let window = parts[seconds.clone()].iter().fold(Part::default(), |sum, part| Part {
        weight: sum.weight + part.weight,
        sum: sum.sum + part.sum,
    });
    // The share of the rest is not known better than this.
    let hits_max = rest.sum + 1.0 + 2.0 * ((rest.sum + 1.0) * bursts).sqrt();
    let expected = window.weight * (hits_max / rest.weight).min(1.0) / bursts;
    gamma_p(window.sum / bursts, expected)
}

#[cfg(test)]
mod tests;
