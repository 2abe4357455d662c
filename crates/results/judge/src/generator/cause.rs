//! The cause that held the generator back: a limit of its CPU, scripts, its own CPU, a target that is slow to take
//! connections, somebody else's CPU, its own work for steps, or none of them.

use record::schema::SeriesRow;

use crate::figures::{self, Figures};
use crate::limits::{
    BUSY_INTERVAL_NS_MIN, CPU_WAIT_MIN, HELD_SHARE_MIN, LAG_WARN_NS_MIN, LOOP_BUSY_MIN,
    OWN_WORK_OF_LAG_MIN, SCRIPTS_SHARE_MAX, STARTS_SHARE_MIN,
};

/// A cause with its figures, both shares of the time in which the run was late.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cause {
    kind: Kind,
    /// CPU time of the busiest loop; in wide mode, of all loops as a share of all cores, where
    /// that is more.
    pub(crate) busy: f64,
    /// Time that loops were ready and did not run, as a share of the cores they could use.
    pub(crate) wait: f64,
    /// Time in which a limit of a control group held the generator back.
    limited: f64,
    /// Time that the loops spent in scripts.
    scripts: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Limited,
    Scripts,
    Cpu,
    Connecting,
    Starved,
    Work,
    Unknown,
}

impl Cause {
    /// The cause of a run's lateness, judged by its late seconds alone if there are any.
    pub(crate) fn of(figures: &Figures) -> Cause {
        let limit_ns = figures.info.generator.lag_max_ns;
        let late = |row: &&SeriesRow| {
            let begun = figures::users_begun(std::iter::once(*row));
            row.lag_p99_ns > limit_ns
                || (begun as f64) < STARTS_SHARE_MIN * figures.due_of_rest(row)
        };
        let all = || figures.series.iter().zip(waiting(&figures.series));
        let rows: Vec<(&SeriesRow, bool)> = match all().filter(|(row, _)| late(row)).collect() {
            none if Vec::is_empty(&none) => all().collect(),
            late => late,
        };
        let (rows, waiting): (Vec<&SeriesRow>, Vec<bool>) = rows.into_iter().unzip();
        let generator = &figures.info.generator;
        let time_ns: u64 = rows.iter().map(|row| row.end_ns.saturating_sub(row.start_ns)).sum();
        let of_cores =
            |ns: u64, cores: u32| ns as f64 / (time_ns.max(1) as f64 * f64::from(cores.max(1)));

        let wait_ns = rows.iter().map(|row| row.cpu_wait_ns).sum();
        let wait = of_cores(wait_ns, generator.cores.min(generator.loops));
        let mut busy = busy_mean(rows.iter().copied());
        // A loop that waits for its core counts as busy, but that is not its own doing.
        let mut own = busy - wait;
        if generator.mode == "wide" {
            let loops_ns = rows.iter().map(|row| row.cpu_loops_ns).sum();
            own = own.max(of_cores(loops_ns, generator.cores));
            busy = busy.max(own);
        }
        let limited = of_cores(rows.iter().map(|row| row.cpu_throttled_ns).sum(), 1);
        let scripts = of_cores(rows.iter().map(|row| row.scripts_ns).sum(), generator.loops);
        let kind = if limited >= CPU_WAIT_MIN {
            Kind::Limited
        } else if scripts - wait >= SCRIPTS_SHARE_MAX.max(own / 2.0) {
            // A script that waits for its core counts as one that runs.
            Kind::Scripts
        } else if own >= LOOP_BUSY_MIN {
            Kind::Cpu
        } else if held(&rows, &waiting) >= HELD_SHARE_MIN {
            Kind::Connecting
        } else if wait >= CPU_WAIT_MIN {
            Kind::Starved
        } else if is_late_by_own_work(figures) {
            Kind::Work
        } else {
            Kind::Unknown
        };
        let scripts = scripts.min(1.0);
        Cause { kind, busy: busy.min(1.0), wait, limited: limited.min(1.0), scripts }
    }

    /// True if the loops had CPU whenever they wanted it.
    pub(crate) fn had_cpu(&self) -> bool {
        self.limited < CPU_WAIT_MIN && self.busy < LOOP_BUSY_MIN && self.wait < CPU_WAIT_MIN
    }

    /// True if the generator or its machine held it back, whatever its target did.
    pub(super) fn is_generators(&self) -> bool {
        match self.kind {
            Kind::Limited | Kind::Scripts | Kind::Cpu | Kind::Starved | Kind::Work => true,
            Kind::Connecting | Kind::Unknown => false,
        }
    }

