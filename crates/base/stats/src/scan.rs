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
//! Where levels depend on a load, they are compared with what the rest is under the same load: the isotonic regression of its
//! levels on its loads (pool adjacent violators: Ayer, Brunk, Ewing, Reid and Silverman 1955), as more load makes no level
//! better. It says nothing of greater loads than the rest has had, so that seconds with these are left out of the test. The
//! scatter is that of the rest as a whole or of its seconds with as much load, whichever is greater: a queue scatters more,
//! and for longer, the closer it is to what it can do. Each block of the regression costs a degree of freedom (Meyer and
//! Woodroofe, "On the degrees of freedom in shape-restricted regression", 2000).
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
/// Seconds with less than this share of a window's load do not say how much it scatters.
const LIKE_SHARE_MIN: f64 = 0.92;
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
    /// The number of those that are worse.
    pub hits: f64,
    /// The number of all.
    pub of: f64,
}

/// The load of each second of a series.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Load<'s> {
    /// The load by second; none is negative.
    pub by_second: &'s [f64],
    /// The number of Poisson numbers that each of them is the mean of, which says how well it is known; infinite: exactly.
    pub numbers: f64,
}

impl Load<'_> {
    /// The standard error of a load.
    fn error(&self, load: f64) -> f64 {
        (load / self.numbers).sqrt()
    }
}

/// The limits of a window.
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
    let even = vec![0.0; series.len()];
    let load = Load { by_second: &even, numbers: f64::INFINITY };
    levels_under_load(series, &even, &load, rules)
}

/// The windows in which levels are greater than the load explains, in the order of time. `explained` is what
/// [`explained_by_load`] says of each second, by which windows are looked for; their levels are less by it. Whether chance
/// makes them is told from the rest alone, so that what is in a window does not explain it.
///
/// # Panics
/// If there are not as many loads, or levels explained, as levels.
pub fn levels_under_load(
    series: &[Level],
    explained: &[f64],
    load: &Load<'_>,
    rules: &Rules,
) -> Vec<Window> {
    assert_eq!(series.len(), explained.len(), "each second has a level that is explained");
    assert_eq!(series.len(), load.by_second.len(), "each second has a load");
    let known = series.iter().filter(|level| level.weight > 0.0 && level.value.is_finite());
    let weights: Vec<f64> = known.map(|level| level.weight).collect();
    // Levels of many numbers are not known the better for it: they scatter by more than their numbers do.
    let usual = median(&weights).unwrap_or(1.0);
    let part = |level: &Level, value: f64| match level.value.is_finite() && level.weight > 0.0 {
        true => {
            let weight = level.weight.min(usual) / usual;
            WeightedSum { weight, sum: weight * value }
        }
        false => WeightedSum::default(),
    };
    let raw: Vec<WeightedSum> = series.iter().map(|level| part(level, level.value)).collect();
    let pairs = series.iter().zip(explained);
    let parts: Vec<WeightedSum> = pairs.map(|(level, of)| part(level, level.value - of)).collect();
    let levels: Vec<f64> =
        parts.iter().filter(|part| part.weight > 0.0).map(|part| part.level()).collect();
    let middle = median(&levels).unwrap_or(0.0);
    let known = parts.iter().filter(|part| part.weight > 0.0);
    let distances = known.map(|part| part.weight.sqrt() * (part.level() - middle).abs());
    let scatter = median(&distances.collect::<Vec<_>>()).unwrap_or(0.0) / NORMAL_QUARTILE;
    let tail =
        |taken: &[bool], seconds: &Range<usize>| level_p(&raw, load, taken, seconds, rules.least);
    segmented(&parts, rules, level_score, LEVEL_SCORE_MIN * scatter, tail)
}

