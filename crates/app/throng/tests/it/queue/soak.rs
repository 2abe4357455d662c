//! Clients at random, while middlewares, database and connections die.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use postgres::NoTls;
use rustix::process::{Pid, Signal, kill_process};
use testkit::queue_client::{Client, Failure, NO_QUEUE, STOPPING, UNAVAILABLE, UNKNOWN_OUTCOME};
use testkit::services::Services;

use super::accounts::{Account, Ending, Popped, Sent, Span};
use crate::support::{Database, Relay, Running, throng};

const CLIENTS: u32 = 64;
const QUEUES: u32 = 6;
const RECEIVERS: u32 = 8;
/// Operations of all clients, unless the environment says otherwise.
const OPERATIONS: usize = 3_000;
const OPERATIONS_VARIABLE: &str = "THRONG_QUEUE_SOAK";
/// Between two faults.
const CALM: Duration = Duration::from_millis(300);

/// A middleware that can be killed, and is then started again on its address.
struct Middleware {
    running: Running,
    address: SocketAddr,
    store: String,
}

/// Numbers that look random (xorshift).
struct Random(u64);

/// What a client does.
struct User<'a> {
    number: u32,
    random: Random,
    addresses: [SocketAddr; 2],
    client: Option<Client>,
    begin: Instant,
    account: Account,
    texts: u32,
    shared: &'a Shared,
}

#[derive(Default)]
struct Shared {
    operations: AtomicUsize,
    is_over: AtomicBool,
}

/// Ends the users when it is dropped, also by a panic.
struct EndsUsers<'a>(&'a Shared);

impl Middleware {
    /// Starts one, unless the database is not there.
    fn start(store: &str, listen: &str) -> Option<Middleware> {
        let mut command = throng(["serve", "queue", "--until-stdin-closes", "--listen", listen]);
        command.args(["--store", store, "--connections", "6", "--store-wait", "2s"]);
        command.args(["--wait", "notify"]).stdin(Stdio::piped());
        let mut running = Running::start(&mut command);
        let line = running.line_unless_ended()?;
        let address = line.trim_end().strip_prefix("listening on tcp://");
        Some(Middleware {
            address: address.unwrap().parse().unwrap(),
            running,
            store: store.to_owned(),
        })
    }

    fn restart(&mut self) {
        self.running.kill();
        let address = self.address.to_string();
        *self = eventually(|| Middleware::start(&self.store, &address));
    }
}

impl Drop for EndsUsers<'_> {
    fn drop(&mut self) {
        self.0.is_over.store(true, Ordering::Relaxed);
    }
}

impl Random {
    fn below(&mut self, most: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        u32::try_from(self.0 % u64::from(most)).unwrap()
    }
}

