//! `throng capacity FILE`: find the highest load at which the thresholds hold, or the best value of a setting.

mod sweep;

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use compare::capacity::{Aim, Bounds, Ending, LONGER_TIMES};
use controller::{
    CapacityError, CapacityProgress, CapacityRequest, Course, Search, SearchConclusion,
    SearchError, SearchResult, search_capacity,
};
use plan::{LoadSetting, Plan, Session};
use report::{Page, Style};
use scenario::{LoadSettingError, length_path, load_setting};

use crate::args::{AimArg, CapacityArgs};
use crate::exit::{Exit, Failure, print_text, written};
use crate::full::Leniency;
use crate::page;
use crate::source::{self, CompiledScenario, Text};
use crate::terminal::{self, View};
use crate::verbs::run;

/// Defaults of --steps and --time-limit.
const STEPS_MAX: usize = 40;
const TIME_MAX: Duration = Duration::from_secs(3600);
/// Runs that a search usually makes.
const RUNS_USUAL: (u64, u64) = (10, 20);
/// Loads that a plan lists.
const LOADS_LISTED: usize = 4;

pub(crate) fn capacity(args: &CapacityArgs) -> Result<Exit, Failure> {
    if args.plan {
        return print_plan(args);
    }
    let search = opened(args)?;
    let setting = search.load_setting.clone();
    let course = search.course.clone();
    let text = Text {
        name: search.scenario_name.clone(),
        text: search.scenario_text.clone(),
        sets: Vec::new(),
        original: None,
    };
    let sets = search.overrides.clone();
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))?;
    let request = CapacityRequest {
        search,
        series: run::series_settings(&program, args.force, args.durable.durability())?,
    };
    let compile = |settings: &[(String, String)]| {
        let sets = [&sets[..], settings].concat();
        let compiled = source::compile(&text, &sets)?;
        Ok(compiled.into_plan(&text, sets))
    };
    let silent = args.quiet || args.json;
    let first = compile(&[])?.plan;
    let view = View::screen_only(silent);
    let mut watch = Watch { silent, view, setting: &setting, lacks_pages: false };
    watch.line(&forecast(&course, &first, args.pause));
    let sought: Result<SearchResult, Failure> =
        search_capacity(request, compile, |news| watch.take(&news));
    watch.view.end();
    let result = sought?;
    show(args, &result, &setting, &text.name, terminal::style())?;
    Ok(if watch.lacks_pages { Exit::Io } else { exit(&result.conclusion) })
}

/// Prints what a search would try, and how long it would take.
fn print_plan(args: &CapacityArgs) -> Result<Exit, Failure> {
    let DraftSearch { search, plan } = draft(args)?;
    let tried = match &search.course {
        Course::Knee(bounds) => loads(bounds, &search.load_setting),
        Course::Sweep(sweep) => {
            let values = sweep.values.iter().map(|&value| search.load_setting.shown(value));
            values.collect::<Vec<_>>().join(", ")
        }
    };
    print_text(&format!(
        "{} by {}: {tried}\n{}\n",
        search.scenario_name,
        search.load_setting.path,
        forecast(&search.course, &plan, args.pause)
    ))
}

/// The first loads of a search in words.
fn loads(bounds: &Bounds, setting: &LoadSetting) -> String {
    let mut loads = Vec::new();
    let mut load = bounds.rounded(bounds.from);
    while loads.len() < LOADS_LISTED && load < bounds.at_most {
        loads.push(setting.shown(load));
        load = bounds.rounded(load * bounds.growth);
    }
    match load < bounds.at_most {
        true => format!("{} … until one does not hold", loads.join(", ")),
        false => {
            loads.push(setting.shown(bounds.at_most));
            format!("{}, or until one does not hold", loads.join(", "))
        }
    }
}

fn exit(conclusion: &SearchConclusion) -> Exit {
    let ending = match conclusion {
        SearchConclusion::Knee(found) => found.ending,
        SearchConclusion::Sweep(found) => found.ending,
    };
    match ending {
        Ending::Found | Ending::AllHold => Exit::Passed,
        Ending::NoneHolds | Ending::LoadIsNotTheCause => Exit::Failed,
        _ => Exit::Untrusted,
    }
}

/// Shows how a search goes, on standard error.
struct Watch<'a> {
    silent: bool,
    view: View,
    setting: &'a LoadSetting,
    /// The page of a run could not be written.
    lacks_pages: bool,
}

impl Watch<'_> {
    fn take(&mut self, news: &CapacityProgress<'_>) {
        match news {
            CapacityProgress::Begins { .. } => {}
            CapacityProgress::Recovers { pause_ns } => self.line(&report::recovers(*pause_ns)),
            CapacityProgress::Tick(tick) => self.view.tick(tick),
            CapacityProgress::Recorded { directory, summary } => {
                self.view.end();
                if let Err(failure) = page::after_run(directory, summary) {
                    failure.print();
                    self.lacks_pages = true;
                }
            }
            CapacityProgress::Ended { number, trial } => {
                self.view.end();
                self.line(&report::trial(*number, trial, self.setting, terminal::progress_style()));
            }
        }
    }

    fn line(&self, text: &str) {
        if !self.silent {
            // A closed standard error does not stop the search.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
    }
}