    /// The code of a finding that names this cause.
    pub(crate) fn code(&self) -> &'static str {
        match self.kind {
            Kind::Limited => "generator-limited",
            Kind::Scripts => "generator-scripts",
            Kind::Cpu => "generator-cpu",
            Kind::Connecting => "connecting-limit",
            Kind::Starved => "generator-starved",
            Kind::Work => "generator-work",
            Kind::Unknown => super::LAG,
        }
    }

    /// A clause that follows a colon. Where the target did not keep up, that is the cause of lag without another one.
    pub(crate) fn words(&self, waited_for_target: bool) -> String {
        let busy = units::percent(self.busy);
        let wait = units::percent(self.wait);
        match self.kind {
            Kind::Limited => format!(
                "a CPU limit of its control group held the generator back {} of the time (`cpu.max`)",
                units::percent(self.limited)
            ),
            Kind::Scripts => format!(
                "scripts kept the loops from their users {} of the time (`options.script_time_max`)",
                units::percent(self.scripts)
            ),
            Kind::Cpu => format!("the generator ran out of CPU (loops {busy} busy)"),
            Kind::Connecting => "users arrived faster than connections were established, and the \
                limit of concurrent connection attempts was reached (`options.connecting_max`)"
                .to_owned(),
            Kind::Starved => format!(
                "other processes on this machine starved the generator of CPU (loops {busy} busy, \
                 waiting for a core {wait} of the time)"
            ),
            Kind::Work => "operations waited for the generator's own work, such as signing, saving and `js` (see the finding \
                `own-work`)"
                .to_owned(),
            Kind::Unknown => {
                let what = match waited_for_target {
                    true => "the generator waited for the target",
                    false => "the generator fell behind although CPU was available",
                };
                format!("{what} (loops {busy} busy, waiting for a core {wait} of the time)")
            }
        }
    }
}

/// True if work of the generator's own for steps, each of which took long, explains most of the lag.
fn is_late_by_own_work(figures: &Figures) -> bool {
    let long = figures.own_work.iter();
    let long = long.filter(|work| work.total_ns >= LAG_WARN_NS_MIN.saturating_mul(work.count));
    let work_ns = long.map(|work| work.total_ns as f64).sum::<f64>();
    let lag_ns = figures.requests().map(|m| figures.cell(None, m).lag.sum() as f64).sum::<f64>();
    work_ns > 0.0 && work_ns >= OWN_WORK_OF_LAG_MIN * lag_ns
}

/// The share of the users started that had to wait until other connections were set up; or of the seconds in
/// which one had to, if that is more: who is due after one that waits is late as well.
fn held(rows: &[&SeriesRow], waiting: &[bool]) -> f64 {
    let held = rows.iter().map(|row| row.users_held).sum::<u64>();
    let of_users = held as f64 / figures::users_started(rows.iter().copied()).max(1) as f64;
    let seconds = waiting.iter().filter(|waits| **waits).count();
    of_users.max(seconds as f64 / rows.len().max(1) as f64)
}

/// The seconds in which a user waited for connections: it began to, or nobody has started since one did. Against a
/// target that takes no connection it waits until the attempts time out.
fn waiting(series: &[SeriesRow]) -> Vec<bool> {
    let mut waits = false;
    let each = series.iter().map(|row| {
        waits = row.users_held > 0 || (waits && row.users_started == 0);
        waits
    });
    each.collect()
}

/// The busiest loop of an interval.
struct BusyInterval {
    length_ns: f64,
    /// CPU time as a share of a core.
    share: f64,
}

/// The intervals that are long enough to say how busy a loop was. If none is, all of them together, from the loops'
/// CPU time: a loop that does not return to its poll within a short interval would count as busy in all of it.
fn busy<'a>(rows: impl Iterator<Item = &'a SeriesRow> + Clone) -> Vec<BusyInterval> {
    let length_ns = |row: &SeriesRow| row.end_ns.saturating_sub(row.start_ns);
    let long = rows.clone().filter(|row| length_ns(row) >= BUSY_INTERVAL_NS_MIN);
    let long =
        long.map(|row| BusyInterval { length_ns: length_ns(row) as f64, share: row.loop_busy_max });
    let long: Vec<BusyInterval> = long.collect();
    let time_ns = rows.clone().map(length_ns).sum::<u64>() as f64;
    if !long.is_empty() || time_ns == 0.0 {
        return long;
    }
    let cpu_ns: u64 = rows.map(|row| row.cpu_loops_ns).sum();
    vec![BusyInterval { length_ns: time_ns, share: (cpu_ns as f64 / time_ns).min(1.0) }]
}

/// The busiest loop's largest share of a core.
pub(super) fn busy_max(rows: &[SeriesRow]) -> f64 {
    let intervals = busy(rows.iter()).into_iter();
    intervals.map(|busy| busy.share).fold(0.0, f64::max)
}

/// The mean of the busiest loop's share of a core, each row by its length.
pub(super) fn busy_mean<'a>(rows: impl Iterator<Item = &'a SeriesRow> + Clone) -> f64 {
    let intervals = busy(rows);
    let time_ns: f64 = intervals.iter().map(|busy| busy.length_ns).sum();
    let busy_ns: f64 = intervals.iter().map(|busy| busy.length_ns * busy.share).sum();
    if time_ns > 0.0 { busy_ns / time_ns } else { 0.0 }
}
