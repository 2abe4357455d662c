//! `--over KEY=V1,V2,…`: which values to try, checked before anything runs.

use std::time::Duration;

use compare::sweep::{Sweep, SweepError};
use controller::Course;
use plan::{LoadSetting, Plan};
use scenario::Severity;
use units::parse::leading_number;

use super::ns;
use crate::args::CapacityArgs;
use crate::exit::{Exit, Failure};
use crate::source::{self, Text};

/// The setting to vary, and its values.
pub(super) fn sweep(
    args: &CapacityArgs,
    key: &str,
    list: &str,
    text: &Text,
    plan: &Plan,
    time_max: Duration,
) -> Result<(LoadSetting, Course), Failure> {
    if key == "seed" {
        return Err(usage(
            "`seed` cannot be varied: each run has a seed of its own".to_owned(),
            "vary a parameter or a setting of the target",
        ));
    }
    let (values, unit) = numbers(list)?;
    let sweep = Sweep { values, repeat: usize::from(args.repeat), seed: plan.seed };
    sweep.check().map_err(|error| refused(&error))?;
    let setting = LoadSetting { path: key.to_owned(), value: sweep.values[0], unit };
    let mut run_ns = 0;
    for &value in &sweep.values {
        let plan = accepted(&setting, value, args, text)?;
        closed(&plan)?;
        run_ns = run_ns.max(plan.end_ns());
    }
    let runs = (sweep.values.len() * sweep.repeat) as u64;
    let all_ns = runs.saturating_mul(run_ns.saturating_add(ns(args.pause)));
    if all_ns > ns(time_max) {
        return Err(usage(
            format!(
                "{runs} runs take {}, and --time-limit is {}",
                units::span(all_ns),
                units::span(ns(time_max))
            ),
            "give a longer --time-limit, fewer values, or a lower --repeat",
        ));
    }
    Ok((setting, Course::Sweep(sweep)))
}

/// `--steps` bounds a search, which does not know beforehand how many runs it needs.
pub(super) fn no_steps() -> Failure {
    usage(
        "--steps is for searches, and this is a sweep over values".to_owned(),
        "leave it out: a sweep makes the runs of its values",
    )
}

/// The values as numbers, and what follows all of them.
fn numbers(list: &str) -> Result<(Vec<f64>, String), Failure> {
    let mut values = Vec::new();
    let mut unit: Option<&str> = None;
    for text in list.split(',').map(str::trim) {
        let (value, own) = leading_number(text).ok_or_else(|| {
            usage(
                format!("`{text}` in --over is not a number"),
                "give numbers, as in connections=1,2,4,8; an experiment compares words and combinations",
            )
        })?;
        match unit {
            Some(unit) if unit != own => {
                return Err(usage(
                    format!("`{text}` in --over has not the unit of the value before it"),
                    "give all values the same unit, as in timeout=100ms,200ms,400ms",
                ));
            }
            _ => unit = Some(own),
        }
        values.push(value);
    }
    Ok((values, unit.unwrap_or_default().to_owned()))
}

/// The plan with this value.
fn accepted(
    setting: &LoadSetting,
    value: f64,
    args: &CapacityArgs,
    text: &Text,
) -> Result<Plan, Failure> {
    let (key, value) = setting.setting(value);
    let sets = [&args.sets.sets[..], &[(key, value.clone())]].concat();
    let (compiled, diagnostics) = source::try_compile(text, &sets);
    let Some(compiled) = compiled else {
        let errors = diagnostics.into_iter().filter(|d| d.severity == Severity::Error);
        source::print_diagnostics(text, &errors.collect::<Vec<_>>());
        return Err(Failure::hinted(
            Exit::Data,
            format!("`{value}` cannot be a value of `{}`: the scenario rejects it", setting.path),
            "--over takes a parameter, or keys joined by dots, as --set does",
        ));
    };
    Ok(compiled.plan)
}

/// Requires a closed load. An open load follows its own rate, whatever the target is capable of.
fn closed(plan: &Plan) -> Result<(), Failure> {
    let mut phases = plan.arrivals().flatten().flat_map(plan::Phase::parts);
    match phases.find(|phase| phase.is_open()) {
        Some(phase) => Err(Failure::hinted(
            Exit::Data,
            format!(
                "users of the phase `{}` come at a rate of their own, so throughput would not show which value is best",
                phase.name
            ),
            "give --over a scenario with a fixed number of users, such as `users: 64`",
        )),
        None => Ok(()),
    }
}

fn refused(error: &SweepError) -> Failure {
    let hint = match error {
        SweepError::Single => "give two or more, as in connections=1,2,4,8; four allow a law",
        SweepError::Unsorted { .. } => "sort them, and give each once",
        _ => "give positive numbers, as in connections=1,2,4,8",
    };
    usage(format!("--over: {error}"), hint)
}

fn usage(message: String, hint: &'static str) -> Failure {
    Failure::hinted(Exit::Usage, message, hint)
}
