//! The day and the week: how the rate follows the clock on the wall.

use serde::{Deserialize, Serialize};
use stats::counts::{self, Groups};
use stats::rng::{Purpose, Rng};

use super::Counts;
use super::silences::Silence;

const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 86_400;
/// Days from which on there can be a cycle of the day, and weeks.
const DAYS_MIN: i64 = 3;
const WEEK_DAYS_MIN: i64 = 21;
/// The level at which a cycle is there.
const ALPHA: f64 = 0.01;
/// Days to each side of a break.
const BREAK_DAYS_MIN: usize = 5;
/// How far, in hours, the day must be moved for a break.
const BREAK_HOURS_MIN: f64 = 3.0;
/// Orders of the days tried for the test of a break.
const BREAK_ROUNDS: u32 = 999;

/// A rate that follows the clock on the wall.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Cycle {
    /// Users per second in each hour of the day; or of the week, from Monday, where the week matters.
    pub rates: Vec<f64>,
    /// Whether hours of the day have different rates.
    pub day: DaysTest,
    /// Whether days of the week have.
    pub week: Option<DaysTest>,
    /// From which second of the recording to which it was taken.
    pub from_s: u64,
    /// To this second.
    pub upto_s: u64,
    /// The place at which the day is moved against the clock, if it is.
    pub broken: Option<Break>,
}

/// An analysis of variance of hours' counts (their roots, whose variance does not depend on the rate).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct DaysTest {
    /// Fisher's F.
    pub f: f64,
    /// P(as great), hours being independent: too small where neighbouring hours are not.
    pub p: f64,
    /// The share of the variance that it explains.
    pub explained: f64,
}

/// A day from which on the cycle is shifted against the clock: recordings were joined, or the clock was set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ts_rs::TS)]
pub struct Break {
    /// The first shifted day, from 0.
    pub day: usize,
    /// Hours by which the day is moved, −12 to 12.
    pub hours: f64,
    /// P(as great a one in days of any order).
    pub p: f64,
}

impl From<Groups> for DaysTest {
    fn from(groups: Groups) -> DaysTest {
        DaysTest { f: groups.f, p: groups.p, explained: groups.explained }
    }
}

impl Cycle {
    /// It is the week's, else the day's.
    pub(crate) fn is_weekly(&self) -> bool {
        self.rates.len() > 24
    }

    /// Numbers that were taken from the counts.
    pub(super) fn fitted(&self) -> u64 {
        self.rates.len() as u64
    }

    /// The rate in a bin; `None` outside of what it was taken from, and in silences.
    pub(super) fn rate_at(&self, counts: &Counts, bin: usize, silences: &[Silence]) -> Option<f64> {
        let second = bin as u64 * counts.bin_s;
        if second < self.from_s || second >= self.upto_s || silences.iter().any(|s| s.holds(second))
        {
            return None;
        }
        Some(self.rate_of(counts, bin))
    }

    /// The rate that the clock says for a bin, wherever it is.
    pub(super) fn rate_of(&self, counts: &Counts, bin: usize) -> f64 {
        let second = (bin as u64 * counts.bin_s) as i64;
        self.rates[slot(counts.local_s + second, self.rates.len())]
    }
}

/// A cycle that users follow, with the rate of the recording that it was found in: the mean of the hours is
/// not that rate where parts of days were recorded, or silences left out.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hours<'m> {
    cycle: &'m Cycle,
    rate_per_s: f64,
}

