//! `throng serve market`.

use std::io::Write;
use std::path::Path;

use market::{
    Backing, Broadcast, ClaimSet, Claims, Driver, Listing, MarketError, MarketOptions, MarketPart,
    Queries, QuestionRule, REPLAY_FILE_MAX, Replay, Report, RuleError,
};
use server::{ServerError, Stop, TlsFiles};

use super::{full, listening_as, or_never, processes, read_text, server_options, stop};
use crate::args::market::{
    BackingArgs, BatchClaimArg, BroadcastArg, ClaimSetArg, DriverArg, ListingArg, MarketArgs,
    PartArg, QueriesArg,
};
use crate::exit::{Exit, Failure};

pub(super) fn market(args: &MarketArgs) -> Result<Exit, Failure> {
    let mut options = options(args)?;
    let scheme = match options.server.tls {
        Some(_) => "https",
        None => "http",
    };
    let listening = move |address| listening_as(scheme, address);
    if let Some((_, address)) = &args.process.process_of {
        options.server.listen = *address;
        options.server.shared_port = true;
        if args.process.process_number != Some(0) && options.part == MarketPart::All {
            // One feed and one resolver are enough.
            options.part = MarketPart::Api;
        }
        let report =
            market::run(options, Stop::SignalOrStdin, Box::new(listening)).map_err(failed)?;
        processes::report_end(&figures(report));
        return Ok(Exit::Passed);
    }
    let figures = match args.processes.unwrap_or(1) {
        0 | processes::OVER.. => {
            return Err(failed(ServerError::Options(processes::RULE).into()));
        }
        1 => {
            figures(market::run(options, stop(&args.listen), Box::new(listening)).map_err(failed)?)
        }
        count => {
            options.server.shared_port = true;
            options.check().map_err(|error| failed(error.into()))?;
            processes::run(
                &processes::group(),
                count.into(),
                options.server.listen,
                stop(&args.listen),
                processes::OnCrash::Restart,
                listening,
            )?
        }
    };
    let [predictions, pools_settled, balanced, unbalanced] = figures[..] else {
        return Ok(Exit::Passed);
    };
    if !args.listen.until_stdin_closes {
        let money = match (balanced, unbalanced) {
            (0, 0) => "not counted",
            (_, 0) => "balanced",
            _ => "NOT balanced",
        };
        // The last line is for people; nobody may read it.
        let _ = writeln!(
            std::io::stderr(),
            "market stopped: {predictions} predictions, {pools_settled} pools settled, money {money}",
        );
    }
    Ok(Exit::Passed)
}

/// Final figures of a market; those of several processes are added up. The last two are how many
/// counted the money and found it balanced, and not.
fn figures(report: Report) -> Vec<u64> {
    vec![
        report.predictions,
        report.pools_settled,
        u64::from(report.balanced == Some(true)),
        u64::from(report.balanced == Some(false)),
    ]
}

fn options(args: &MarketArgs) -> Result<MarketOptions, Failure> {
    let mut options = MarketOptions::default();
    options.server = server_options(options.server, &args.listen, args.threads);
    options.server.connections = args.connections.unwrap_or(0);
    options.part = match args.part {
        None => MarketPart::All,
        Some(PartArg::Api) => MarketPart::Api,
        Some(PartArg::Events) => MarketPart::Events,
        Some(PartArg::Resolver) => MarketPart::Resolver,
        Some(PartArg::Relay) => MarketPart::Relay,
    };
    let files = args.tls_cert.clone().zip(args.tls_key.clone());
    options.server.tls = files.map(|(certificate, key)| TlsFiles { certificate, key });
    options.backing = backing(&args.backing)?;
    options.upstream = args.upstream.clone();
    if options.backing.driver == Driver::Blocking && args.threads.is_none() {
        options.server.threads = 1;
    }
    options.games = args.games.unwrap_or(options.games);
    options.questions = args.questions.unwrap_or(options.questions);
    options.rules = args.rules.iter().map(|text| question_rule(text)).collect::<Result<_, _>>()?;
    options.admin_token = args.admin_token.as_deref().map(token).transpose()?;
    options.has_feed = !args.no_feed;
    options.batch = args.batch.unwrap_or(options.batch);
    options.broadcast_size = args.broadcast_size.unwrap_or(options.broadcast_size);
    options.broadcast = match args.broadcast {
        BroadcastArg::Batched => Broadcast::Batched,
        BroadcastArg::Each => Broadcast::Each,
    };
    options.pools = listing(args.pools);
    options.distribution = listing(args.distribution);
    options.delay = args.delay.unwrap_or(options.delay);
    options.delay_share = args.delay_share.unwrap_or(options.delay_share);
    options.goal_every = args.goal_every.unwrap_or(options.goal_every);
    options.starting_balance = args.starting_balance.unwrap_or(options.starting_balance);
    options.seed = args.seed.unwrap_or(options.seed);
    options.speed = args.speed.unwrap_or(options.speed);
    options.connection_life = args.connection_life;
    options.ping_after = or_never(args.ping_after, options.ping_after);
    if let Some(path) = &args.replay {
        options.replay = Some(replay(path, options.games)?);
    }
    Ok(options)
}

fn backing(args: &BackingArgs) -> Result<Backing, Failure> {
    let mut backing = full::backing(args)?;
    backing.ledger_alone = args.ledger_alone.unwrap_or(backing.ledger_alone);
    backing.store_connections = args.store_connections.unwrap_or(backing.store_connections);
    backing.wait = args.store_wait.unwrap_or(backing.wait);
    backing.driver = match args.driver {
        DriverArg::Async => Driver::Async,
        DriverArg::Blocking => Driver::Blocking,
    };
    backing.queries = match args.queries {
        QueriesArg::Pipelined => Queries::Pipelined,
        QueriesArg::Sequential => Queries::Sequential,
    };
    backing.claims = match (args.batch_claim, args.claim_set) {
        (BatchClaimArg::Atomic, _) => Claims::Atomic,
        (BatchClaimArg::Racing, ClaimSetArg::Early) => Claims::Racing(ClaimSet::Early),
        (BatchClaimArg::Racing, ClaimSetArg::Late) => Claims::Racing(ClaimSet::Late),
    };
    Ok(backing)
}

fn question_rule(text: &str) -> Result<QuestionRule, Failure> {
    let rule = text.parse();
    rule.map_err(|error: RuleError| {
        Failure::hinted(
            Exit::Usage,
            format!("--rule '{text}': {error}"),
            "docs/market.md shows rules",
        )
    })
}

/// A word, or with `env:` what a variable of the environment says.
fn token(text: &str) -> Result<String, Failure> {
    let Some(name) = text.strip_prefix("env:") else {
        return Ok(text.to_owned());
    };
    std::env::var(name).map_err(|_| {
        let message = format!("the environment variable {name} of --admin-token is not set");
        Failure::hinted(Exit::Usage, message, "set it, or write the token itself")
    })
}

fn failed(error: MarketError) -> Failure {
    match error {
        MarketError::Server(error) => super::failed(error),
        error => Failure::new(Exit::Unavailable, error),
    }
}

fn listing(arg: ListingArg) -> Listing {
    match arg {
        ListingArg::Lean => Listing::Lean,
        ListingArg::Full => Listing::Full,
    }
}

fn replay(path: &Path, games: u32) -> Result<Replay, Failure> {
    let text = read_text(path, REPLAY_FILE_MAX, "--replay expects a file of JSON lines")?;
    Replay::read(&text, games).map_err(|error| {
        Failure::hinted(
            Exit::Data,
            format!("{}, {error}", path.display()),
            "docs/market.md describes the file",
        )
    })
}
