//! What a store can do by itself: connections that call the procedure of a prediction, each as fast as it can.
//!
//! `bare_client URL CONNECTIONS SECONDS`, on the database of a market that has open pools. It prints predictions per
//! second, and the mean time of one in milliseconds.

use std::io::Write;
use std::time::{Duration, Instant};

use server::database::{DatabaseKind, ServerAddress, Sql, SqlError, StoreAddress, Value, connect};

/// How long a statement may take.
const WAIT: Duration = Duration::from_secs(10);
/// Users of each connection, so that no two wait for each other's account.
const USERS: usize = 16;

type Failure = Box<dyn std::error::Error + Send + Sync>;

fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [url, connections, seconds] = &args[..] else {
        return Err("usage: bare_client URL CONNECTIONS SECONDS".into());
    };
    let StoreAddress::Server(address) = StoreAddress::parse(url)? else {
        return Err("the store must be a database server".into());
    };
    let time = Duration::from_secs(seconds.parse()?);
    let connections: usize = connections.parse()?;
    let threads: Vec<_> = (0..connections)
        .map(|number| {
            let address = address.clone();
            std::thread::spawn(move || play(&address, number, time))
        })
        .collect();
    let mut count = 0;
    for thread in threads {
        count += thread.join().map_err(|_| "a thread crashed")??;
    }
    let per_s = count as f64 / time.as_secs_f64();
    let mean_ms = 1e3 * connections as f64 / per_s;
    writeln!(std::io::stdout(), "{per_s:.1} {mean_ms:.3}")?;
    Ok(())
}

/// Predicts until the time is over; returns the number of predictions that were accepted.
fn play(address: &ServerAddress, number: usize, time: Duration) -> Result<u64, Failure> {
    let mut sql = connect(address, "bare-client", WAIT)?;
    let call = match sql.kind() {
        DatabaseKind::Postgres => {
            "SELECT v_verdict, v_balance, v_opened, v_open FROM market_predict(?, ?, ?, ?, ?, ?, ?)"
        }
        _ => "CALL market_predict(?, ?, ?, ?, ?, ?, ?)",
    };
    let games = sql.rows("SELECT id, open_pool FROM market_games", &[])?;
    let mut count = 0;
    let mut turn = number;
    // A bench: this is its clock.
    #[expect(clippy::disallowed_methods, reason = "this measures")]
    let start = Instant::now();
    while start.elapsed() < time {
        let game = &games[turn % games.len()];
        let name = format!("nbare-{number}-{}", turn % USERS).into_bytes();
        turn += 1;
        let values = [
            game[1].clone(),
            game[0].clone(),
            Value::Bytes(name),
            Value::Int(0),
            Value::Int(1),
            Value::Int(1_000_000_000),
            Value::Int(1),
        ];
        count += u64::from(accepted(&mut *sql, call, &values)?);
    }
    Ok(count)
}

fn accepted(sql: &mut dyn Sql, call: &str, values: &[Value]) -> Result<bool, SqlError> {
    let rows = sql.rows(call, values)?;
    Ok(rows.first().and_then(|row| row.first()) == Some(&Value::Int(1)))
}
