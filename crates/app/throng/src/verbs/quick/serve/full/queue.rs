//! `throng serve queue`.

use std::io::Write;

use queue::{Fill, Index, PopLocking, QueueError, QueueOptions, Report, SetUp, Wait};
use server::database::{DatabaseKind, ServerAddress, StoreAddress};
use server::{ServerError, Stop};

use super::addresses::given;
use super::{listening_as, processes, server_options, stop};
use crate::args::queue::{IndexArg, LimitArgs, PopArg, QueueArgs, StoreArgs, SwitchArg, WaitArg};
use crate::exit::{Exit, Failure};

pub(crate) fn queue(args: &QueueArgs) -> Result<Exit, Failure> {
    let options = options(args)?;
    if args.store.init || args.store.drop {
        let set_up = SetUp { drops: args.store.drop, inits: args.store.init };
        queue::set_up(&options, set_up, stop(&args.listen)).map_err(failed)?;
        return Ok(Exit::Passed);
    }
    let figures = serve(args, options)?;
    let [connections, done, errors] = figures[..] else {
        return Ok(Exit::Passed);
    };
    if !args.listen.until_stdin_closes {
        // The last line is for people; nobody may read it.
        let _ = writeln!(
            std::io::stderr(),
            "queue stopped: {connections} connections, {} requests answered, {errors} with an error",
            done + errors,
        );
    }
    Ok(Exit::Passed)
}

/// Serves in this process, or in several that share the address; the figures are those of all.
fn serve(args: &QueueArgs, mut options: QueueOptions) -> Result<Vec<u64>, Failure> {
    let listening = |address| listening_as("tcp", address);
    if let Some((_, address)) = &args.process.process_of {
        options.server.listen = *address;
        options.server.shared_port = true;
        // The process that started this one has filled the store.
        options.fill = None;
        let report =
            queue::run(options, Stop::SignalOrStdin, Box::new(listening)).map_err(failed)?;
        let figures = figures(report);
        processes::report_end(&figures);
        return Ok(Vec::new());
    }
    let refused = |rule| Err(failed(ServerError::Options(rule).into()));
    match args.processes.unwrap_or(1) {
        0 | processes::OVER.. => refused(processes::RULE),
        1 => {
            let report =
                queue::run(options, stop(&args.listen), Box::new(listening)).map_err(failed)?;
            Ok(figures(report))
        }
        _ if options.store.is_none() => {
            refused("processes need a store: in memory each would have messages of its own")
        }
        _ if options.metrics.is_some() => {
            refused("metrics are of one process: start several with an address of their own each")
        }
        count => {
            options.check().map_err(|error| failed(error.into()))?;
            let inits = SetUp { drops: false, inits: true };
            queue::set_up(&options, inits, stop(&args.listen)).map_err(failed)?;
            processes::run(
                &processes::group(),
                count.into(),
                options.server.listen,
                stop(&args.listen),
                processes::OnCrash::Restart,
                listening,
            )
        }
    }
}

/// Final figures of a middleware; those of several processes are added up.
fn figures(report: Report) -> Vec<u64> {
    vec![report.connections, report.done, report.failed]
}

fn options(args: &QueueArgs) -> Result<QueueOptions, Failure> {
    let mut options = QueueOptions::default();
    options.server = server_options(options.server, &args.listen, args.frontends);
    options.metrics = args.metrics;
    store_options(&mut options, &args.store)?;
    limit_options(&mut options, &args.limits);
    options.wait = match args.wait {
        WaitArg::Notify => Wait::Notify,
        WaitArg::Poll => Wait::Poll,
    };
    options.poll_every = args.poll_every.unwrap_or(options.poll_every);
    options.timing = args.timing == SwitchArg::On;
    Ok(options)
}

fn store_options(options: &mut QueueOptions, args: &StoreArgs) -> Result<(), Failure> {
    options.store = args.store.as_deref().map(store).transpose()?.flatten();
    options.connections = args.connections.unwrap_or(options.connections);
    options.store_wait = args.store_wait.unwrap_or(options.store_wait);
    options.pop = match args.pop {
        PopArg::Lock => PopLocking::Lock,
        PopArg::Skip => PopLocking::Skip,
    };
    options.durable = args.durable == SwitchArg::On;
    options.fill = args.fill.map(|messages| {
        let fill = Fill::default();
        Fill {
            messages,
            queues: args.queues.unwrap_or(fill.queues),
            length: args.length.unwrap_or(fill.length),
            receivers: args.receivers.unwrap_or(fill.receivers),
            without: args.without_index.and_then(|index| match index {
                IndexArg::None => None,
                IndexArg::Queue => Some(Index::Queue),
                IndexArg::Receiver => Some(Index::Receiver),
                IndexArg::Sender => Some(Index::Sender),
            }),
        }
    });
    Ok(())
}

fn limit_options(options: &mut QueueOptions, args: &LimitArgs) {
    options.queue_max = args.queue_max.unwrap_or(options.queue_max);
    options.payload_max = args.payload_max.unwrap_or(options.payload_max);
    options.connections_max = args.connections_max.unwrap_or(options.connections_max);
    options.frame_timeout = args.frame_timeout.unwrap_or(options.frame_timeout);
    options.write_timeout = args.write_timeout.unwrap_or(options.write_timeout);
}

/// A PostgreSQL server; `memory` is none.
fn store(text: &str) -> Result<Option<ServerAddress>, Failure> {
    let text = given(text)?;
    if text == "memory" {
        return Ok(None);
    }
    let address = StoreAddress::parse(&text).map_err(|error| Failure::new(Exit::Usage, error))?;
    match address {
        StoreAddress::Server(server) if server.kind() == DatabaseKind::Postgres => Ok(Some(server)),
        other => Err(Failure::hinted(
            Exit::Usage,
            format!("{other} is not the address of a PostgreSQL server"),
            "--store expects postgres://… or memory",
        )),
    }
}

fn failed(error: QueueError) -> Failure {
    match error {
        QueueError::Server(error) => super::failed(error),
        QueueError::Fill { .. } => Failure::new(Exit::Usage, error),
        error => Failure::new(Exit::Unavailable, error),
    }
}
