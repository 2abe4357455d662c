//! `throng serve queue`.

use std::io::Write;

use queue::{Fill, Index, PopLocking, QueueError, QueueOptions, SetUp, Wait};
use server::database::{DatabaseKind, ServerAddress, StoreAddress};

use super::{given, listening_as, server_options, stop};
use crate::args::queue::{IndexArg, LimitArgs, PopArg, QueueArgs, StoreArgs, SwitchArg, WaitArg};
use crate::exit::{Exit, Failure};

pub(super) fn queue(args: &QueueArgs) -> Result<Exit, Failure> {
    let options = options(args)?;
    if args.store.init || args.store.drop {
        let set_up = SetUp {
            drops: args.store.drop,
            inits: args.store.init,
        };
        queue::set_up(&options, set_up, stop(&args.listen)).map_err(failed)?;
        return Ok(Exit::Passed);
    }
    let listening = |address| listening_as("tcp", address);
    let report = queue::run(options, stop(&args.listen), listening).map_err(failed)?;
    if !args.listen.until_stdin_closes {
        // The last line is for people; nobody may read it.
        let _ = writeln!(
            std::io::stderr(),
            "queue stopped: {} connections, {} requests answered, {} with an error",
            report.connections,
            report.done + report.failed,
            report.failed,
        );
    }
    Ok(Exit::Passed)
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
            without: args.without_index.map(|index| match index {
                IndexArg::Queue => Index::Queue,
                IndexArg::Receiver => Index::Receiver,
                IndexArg::Sender => Index::Sender,
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