/// A new search, or the one to be resumed.
fn opened(args: &CapacityArgs) -> Result<Search, Failure> {
    let mut search = match &args.resume {
        Some(directory) => Search::open(directory).map_err(refused)?,
        None => {
            let DraftSearch { search, .. } = draft(args)?;
            search.begin().map_err(refused)?;
            search
        }
    };
    // Only these may be changed when a search is resumed.
    if let Some(steps) = args.steps {
        match &mut search.course {
            Course::Knee(bounds) => bounds.steps = usize::from(steps),
            Course::Sweep(_) => return Err(sweep::no_steps()),
        }
    }
    if let Some(time) = args.time_limit {
        search.time_max_ns = ns(time);
    }
    Ok(search)
}

/// Runs that are shorter than a session never get to its last steps at full load.
fn long_enough(plan: &Plan) -> Result<(), Failure> {
    let longest = plan.arrivals().flatten().map(|phase| phase.duration_ns).max();
    let sessions = plan.sessions.iter().filter(|session| session.weight > 0.0);
    let length = sessions.map(Session::length_mean_ns).fold(0.0, f64::max);
    let longest = longest.unwrap_or(0) as f64;
    if length <= longest {
        return Ok(());
    }
    Err(Failure::hinted(
        Exit::Data,
        format!(
            "a session takes {} without what the target takes, and the longest phase {}: no user would reach the \
             last steps at full load",
            units::duration(length),
            units::duration(longest)
        ),
        "make the phase at least twice as long as a session, or the session shorter; if users are to stay, search for \
         how many are present with --aim present",
    ))
}

/// Runs that end when their percentiles are known are of different lengths: short ones do not show whether a load is sustained,
/// and the longest one would be no longer than the others.
fn as_long_as_planned(file: &str, plan: &Plan) -> Result<(), Failure> {
    if plan.until.is_none() {
        return Ok(());
    }
    Err(Failure::hinted(
        Exit::Data,
        format!("{file} ends its runs by `until`, and a search compares runs of one length"),
        "search without `until`",
    ))
}

/// How long a search takes.
fn forecast(course: &Course, plan: &Plan, pause: Duration) -> String {
    let run_ns = plan.end_ns() + ns(pause);
    let all = |runs: u64| units::span(runs.saturating_mul(run_ns));
    let each = format!(
        "each run takes {}, and up to {} more for sessions to end",
        units::span(plan.end_ns()),
        units::span(plan.options.drain_ns),
    );
    match course {
        Course::Knee(bounds) => {
            let more = if bounds.can_be_longer { LONGER_TIMES - 1 } else { 0 };
            let last = match more {
                0 => String::new(),
                _ => format!(", the last one {LONGER_TIMES} times as long"),
            };
            format!(
                "{each}; a search makes {} to {} runs{last}: about {} to {}",
                RUNS_USUAL.0,
                RUNS_USUAL.1,
                all(RUNS_USUAL.0 + more),
                all(RUNS_USUAL.1 + more)
            )
        }
        Course::Sweep(sweep) => {
            let runs = (sweep.values.len() * sweep.repeat) as u64;
            format!(
                "{each}; {} values, {} of each: about {}",
                sweep.values.len(),
                units::counted(sweep.repeat as u64, "run"),
                all(runs)
            )
        }
    }
}

/// Writes the page and prints the result of a search.
fn show(
    args: &CapacityArgs,
    result: &SearchResult,
    setting: &LoadSetting,
    scenario: &str,
    style: Style,
) -> Result<(), Failure> {
    let SearchResult { directory, conclusion, trials } = result;
    let page = match conclusion {
        SearchConclusion::Knee(found) => {
            Page::capacity(found, trials, setting, scenario, page::VERSION)
        }
        SearchConclusion::Sweep(found) => {
            Page::sweep(found, trials, setting, scenario, page::VERSION)
        }
    };
    let page = page::beside(&page, directory, args.html.as_deref())?;
    let record = directory.display().to_string();
    let text = match conclusion {
        _ if args.quiet => String::new(),
        SearchConclusion::Knee(found) if args.json => report::json(found),
        SearchConclusion::Sweep(found) if args.json => report::json(found),
        SearchConclusion::Knee(found) => report::capacity(found, setting, &record, style),
        SearchConclusion::Sweep(found) => report::sweep(found, setting, &record, style),
    };
    let silent = args.quiet || args.json;
    let page = page.as_deref().filter(|_| !silent);
    let text = text + &page.map_or(String::new(), page::line);
    written(write!(std::io::stdout(), "{text}"))?;
    Ok(())
}

/// A new search that has no directory yet.
struct DraftSearch {
    search: Search,
    /// The scenario's plan as it stands.
    plan: Plan,
}