/// The windows in which a greater share is hits than in the rest, in the order of time.
pub fn counts(series: &[Count], rules: &Rules) -> Vec<Window> {
    let part = |count: &Count| WeightedSum { weight: count.of, sum: count.hits.min(count.of) };
    let parts: Vec<WeightedSum> = series.iter().map(part).collect();
    let tail = |taken: &[bool], seconds: &Range<usize>| count_p(&parts, taken, seconds);
    segmented(&parts, rules, count_score, COUNT_SCORE_MIN, tail)
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
struct WeightedSum {
    weight: f64,
    sum: f64,
}

impl WeightedSum {
    fn level(self) -> f64 {
        self.sum / self.weight
    }

    fn without(self, other: WeightedSum) -> WeightedSum {
        WeightedSum { weight: self.weight - other.weight, sum: self.sum - other.sum }
    }
}

/// Sums over the seconds up to each one, without those taken out.
struct Sums {
    parts: Vec<WeightedSum>,
    taken: Vec<usize>,
}

impl Sums {
    fn of(parts: &[WeightedSum], taken: &[bool]) -> Sums {
        let mut sums = Sums { parts: vec![WeightedSum::default()], taken: vec![0] };
        let mut so_far = WeightedSum::default();
        let mut count = 0;
        for (part, &is_taken) in parts.iter().zip(taken) {
            if is_taken {
                count += 1;
            } else {
                so_far =
                    WeightedSum { weight: so_far.weight + part.weight, sum: so_far.sum + part.sum };
            }
            sums.parts.push(so_far);
            sums.taken.push(count);
        }
        sums
    }

    fn length(&self) -> usize {
        self.parts.len() - 1
    }

    fn all(&self) -> WeightedSum {
        self.parts[self.length()]
    }

    fn within(&self, seconds: &Range<usize>) -> WeightedSum {
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
type Score = fn(inside: WeightedSum, outside: WeightedSum, least: f64) -> Option<f64>;

/// Takes out one window after the other, and keeps as many as all stand out from what they leave. `tail` is the probability
/// that chance makes the level of one window, if these seconds are taken out.
fn segmented(
    parts: &[WeightedSum],
    rules: &Rules,
    score: Score,
    score_min: f64,
    tail: impl Fn(&[bool], &Range<usize>) -> f64,
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
        let p = (tail(&taken, &seconds) * tried).min(1.0);
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
fn level_score(inside: WeightedSum, outside: WeightedSum, least: f64) -> Option<f64> {
    let difference = inside.level() - outside.level();
    let share = inside.weight * outside.weight / (inside.weight + outside.weight);
    (difference >= least).then(|| difference * share.sqrt())
}

/// Kulldorff (1997), equation 1: the logarithm of the likelihood ratio of two shares against one.
fn count_score(inside: WeightedSum, outside: WeightedSum, least: f64) -> Option<f64> {
    let is_relevant = inside.sum >= HITS_MIN
        && inside.level() - outside.level() >= least
        && inside.level() >= HITS_RATIO_MIN * outside.level();
    let all = WeightedSum { weight: inside.weight + outside.weight, sum: inside.sum + outside.sum };
    is_relevant.then(|| likelihood(inside) + likelihood(outside) - likelihood(all))
}

/// The logarithm of the greatest likelihood of a share.
fn likelihood(part: WeightedSum) -> f64 {
    let term = |count: f64| match count > 0.0 {
        true => count * (count / part.weight).ln(),
        false => 0.0,
    };
    term(part.sum) + term(part.weight - part.sum)
}

/// The scatter of the rest, from the deviations of its seconds from its level.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Scatter {
    /// Degrees of freedom that are left for the scatter.
    free: f64,
    /// Mean square.
    variance: f64,
    correlation: f64,
    /// By how much seconds are above the upper quartile, on average.
    excess: f64,
}

impl Scatter {
    /// The scatter of deviations, by second, from a level with so many degrees of freedom; `None`: they are of too few
    /// seconds.
    fn of(deviations: &[Option<f64>], level_freedom: usize) -> Option<Scatter> {
        let mut sorted: Vec<f64> = deviations.iter().copied().flatten().collect();
        if sorted.len() < REST_MIN {
            return None;
        }
        sorted.sort_by(f64::total_cmp);
        let known = sorted.len() as f64;
        let free = (known - level_freedom as f64).max(1.0);
        let squares: f64 = sorted.iter().map(|x| x * x).sum();
        let pairs = deviations.windows(2).filter_map(|pair| Some(pair[0]? * pair[1]?));
        let raw = if squares > 0.0 { pairs.sum::<f64>() / squares } else { 0.0 };
        let correlation = raw + (1.0 + 3.0 * raw.max(0.0)) / free;
        Some(Scatter {
            free,
            variance: squares / free,
            correlation: correlation.clamp(0.0, CORRELATION_MAX),
            // A level that follows its seconds leaves less of them.
            excess: (known / free).sqrt() * mean_excess(&sorted),
        })
    }

    /// The greater scatter of two, about a level that is known as well as that of the second one.
    fn or_greater(self, own: Scatter) -> Scatter {
        Scatter {
            free: own.free,
            variance: self.variance.max(own.variance),
            correlation: self.correlation.max(own.correlation),
            excess: self.excess.max(own.excess),
        }
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

/// The level of the rest by load: the isotonic regression of Ayer and others (1955).
struct LevelByLoad {
    /// The seconds of the rest that have a level, by ascending load.
    seconds: Vec<usize>,
    /// The level of each of them.
    levels: Vec<f64>,
}

impl LevelByLoad {
    fn of(parts: &[WeightedSum], load: &Load<'_>, taken: &[bool]) -> LevelByLoad {
        let loads = load.by_second;
        let is_rest = |&second: &usize| !taken[second] && parts[second].weight > 0.0;
        let mut seconds: Vec<usize> = (0..parts.len()).filter(is_rest).collect();
        seconds.sort_by(|&a, &b| loads[a].total_cmp(&loads[b]));
        let sum = |a: WeightedSum, b: WeightedSum| WeightedSum {
            weight: a.weight + b.weight,
            sum: a.sum + b.sum,
        };
        // Blocks of one level, each with the number of its seconds. Those whose loads are not told apart share one.
        let mut blocks: Vec<(WeightedSum, usize)> = Vec::new();
        let mut further = &seconds[..];
        while let Some(&least) = further.first() {
            let alike_max = loads[least] + load.error(loads[least]);
            let count = further.partition_point(|&second| loads[second] <= alike_max);
            let (alike, greater) = further.split_at(count);
            further = greater;
            let all =
                alike.iter().fold(WeightedSum::default(), |all, &second| sum(all, parts[second]));
            let mut block = (all, alike.len());
            while let Some((lower, length)) =
                blocks.pop_if(|(lower, _)| lower.level() > block.0.level())
            {
                block = (sum(lower, block.0), length + block.1);
            }
            blocks.push(block);
        }
        let levels =
            blocks.iter().flat_map(|(all, length)| std::iter::repeat_n(all.level(), *length));
        LevelByLoad { levels: levels.collect(), seconds }
    }

    /// The level under a load: that of the next one that the rest has had, or of the greatest.
    fn under(&self, load: &[f64], own: f64) -> Option<f64> {
        let next = self.seconds.partition_point(|&second| load[second] < own);
        self.levels.get(next).or(self.levels.last()).copied()
    }

    /// How many levels there are from this load on.
    fn blocks_from(&self, load: &[f64], least: f64) -> usize {
        let first = self.seconds.partition_point(|&second| load[second] < least);
        self.levels[first..].chunk_by(|a, b| a == b).count()
    }
}

/// The probability that chance makes the level of a window, as far as the rest has had its load.
fn level_p(
    parts: &[WeightedSum],
    load: &Load<'_>,
    taken: &[bool],
    seconds: &Range<usize>,
    least: f64,
) -> f64 {
    let loads = load.by_second;
    let by_load = LevelByLoad::of(parts, load, taken);
    let Some(&last) = by_load.seconds.last() else {
        return 1.0;
    };
    let load_max = loads[last] + load.error(loads[last]);
    let mut window = WeightedSum::default();
    let mut length = 0.0;
    let mut load_sum = 0.0;
    for second in seconds.clone() {
        let WeightedSum { weight, sum } = parts[second];
        let level = by_load.under(loads, loads[second]);
        if let Some(level) = level.filter(|_| weight > 0.0 && loads[second] <= load_max) {
            window = WeightedSum {
                weight: window.weight + weight,
                sum: window.sum + sum - weight * level,
            };
            length += 1.0;
            load_sum += loads[second];
        }
    }
    if length == 0.0 || window.level() < least {
        return 1.0;
    }
    // Each second in units of the same scatter.
    let mut deviations = vec![None; parts.len()];
    for (&second, level) in by_load.seconds.iter().zip(&by_load.levels) {
        let part = parts[second];
        deviations[second] = Some(part.weight.sqrt() * (part.level() - level));
    }
    let like_min = LIKE_SHARE_MIN * load_sum / length;
    let pairs = deviations.iter().zip(loads);
    let like: Vec<Option<f64>> =
        pairs.map(|(deviation, &load)| deviation.filter(|_| load >= like_min)).collect();
    let all = Scatter::of(&deviations, by_load.blocks_from(loads, 0.0));
    let like = Scatter::of(&like, by_load.blocks_from(loads, like_min));
    let (Some(all), Some(like)) = (all, like) else {
        return 1.0;
    };
    let rest = all.or_greater(like);
    let height = window.level() * (window.weight / length).sqrt();
    let mean_variance =
        rest.variance * rest.sum_variance(length) * (1.0 + length / rest.free) / length.powi(2);
    let normal = mean_variance.sqrt();
    // The tail of the single seconds, where a sum of them is great because one of them is.
    let scale = (NORMAL_EXCESS * normal).max(rest.excess * length.min(rest.span()) / length);
    let above = height - NORMAL_QUARTILE * normal;
    if above <= 0.0 {
        return 1.0;
    }
    if scale <= 0.0 {
        return 0.0;
    }
    let excesses = (ABOVE_QUARTILE * by_load.seconds.len() as f64).max(2.0);
    ABOVE_QUARTILE * (1.0 + above / scale / excesses).powf(-excesses)
}

/// By how much numbers are above their upper quartile, on average. They are in ascending order, and not few.
fn mean_excess(sorted: &[f64]) -> f64 {
    let from = ((1.0 - ABOVE_QUARTILE) * sorted.len() as f64) as usize;
    let above = &sorted[from + 1..];
    let sum: f64 = above.iter().map(|x| x - sorted[from]).sum();
    sum / above.len().max(1) as f64
}

fn count_p(parts: &[WeightedSum], taken: &[bool], seconds: &Range<usize>) -> f64 {
    let rest = Sums::of(parts, taken).all();
    let share = rest.level();
    let deviation = |part: &WeightedSum| {
        let expected = part.weight * share * (1.0 - share);
        if expected > 0.0 { (part.sum - part.weight * share) / expected.sqrt() } else { 0.0 }
    };
    let pairs = parts.iter().zip(taken);
    let deviations: Vec<Option<f64>> = pairs
        .map(|(part, &taken)| (!taken && part.weight > 0.0).then(|| deviation(part)))
        .collect();
    let Some(scatter) = Scatter::of(&deviations, 1) else {
        return 1.0;
    };
    let bursts = scatter.variance.max(1.0) * scatter.span();
    let window = parts[seconds.clone()].iter().fold(WeightedSum::default(), |sum, part| {
        WeightedSum { weight: sum.weight + part.weight, sum: sum.sum + part.sum }
    });
    // The share of the rest is not known better than this.
    let hits_max = rest.sum + 1.0 + 2.0 * ((rest.sum + 1.0) * bursts).sqrt();
    let expected = window.weight * (hits_max / rest.weight).min(1.0) / bursts;
    gamma_p(window.sum / bursts, expected)
}

#[cfg(test)]
mod tests;