impl<'m> Hours<'m> {
    pub(super) fn new(cycle: &'m Cycle, rate_per_s: f64) -> Hours<'m> {
        Hours { cycle, rate_per_s }
    }

    /// They are the week's, else the day's.
    pub(crate) fn is_weekly(&self) -> bool {
        self.cycle.is_weekly()
    }

    /// The rate in the hour of this clock's time, as a share of the recording's.
    pub(crate) fn share(&self, local_s: i64) -> f64 {
        let rates = &self.cycle.rates;
        rates[slot(local_s, rates.len())] / self.rate_per_s
    }

    /// The next `seconds` from this local time on, in stretches within one hour: their lengths and shares.
    pub(crate) fn stretches(&self, local_s: i64, seconds: f64) -> impl Iterator<Item = (f64, f64)> {
        let hours = *self;
        let mut at_s = 0.0;
        std::iter::from_fn(move || {
            let clock_s = local_s + at_s as i64;
            let left_s = (HOUR_S - clock_s.rem_euclid(HOUR_S)) as f64;
            let length_s = left_s.min(seconds - at_s);
            at_s += length_s;
            (length_s > 0.0).then(|| (length_s, hours.share(clock_s)))
        })
    }
}

/// The hour of the day or of the week, from Monday, of a clock; 1 January 1970 was a Thursday.
fn slot(local_s: i64, slots: usize) -> usize {
    let hour = local_s.div_euclid(HOUR_S) + 3 * 24;
    hour.rem_euclid(slots as i64) as usize
}

/// An hour of the recording that is whole.
struct Hour {
    local_s: i64,
    users: u64,
    /// Seconds from the recording's beginning.
    from_s: i64,
}

/// Why there is no cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, ts_rs::TS)]
#[serde(rename_all = "kebab-case")]
pub enum NoCycle {
    /// The counts do not add up to hours.
    Bins,
    /// There are less than three days of it.
    Short,
    /// The hours of the day do not differ.
    Flat,
}

pub(super) fn find(counts: &Counts, silences: &[Silence], seed: u64) -> Result<Cycle, NoCycle> {
    let span_s = counts.bins.len() as u64 * counts.bin_s;
    if span_s < (DAYS_MIN * DAY_S) as u64 {
        return Err(NoCycle::Short);
    }
    if HOUR_S % counts.bin_s as i64 != 0 {
        return Err(NoCycle::Bins);
    }
    let mut hours = hours(counts);
    hours.retain(|hour| {
        let from = hour.from_s as u64;
        let upto = (hour.from_s + HOUR_S) as u64;
        !silences.iter().any(|s| s.from_s < upto && from < s.from_s + s.length_s)
    });
    let broken = find_break(&hours, seed);
    if let Some(broken) = &broken {
        // The longer side has a clock of its own that is right.
        let (first, end) = ends(&hours).ok_or(NoCycle::Short)?;
        let cut = first + broken.day as i64 * DAY_S;
        let last = end - HOUR_S;
        if cut - first >= last - cut {
            hours.retain(|hour| hour.from_s < cut - DAY_S);
        } else {
            hours.retain(|hour| hour.from_s >= cut + DAY_S);
        }
    }
    let (first, last) = ends(&hours).ok_or(NoCycle::Short)?;
    if last - first < DAYS_MIN * DAY_S {
        return Err(NoCycle::Short);
    }
    let day: DaysTest = test(&hours, 24).ok_or(NoCycle::Flat)?.into();
    if day.p >= ALPHA {
        return Err(NoCycle::Flat);
    }
    let week: Option<DaysTest> = (last - first >= WEEK_DAYS_MIN * DAY_S)
        .then(|| weekdays(&hours))
        .flatten()
        .map(DaysTest::from);
    let slots = if week.is_some_and(|week| week.p < ALPHA) { 7 * 24 } else { 24 };
    Ok(Cycle {
        rates: rates(&hours, slots),
        day,
        week,
        from_s: first as u64,
        upto_s: last as u64,
        broken,
    })
}

/// The beginning of the first of these hours, and the end of the last.
fn ends(hours: &[Hour]) -> Option<(i64, i64)> {
    Some((hours.first()?.from_s, hours.last()?.from_s + HOUR_S))
}

fn hours(counts: &Counts) -> Vec<Hour> {
    let bin_s = counts.bin_s as i64;
    // The first bin that begins with an hour of the clock.
    let skipped = counts.local_s.rem_euclid(HOUR_S);
    let first = if skipped == 0 { 0 } else { (HOUR_S - skipped + bin_s - 1) / bin_s } as usize;
    let bins = counts.bins.get(first..).unwrap_or_default();
    bins.chunks_exact((HOUR_S / bin_s) as usize)
        .enumerate()
        .map(|(number, hour)| {
            let from_s = first as i64 * bin_s + number as i64 * HOUR_S;
            Hour {
                local_s: counts.local_s + from_s,
                users: hour.iter().map(|&count| u64::from(count)).sum(),
                from_s,
            }
        })
        .collect()
}

/// Anscombe's root (1948): its variance is 1/4 for any rate.
fn root(users: u64) -> f64 {
    (users as f64 + 0.375).sqrt()
}

fn test(hours: &[Hour], slots: usize) -> Option<Groups> {
    let mut groups = vec![Vec::new(); slots];
    for hour in hours {
        groups[slot(hour.local_s, slots)].push(root(hour.users));
    }
    counts::groups(&groups)
}

/// Days of the week by the days' totals, so that the hours of one day count once.
fn weekdays(hours: &[Hour]) -> Option<Groups> {
    let mut groups = vec![Vec::new(); 7];
    for day in hours.chunk_by(|a, b| a.local_s.div_euclid(DAY_S) == b.local_s.div_euclid(DAY_S)) {
        if day.len() == 24 {
            let users = day.iter().map(|hour| hour.users).sum();
            groups[slot(day[0].local_s, 7 * 24) / 24].push(root(users));
        }
    }
    counts::groups(&groups)
}

/// The mean rate of each slot; of one that never was the mean of all.
fn rates(hours: &[Hour], slots: usize) -> Vec<f64> {
    let mut sums = vec![(0_u64, 0_u64); slots];
    for hour in hours {
        let sum = &mut sums[slot(hour.local_s, slots)];
        *sum = (sum.0 + hour.users, sum.1 + 1);
    }
    let all: u64 = hours.iter().map(|hour| hour.users).sum();
    let mean = all as f64 / hours.len() as f64;
    let rate = |(users, hours): (u64, u64)| match hours {
        0 => mean / HOUR_S as f64,
        hours => users as f64 / hours as f64 / HOUR_S as f64,
    };
    sums.into_iter().map(rate).collect()
}

/// Looks for the day from which on the daily cycle is shifted: where both sides agree most within themselves, tested
/// against random orders of the days.
fn find_break(hours: &[Hour], seed: u64) -> Option<Break> {
    // Where the first harmonic of each whole day points.
    let mut directions: Vec<(usize, (f64, f64))> = Vec::new();
    let first = hours.first()?.from_s;
    for day in hours.chunk_by(|a, b| (a.from_s - first) / DAY_S == (b.from_s - first) / DAY_S) {
        let mut x = 0.0;
        let mut y = 0.0;
        for hour in day {
            let angle = std::f64::consts::TAU * slot(hour.local_s, 24) as f64 / 24.0;
            x += hour.users as f64 * angle.cos();
            y += hour.users as f64 * angle.sin();
        }
        let length = x.hypot(y);
        if day.len() == 24 && length > 0.0 {
            directions.push((((day[0].from_s - first) / DAY_S) as usize, (x / length, y / length)));
        }
    }
    if directions.len() < 2 * BREAK_DAYS_MIN {
        return None;
    }
    let days: Vec<(f64, f64)> = directions.iter().map(|day| day.1).collect();
    let (place, gain) = best_cut(&days);
    let before = mean_angle(&days[..place]);
    let behind = mean_angle(&days[place..]);
    let hours =
        (behind - before).sin().atan2((behind - before).cos()) * 24.0 / std::f64::consts::TAU;
    if hours.abs() < BREAK_HOURS_MIN {
        return None;
    }
    let mut rng = Rng::new(seed, 3, Purpose::Resample);
    let mut shuffled = days;
    let mut as_great = 0;
    for _ in 0..BREAK_ROUNDS {
        rng.shuffle(&mut shuffled);
        as_great += u32::from(best_cut(&shuffled).1 >= gain);
    }
    let p = f64::from(1 + as_great) / f64::from(1 + BREAK_ROUNDS);
    (p < ALPHA).then(|| Break { day: directions[place].0, hours, p })
}

/// The cut where the resultants of both sides together are longest, and by how much they are longer than
/// that of all.
fn best_cut(days: &[(f64, f64)]) -> (usize, f64) {
    let sum = |days: &[(f64, f64)]| days.iter().fold((0.0, 0.0), |s, d| (s.0 + d.0, s.1 + d.1));
    let whole = sum(days);
    let mut before = sum(&days[..BREAK_DAYS_MIN]);
    let mut best = (BREAK_DAYS_MIN, f64::NEG_INFINITY);
    for cut in BREAK_DAYS_MIN..=days.len() - BREAK_DAYS_MIN {
        if cut > BREAK_DAYS_MIN {
            before = (before.0 + days[cut - 1].0, before.1 + days[cut - 1].1);
        }
        let behind = (whole.0 - before.0, whole.1 - before.1);
        let length = before.0.hypot(before.1) + behind.0.hypot(behind.1);
        if length > best.1 {
            best = (cut, length);
        }
    }
    (best.0, best.1 - whole.0.hypot(whole.1))
}

fn mean_angle(days: &[(f64, f64)]) -> f64 {
    let (x, y) = days.iter().fold((0.0, 0.0), |s, d| (s.0 + d.0, s.1 + d.1));
    y.atan2(x)
}