/// Reads and checks what a new search takes.
fn draft(args: &CapacityArgs) -> Result<DraftSearch, Failure> {
    let file = args.file.as_deref().unwrap_or("-");
    let text = source::scenario(file, Leniency::Strict)?;
    let CompiledScenario { plan, .. } = source::compile(&text, &args.sets.sets)?;
    source::no_secrets(&plan, &args.sets.sets, args.sets.sets.len())?;
    as_long_as_planned(file, &plan)?;
    let (setting, mut course) = match &args.over {
        Some((key, list)) => {
            let time_max = args.time_limit.unwrap_or(TIME_MAX);
            sweep::sweep(args, key, list, &text, &plan, time_max)?
        }
        None => knee(args, file, &text, &plan)?,
    };
    let aim = match args.aim {
        AimArg::Finished => Aim::Finished,
        AimArg::Present => Aim::Present,
    };
    if aim == Aim::Finished {
        long_enough(&plan)?;
    }
    let mut longer = None;
    // Users that stay would be more of them in a longer run, which would be another load.
    if let (Course::Knee(bounds), Aim::Finished) = (&mut course, aim) {
        longer = longer_run(&text, &args.sets.sets, &setting, &plan);
        bounds.can_be_longer = longer.is_some();
    }
    #[expect(clippy::disallowed_methods, reason = "names the search's directory")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let name = format!("capacity-{}", plan.name);
    // Distinguishes searches started within the same second.
    let id = record::run_id(now.as_secs(), &name, (now.subsec_micros() % 0x1_0000) as u16);
    let search = Search {
        directory: args.runs.join(id),
        load_setting: setting,
        course,
        aim,
        time_max_ns: ns(TIME_MAX),
        pause_ns: ns(args.pause),
        scenario_name: text.name,
        scenario_text: text.text,
        overrides: args.sets.sets.clone(),
        longer,
        trials: Vec::new(),
    };
    Ok(DraftSearch { search, plan })
}

/// The load to vary, and how far.
fn knee(
    args: &CapacityArgs,
    file: &str,
    text: &Text,
    plan: &Plan,
) -> Result<(LoadSetting, Course), Failure> {
    if plan.thresholds.is_empty() {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{file} has no thresholds"),
            "add `thresholds`, such as `p99(request) < 100ms` and `error_rate < 1%`, or --set them",
        ));
    }
    let setting = load_setting(&text.text, &args.sets.sets, args.of.as_deref())
        .map_err(|error| no_setting(&error))?;
    let bounds = bounds(args, &setting)?;
    Ok((setting, Course::Knee(bounds)))
}

/// The setting with which a run has the same load for longer; `None`: the load is not that of the last phase, or the scenario
/// does not allow that length.
fn longer_run(
    text: &Text,
    sets: &[(String, String)],
    setting: &LoadSetting,
    plan: &Plan,
) -> Option<(String, String)> {
    let path = length_path(&text.text, sets, &setting.path)?;
    let length_ns = plan.phases.last()?.duration_ns.checked_mul(LONGER_TIMES)?;
    let longer = (path, format!("{}ms", length_ns as f64 / 1e6));
    let (compiled, _) = source::try_compile(text, &[sets, std::slice::from_ref(&longer)].concat());
    compiled.map(|_| longer)
}

fn bounds(args: &CapacityArgs, setting: &LoadSetting) -> Result<Bounds, Failure> {
    let is_whole = setting.is_whole();
    let whole = |load: f64| {
        if is_whole { load.round().max(1.0) } else { load }
    };
    let from = whole(args.from.unwrap_or(setting.value));
    let at_most = args.at_most.map_or(f64::INFINITY, whole);
    if at_most < from {
        return Err(Failure::hinted(
            Exit::Usage,
            format!(
                "--at-most {} is below the first load, {}",
                setting.shown(at_most),
                setting.shown(from)
            ),
            "give a lower --from",
        ));
    }
    Ok(Bounds {
        from,
        at_most,
        growth: args.growth,
        within: args.within,
        repeat: usize::from(args.repeat),
        steps: STEPS_MAX,
        is_whole,
        can_be_longer: false,
    })
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn no_setting(error: &LoadSettingError) -> Failure {
    let hint = match error {
        LoadSettingError::Several { .. } => "choose one with --of",
        _ => {
            "name the number to vary with --of, as for --set: arrivals.0.constant, or a \
              parameter"
        }
    };
    Failure::hinted(Exit::Usage, error.to_string(), hint)
}

fn refused(error: SearchError) -> Failure {
    let exit = match &error {
        SearchError::NoSearch { .. } => Exit::NoInput,
        SearchError::Newer { .. } | SearchError::Damaged { .. } => Exit::Data,
        SearchError::Create { .. } => Exit::CannotCreate,
        SearchError::File(_) => Exit::Io,
    };
    Failure::new(exit, error)
}

impl From<CapacityError> for Failure {
    fn from(error: CapacityError) -> Failure {
        match error {
            CapacityError::Conduct(error) => run::failure(error),
            CapacityError::Search(error) => refused(error),
            error @ (CapacityError::Judge(_) | CapacityError::Record(_)) => {
                Failure::new(Exit::Io, error)
            }
        }
    }
}
