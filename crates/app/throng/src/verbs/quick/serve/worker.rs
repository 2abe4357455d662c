//! `throng serve worker`.

use std::io::Write;
use std::time::Duration;

use targets::worker::{self, Cpu, Fault, Pace, WorkerOptions};

use super::{failed, listening, server_options, stop};
use crate::args::worker::{CpuArg, FaultArg, WorkerArgs};
use crate::exit::{Exit, Failure};

pub(super) fn worker(args: &WorkerArgs) -> Result<Exit, Failure> {
    let report =
        worker::run(options(args), stop(&args.listen), Box::new(listening)).map_err(failed)?;
    if !args.listen.until_stdin_closes {
        // The last line is for people; nobody may read it.
        let _ = writeln!(
            std::io::stderr(),
            "worker stopped: {} requests done, {} failed, {} refused",
            report.done,
            report.failed,
            report.refused,
        );
    }
    Ok(Exit::Passed)
}

pub(super) fn options(args: &WorkerArgs) -> WorkerOptions {
    let mut options = WorkerOptions::default();
    options.server = server_options(options.server, &args.listen, args.threads);
    let name = |given: &Option<String>, default| given.clone().unwrap_or(default);
    options.name = name(&args.name, options.name);
    options.region = name(&args.region, options.region);
    if let Some(dist) = &args.service_time {
        options.service_time = dist.clone();
    }
    options.cpu = match args.cpu {
        CpuArg::Burn => Cpu::Burn,
        CpuArg::Wait => Cpu::Wait,
    };
    options.concurrency = args.concurrency.unwrap_or(options.concurrency);
    options.queue = args.queue.unwrap_or(options.queue);
    options.pace = pace(args, options.pace);
    options.error_rate = args.error_rate.unwrap_or(options.error_rate);
    options.on_usr1 = args.on_usr1.map(fault);
    options.on_usr2 = args.on_usr2.map(fault);
    let by_signal = [options.on_usr1, options.on_usr2].contains(&Some(Fault::Errors));
    options.errors_from = args.errors_from.unwrap_or(match by_signal {
        true => Duration::MAX,
        false => options.errors_from,
    });
    options.restart_from = args.restart_from;
    options.restart_for = args.restart_for.unwrap_or(options.restart_for);
    options.seed = args.seed.unwrap_or(options.seed);
    options
}

fn fault(arg: FaultArg) -> Fault {
    match arg {
        FaultArg::Slow => Fault::Slow,
        FaultArg::Freeze => Fault::Freeze,
        FaultArg::Errors => Fault::Errors,
        FaultArg::Restart => Fault::Restart,
    }
}

fn pace(args: &WorkerArgs, mut pace: Pace) -> Pace {
    pace.speed = args.speed.unwrap_or(pace.speed);
    pace.slow_from = args.slow_from;
    pace.slow_factor = args.slow_factor.unwrap_or(pace.slow_factor);
    pace.freeze_from = args.freeze_from;
    pace.freeze_for = args.freeze_for.unwrap_or(pace.freeze_for);
    pace.warm_up = args.warm_up.unwrap_or(pace.warm_up);
    pace.cold_speed = args.cold_speed.unwrap_or(pace.cold_speed);
    pace
}