impl User<'_> {
    fn run(mut self) -> Account {
        while !self.shared.is_over.load(Ordering::Relaxed) {
            self.step();
        }
        self.account
    }

    fn step(&mut self) {
        let queue = 1 + self.random.below(QUEUES);
        let receiver = 1 + self.number % RECEIVERS;
        let action = self.random.below(100);
        if action < 45 {
            self.send(queue);
        } else if action < 85 {
            let wait_ms = if self.random.below(10) == 0 { 50 } else { 0 };
            self.pop(queue, receiver, wait_ms);
        } else {
            // However it ends.
            let _ = self.request(|client| match action {
                85..90 => client.peek(queue, receiver).map(drop),
                90..93 => client.queues(receiver, 0).map(drop),
                93..96 => client.messages(receiver, receiver, 5).map(drop),
                _ => client.echo(b"echo").map(|echoed| assert_eq!(echoed, b"echo")),
            });
        }
    }

    fn send(&mut self, queue: u32) {
        self.texts += 1;
        let text = format!("{} of {}", self.texts, self.number);
        let sender = 1 + self.number;
        let receiver = match self.random.below(2) {
            0 => 0,
            _ => 1 + self.random.below(RECEIVERS),
        };
        let (span, ending) = self.request(|client| client.send(queue, sender, receiver, &text));
        self.account.sent.push(Sent { queue, sender, receiver, text, span, ending });
    }

    fn pop(&mut self, queue: u32, receiver: u32, wait_ms: u32) {
        let (span, ending) = self.request(|client| client.pop(queue, receiver, wait_ms));
        self.account.popped.push(Popped { queue, receiver, span, ending });
    }

    fn request<T>(
        &mut self,
        request: impl FnOnce(&mut Client) -> Result<T, Failure>,
    ) -> (Span, Ending<T>) {
        let start = self.begin.elapsed();
        let ending = match self.connected() {
            Some(client) => match request(client) {
                Ok(answer) => Ending::Answered(answer),
                Err(Failure::Code(UNAVAILABLE, _)) => {
                    pause(Duration::from_millis(20));
                    Ending::Refused
                }
                Err(Failure::Code(UNKNOWN_OUTCOME, _)) => Ending::Unknown,
                Err(Failure::Code(STOPPING, _)) => {
                    self.client = None;
                    Ending::Refused
                }
                Err(Failure::Code(code, text)) => {
                    assert_ne!(code, NO_QUEUE, "a queue is gone");
                    panic!("error {code}: {text}");
                }
                Err(Failure::Broken(_)) => {
                    self.client = None;
                    Ending::Unknown
                }
            },
            None => Ending::Refused,
        };
        let end = self.begin.elapsed();
        // Refusals come as fast as they are wanted.
        if !matches!(ending, Ending::Refused) {
            self.shared.operations.fetch_add(1, Ordering::Relaxed);
        }
        (Span { start, end }, ending)
    }

    fn connected(&mut self) -> Option<&mut Client> {
        if self.client.is_none() {
            let address = self.addresses[self.random.below(2) as usize];
            self.client = Client::connect(address).ok();
        }
        if self.client.is_none() {
            pause(Duration::from_millis(20));
        }
        self.client.as_mut()
    }
}

fn pause(time: Duration) {
    // Nobody sends.
    let (_sender, receiver) = channel::<()>();
    let _ = receiver.recv_timeout(time);
}

/// Does this until it succeeds: the database may just be starting.
fn eventually<T>(mut attempt: impl FnMut() -> Option<T>) -> T {
    for _ in 0..400 {
        if let Some(done) = attempt() {
            return done;
        }
        pause(Duration::from_millis(50));
    }
    panic!("it did not succeed within 20 s");
}

/// Has a session of the middlewares ended by the server, or killed, whereupon the server restarts.
fn end_session(database: &Database, is_killed: bool) {
    let own = "FROM pg_stat_activity WHERE application_name = 'throng-queue' AND datname = current_database()";
    eventually(|| {
        let mut client = postgres::Client::connect(&database.url, NoTls).ok()?;
        if !is_killed {
            let end = format!("SELECT pg_terminate_backend(pid) {own} ORDER BY random() LIMIT 3");
            return client.query(&end, &[]).ok().filter(|ended| !ended.is_empty()).map(drop);
        }
        let pid = client.query_opt(&format!("SELECT pid {own} LIMIT 1"), &[]).ok()??;
        let pid = Pid::from_raw(pid.get(0))?;
        kill_process(pid, Signal::KILL).ok()
    });
}

/// One fault after the other until there were enough operations; how many of each there were.
fn disturb(
    shared: &Shared,
    operations: usize,
    (relay, database): (&Relay, &Database),
    middlewares: &mut [Middleware; 2],
) -> BTreeMap<&'static str, u32> {
    let mut faults = BTreeMap::new();
    for round in 0.. {
        pause(CALM);
        let fault = match round % 4 {
            0 => {
                middlewares[0].restart();
                "middleware killed"
            }
            1 => {
                end_session(database, false);
                "sessions ended"
            }
            2 => {
                relay.cut();
                pause(CALM / 3);
                relay.restore();
                "connections cut"
            }
            _ => {
                end_session(database, true);
                "database restarted"
            }
        };
        *faults.entry(fault).or_default() += 1;
        let is_enough = shared.operations.load(Ordering::Relaxed) >= operations;
        if round >= 3 && is_enough {
            break;
        }
    }
    pause(CALM);
    faults
}

