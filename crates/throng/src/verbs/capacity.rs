//! `throng capacity FILE`: the highest load that keeps the thresholds.

use std::io::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use controller::{
    KneeError, KneeNews, KneeRequest, Loaded, ScenarioText, Search, SearchError, Sought, seek,
};
use judge::capacity::Bounds;
use plan::LoadSetting;
use report::Page;
use scenario::foreign::Leniency;
use scenario::{LoadSettingError, load_setting};

use crate::args::CapacityArgs;
use crate::exit::{Exit, Failure, written};
use crate::page;
use crate::source::{self, Compiled, Text};
use crate::terminal::{self, View};
use crate::verbs::run;

/// Runs of a search, and how long it may take, unless --steps and --time-limit say so.
const STEPS_MAX: usize = 40;
const TIME_MAX: Duration = Duration::from_secs(3600);

pub(crate) fn capacity(args: &CapacityArgs) -> Result<Exit, Failure> {
    let mut search = match &args.resume {
        Some(directory) => Search::open(directory).map_err(refused)?,
        None => begun(args)?,
    };
    // Of a search that is gone on with, only these may be changed.
    if let Some(steps) = args.steps {
        search.bounds.steps = usize::from(steps);
    }
    if let Some(time) = args.time_limit {
        search.time_max_ns = ns(time);
    }
    let knob = search.knob.clone();
    let text = Text {
        name: search.scenario_name.clone(),
        text: search.scenario_text.clone(),
        original: None,
    };
    let sets = search.overrides.clone();
    let program = std::env::current_exe().map_err(|error| Failure::new(Exit::System, error))?;
    let request = KneeRequest {
        search,
        program: &program,
        version: env!("CARGO_PKG_VERSION"),
        force: args.force,
        interrupt: run::interrupt()?,
    };
    let compile = |setting: (String, String)| {
        let sets = [&sets[..], &[setting]].concat();
        let Compiled { plan, inputs } = source::compile(&text, &sets)?;
        let scenario = ScenarioText {
            name: text.name.clone(),
            text: text.text.clone(),
            overrides: sets,
            inputs,
        };
        Ok(Loaded { plan, scenario })
    };
    let silent = args.quiet || args.json;
    let mut view = View::screen_only(silent);
    let style = terminal::style();
    let sought: Result<Sought, Failure> = seek(request, compile, |news| match news {
        KneeNews::Begins { .. } => {}
        KneeNews::Tick(tick) => view.tick(tick, style),
        KneeNews::Recorded { directory, summary } => {
            view.end();
            page::after_run(directory, summary);
        }
        KneeNews::Ended { number, trial } => {
            view.end();
            if !silent {
                let line = report::trial(number, trial, &knob, style);
                // A closed standard output does not stop the search.
                let _ = writeln!(std::io::stdout(), "{line}");
            }
        }
    });
    view.end();
    let Sought {
        directory,
        conclusion,
        trials,
    } = sought?;
    let page = Page::capacity(&conclusion, &trials, &knob, &text.name, page::VERSION);
    let page = page::beside(&page, &directory, args.html.as_deref())?;
    let text = if args.json {
        report::json(&conclusion)
    } else if args.quiet {
        String::new()
    } else {
        report::capacity(&conclusion, &knob, &directory.display().to_string(), style)
            + &page.as_deref().map_or(String::new(), page::line)
    };
    written(write!(std::io::stdout(), "{text}"))?;
    Ok(match conclusion.exit_code {
        0 => Exit::Passed,
        1 => Exit::Failed,
        _ => Exit::Untrusted,
    })
}

/// A new search, with its directory.
fn begun(args: &CapacityArgs) -> Result<Search, Failure> {
    let file = args.file.as_deref().unwrap_or("-");
    let text = source::scenario(file, Leniency::Strict)?;
    let Compiled { plan, .. } = source::compile(&text, &args.sets.sets)?;
    source::no_secrets(&plan, &args.sets.sets)?;
    if plan.thresholds.is_empty() {
        return Err(Failure::hinted(
            Exit::Data,
            format!("{file} has no thresholds: nothing says what has to hold"),
            "add `thresholds`, such as `p99 < 100ms` of a request and `error_rate < 1%`, or --set them",
        ));
    }
    let knob = load_setting(&text.text, &args.sets.sets, args.of.as_deref())
        .map_err(|error| no_knob(&error))?;
    let bounds = bounds(args, &knob)?;
    #[expect(clippy::disallowed_methods, reason = "names the search's directory")]
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let name = format!("capacity-{}", plan.name);
    // Tells searches of one second apart.
    let id = record::run_id(
        now.as_secs(),
        &name,
        (now.subsec_micros() % 0x1_0000) as u16,
    );
    let search = Search {
        directory: args.runs.join(id),
        knob,
        bounds,
        time_max_ns: ns(TIME_MAX),
        pause_ns: ns(args.pause),
        scenario_name: text.name,
        scenario_text: text.text,
        overrides: args.sets.sets.clone(),
        trials: Vec::new(),
    };
    search.begin().map_err(refused)?;
    Ok(search)
}

fn bounds(args: &CapacityArgs, knob: &LoadSetting) -> Result<Bounds, Failure> {
    let is_whole = knob.is_whole();
    let whole = |load: f64| {
        if is_whole {
            load.round().max(1.0)
        } else {
            load
        }
    };
    let from = whole(args.from.unwrap_or(knob.value));
    let at_most = args.at_most.map_or(f64::INFINITY, whole);
    if at_most < from {
        return Err(Failure::hinted(
            Exit::Usage,
            format!(
                "--at-most {} is below the first load, {}",
                knob.shown(at_most),
                knob.shown(from)
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
    })
}

fn ns(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn no_knob(error: &LoadSettingError) -> Failure {
    let hint = match error {
        LoadSettingError::Several { .. } => "say which with --of",
        _ => {
            "say with --of which number to turn, as --set knows it: arrivals.0.constant, or a \
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

impl From<KneeError> for Failure {
    fn from(error: KneeError) -> Failure {
        match error {
            KneeError::Conduct(error) => run::failure(error),
            KneeError::Search(error) => refused(error),
            error @ (KneeError::Judge(_) | KneeError::Record(_)) => Failure::new(Exit::Io, error),
        }
    }
}