/// Has all clients work until `disturbing` says that it is over; what it returns, and what they did.
fn with_users<T>(
    shared: &Shared,
    addresses: [SocketAddr; 2],
    begin: Instant,
    disturbing: impl FnOnce() -> T,
) -> (T, Account) {
    std::thread::scope(|scope| {
        let user = move |number| User {
            number,
            random: Random(0x9e37_79b9_7f4a_7c15 ^ u64::from(number + 1)),
            addresses,
            client: None,
            begin,
            account: Account::default(),
            texts: 0,
            shared,
        };
        let users = (0..CLIENTS).map(|number| scope.spawn(move || user(number).run()));
        let users: Vec<_> = users.collect();
        let over = EndsUsers(shared);
        let done = disturbing();
        drop(over);
        let mut whole = Account::default();
        for user in users {
            let own = user.join().unwrap();
            whole.sent.extend(own.sent);
            whole.popped.extend(own.popped);
        }
        (done, whole)
    })
}

#[test]
#[expect(clippy::disallowed_methods, reason = "which request came before which is what is tested")]
fn nothing_is_lost_doubled_or_invented_whatever_dies() {
    // Sessions are killed, after which a server ends all others.
    let Some(services) = Services::start(&["postgres"]) else {
        return;
    };
    let Some(database) = Database::on(&services, "postgres", "queue_soak") else {
        return;
    };
    let operations = std::env::var(OPERATIONS_VARIABLE);
    let operations = operations.map_or(OPERATIONS, |text| text.parse().unwrap());
    let (account, server) = database.url.rsplit_once('@').unwrap();
    let (server, name) = server.split_once('/').unwrap();
    let relay = Relay::to(server.parse().unwrap());
    let store = format!("{account}@{}/{name}", relay.address);
    let mut middlewares = [0, 1].map(|_| Middleware::start(&store, "127.0.0.1:0").unwrap());
    let addresses = [0, 1].map(|number: usize| middlewares[number].address);
    let mut client = Client::connect(addresses[0]).unwrap();
    for number in 1..=QUEUES {
        assert_eq!(client.create(1).unwrap(), number);
    }
    let shared = Shared::default();
    let begin = Instant::now();
    let disturbing = || disturb(&shared, operations, (&relay, &database), &mut middlewares);
    let (faults, mut whole) = with_users(&shared, addresses, begin, disturbing);
    // What was cut off may still be at work.
    drop(middlewares);
    let mut reader = eventually(|| postgres::Client::connect(&database.url, NoTls).ok());
    eventually(|| {
        let others = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'throng-queue' AND datname = current_database()";
        let count: i64 = reader.query_one(others, &[]).unwrap().get(0);
        (count == 0).then_some(())
    });
    for row in reader.query("SELECT id, message FROM message", &[]).unwrap() {
        whole.left.push((row.get::<_, i64>(0).unsigned_abs(), row.get(1)));
    }
    let sums = whole.settle();
    // The faults met requests in flight, and work went on.
    assert!(sums.sends_unknown + sums.pops_unknown > 0, "{sums:?}");
    assert!(sums.pops_of_a_message > operations / 20, "{sums:?}");
    assert_eq!(faults.len(), 4);
    if let Some(file) = std::env::var_os("THRONG_QUEUE_SOAK_REPORT") {
        let mut file = fs::File::options().create(true).append(true).open(file).unwrap();
        writeln!(file, "{faults:?} {sums:#?}").unwrap();
    }
}
