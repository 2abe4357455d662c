//! Every example is run, shortened.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::process::Command;

use testkit::needs::skip;

use crate::support::{Ended, Served, Space, root, server, throng};

/// Runs an example with these overrides: it must pass, and all its users must have connected.
#[track_caller]
fn passes(name: &str, sets: &[&str], users: u64) -> Space {
    let space = Space::new();
    let mut command = space.run(&[]);
    command.arg(root().join("examples").join(name));
    for set in sets {
        command.args(["--set", set]);
    }
    Ended::of(&mut command).with(0);
    let summary = space.summary();
    assert_eq!((summary.users.started, summary.users.connected), (users, users));
    assert!(!summary.thresholds.is_empty());
    space
}

/// Football: what fans take their time for, shortened; how fast answers must come, loosened, for
/// the machine is busy with other tests.
const HURRY: [&str; 4] = [
    "sessions.fan.2.think=10ms..50ms",
    "sessions.fan.5.forever.0.think=50ms..1s",
    "thresholds.2=p98(request) < 10s",
    "thresholds.3=p98(broadcast) < 10s",
];

#[test]
fn football_quick() {
    let sets = ["arrivals.0.constant=40/s", "arrivals.0.for=1s", "hold=1s"];
    passes("football-quick.yaml", &[&sets, &HURRY[..]].concat(), 40);
}

#[test]
fn football_final() {
    // As many at once as it says, for a second.
    let sets = ["arrivals.0.for=1s", "hold=1s"];
    passes("football-final.yaml", &[&sets, &HURRY[..]].concat(), 120);
}

#[test]
fn football_million() {
    // One of the million's 200 seconds, and a tenth of its rate.
    let sets =
        ["arrivals.0.constant=500/s", "arrivals.0.for=1s", "hold=1s", "target.market.threads=2"];
    passes("football-million.yaml", &[&sets, &HURRY[..]].concat(), 500);
}

#[test]
fn market_distributions() {
    for distribution in ["lean", "full"] {
        let distribution = format!("target.market.distribution={distribution}");
        let sets =
            [&distribution, "users=40", "hold=4s", "sessions.fan.3.forever.0.think=50ms..1s"];
        let space = passes("market/distributions.yaml", &sets, 40);
        let measures = space.summary().measures;
        let broadcast = measures.iter().find(|measure| measure.name == "broadcast").unwrap();
        assert!(broadcast.count > 40 && broadcast.errors == 0, "{broadcast:?}");
    }
}

#[test]
fn market_questions() {
    let sets = ["rate=20/s", "hold=5s", "options.drain=30s", "target.market.goal-every=2s"];
    let space = passes("market/questions.yaml", &sets, 100);
    let measures = space.summary().measures;
    for name in ["pose", "questions", "befriend", "friends", "predict", "decide"] {
        let measure = measures.iter().find(|measure| measure.name == name);
        assert!(measure.is_some_and(|measure| measure.count > 0), "{name}: {measures:?}");
    }
    // Every cent is in a balance or in an open pool.
    let probes = space.only().probes().unwrap();
    let values = |metric: &str| {
        let place = probes.list.iter().position(|info| info.metric == metric);
        let rows = probes.rows.iter().filter(move |row| Some(row.probe as usize) == place);
        rows.map(|row| row.value).collect::<Vec<f64>>()
    };
    assert!(!values("market_money_total").is_empty());
    assert_eq!(values("market_money_total"), values("market_money_expected"));
}

/// With a database it is run by hand; here it is only checked.
#[test]
fn the_final_on_postgresql_is_right() {
    let mut check = throng(["check", "examples/market/final-postgres.yaml"]);
    let variables = ["URL", "STORE", "CACHE", "NGINX", "API_1", "API_2", "RESOLVER", "EVENTS"];
    for name in variables {
        let url = match name {
            "STORE" => "postgres://a@b/c",
            "CACHE" => "redis://a/",
            _ => "http://a/",
        };
        check.env(format!("MARKET_{name}"), url);
    }
    for name in ["API_1", "API_2", "EVENTS", "RESOLVER", "REDIS"] {
        check.env(format!("MARKET_PID_{name}"), "1");
    }
    Ended::of(check.current_dir(root())).with(0);
}

#[test]
fn queue_quick() {
    passes("queue/quick.yaml", &["arrivals.1.for=1s", "thresholds.1=p99(pop) < 10s"], 8);
}

#[test]
fn queue_clients() {
    for mix in ["read", "write", "mixed", "pop-send", "equal", "queries", "echo"] {
        let mix = format!("mix={mix}");
        passes("queue/clients.yaml", &[&mix, "clients=4", "arrive=100ms", "hold=400ms"], 4);
    }
}

/// What a message of PostgreSQL's protocol has behind its type, by its own length.
fn postgres_body(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 4];
    stream.read_exact(&mut length)?;
    let mut body = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut body)?;
    Ok(body)
}

/// The names and values of a Bind message, of which nothing may be left.
fn bound(body: &[u8]) -> Vec<Option<&[u8]>> {
    let name = |body: &[u8]| body.iter().position(|&byte| byte == 0).unwrap() + 1;
    let rest = &body[name(body)..];
    let mut rest = &rest[name(rest)..];
    let mut take = |count: usize| {
        let (taken, left) = rest.split_at(count);
        rest = left;
        taken
    };
    // One format for all values: binary.
    assert_eq!(take(4), [0, 1, 0, 1]);
    let count = u16::from_be_bytes(take(2).try_into().unwrap());
    let values = (0..count).map(|_| match i32::from_be_bytes(take(4).try_into().unwrap()) {
        -1 => None,
        length => Some(take(length as usize)),
    });
    let values = values.collect();
    // Results as text.
    assert_eq!(take(2), [0, 0]);
    assert!(rest.is_empty(), "{rest:?}");
    values
}

/// The part of PostgreSQL that clients of the queue's database need, message by message.
fn postgres(stream: &mut TcpStream) -> io::Result<()> {
    const READY: &[u8] = b"Z\0\0\0\x05I";
    let startup = postgres_body(stream)?;
    assert_eq!(startup, b"\0\x03\0\0user\0queue\0database\0postgres\0\0");
    stream.write_all(b"R\0\0\0\x08\0\0\0\x03")?;
    let mut answer = Vec::new();
    loop {
        let mut kind = [0];
        stream.read_exact(&mut kind)?;
        let body = postgres_body(stream)?;
        match kind[0] {
            b'p' => {
                assert_eq!(body, b"secret\0");
                stream.write_all(&[&b"R\0\0\0\x08\0\0\0\0"[..], READY].concat())?;
            }
            b'Q' => {
                assert!(body.ends_with(b"\0"));
                stream.write_all(&[&b"C\0\0\0\x08SET\0"[..], READY].concat())?;
            }
            b'P' => {
                // A name, a query, and no types.
                assert_eq!((body[2], &body[body.len() - 3..]), (0, &[0; 3][..]));
                answer.extend(b"1\0\0\0\x04");
            }
            b'B' => {
                assert!(matches!(bound(&body).len(), 2 | 5));
                answer.extend(b"2\0\0\0\x04");
            }
            b'E' => {
                assert_eq!(body, [0; 5]);
                answer.extend(b"C\0\0\0\x0dSELECT 1\0");
            }
            b'S' => {
                assert!(body.is_empty());
                answer.extend(READY);
                stream.write_all(&std::mem::take(&mut answer))?;
            }
            other => panic!("unknown message {other}"),
        }
    }
}

#[test]
fn queue_database_alone() {
    let database = server(|mut stream| postgres(&mut stream));
    for mix in ["read", "write", "pop-send"] {
        let space = Space::new();
        let mut command = space.run(&[]);
        command.arg(root().join("examples/queue/alone-clients.yaml"));
        let mix = format!("mix={mix}");
        for set in [mix.as_str(), "clients=4", "arrive=100ms", "hold=400ms"] {
            command.args(["--set", set]);
        }
        command.env("QUEUE_DATABASE", format!("tcp://{database}")).env("QUEUE_PASSWORD", "secret");
        Ended::of(&mut command).with(0);
        assert_eq!(space.summary().users.started, 4);
    }
}

#[test]
fn queue_stability() {
    let sets = ["target.queue.store=memory", "target.queue.processes=1", "clients=4", "hold=1s"];
    passes("queue/stability.yaml", &sets, 4);
}

#[test]
fn queue_delivery() {
    let sets = ["hold=3s", "thresholds.1=p99(delivery) < 10s"];
    passes("queue/delivery.yaml", &sets, 67);
}

#[test]
fn a_machine_alone() {
    let space = passes("balancer/machine.yaml", &["alone=300ms", "full=500ms"], 20);
    // What of a response was work stands beside it.
    let summary = space.summary();
    for name in ["work", "working", "queueing", "network"] {
        let measure = summary.measures.iter().find(|measure| measure.name == name);
        assert!(measure.is_some_and(|measure| measure.count > 10), "{name}: {measure:?}");
    }
}

#[test]
fn batches_through_a_balancer() {
    for policy in ["source-hash", "prequal"] {
        let policy = format!("target.balancer.policy={policy}");
        let space = passes("balancer/batches.yaml", &[&policy, "users=20", "requests=5"], 20);
        let measures = space.summary().measures;
        let work = measures.iter().find(|measure| measure.name == "work");
        assert_eq!(work.map(|work| (work.count, work.errors)), Some((100, 0)));
    }
}

#[test]
fn a_steady_rate_through_a_balancer_with_workers_of_each_file() {
    let sets = ["rate=50/s", "begin=1s", "window=1s"];
    for workers in ["equal", "speeds"] {
        let workers = format!("target.balancer.workers={workers}.workers");
        let space = Space::new();
        let mut command = space.run(&[]);
        command.arg(root().join("examples/balancer/steady.yaml"));
        for set in sets.iter().copied().chain([workers.as_str()]) {
            command.args(["--set", set]);
        }
        Ended::of(&mut command).with(0);
        let measures = space.summary().measures;
        let work = measures.iter().find(|measure| measure.name == "work");
        assert!(work.is_some_and(|work| work.count > 50 && work.errors == 0), "{measures:?}");
    }
}

#[test]
fn market_probes() {
    let sets = ["arrivals.0.constant=40/s", "arrivals.0.for=2s", "hold=1s"];
    let space = passes("market-probes.yaml", &[&sets, &HURRY[..]].concat(), 80);
    let probes = space.only().probes().unwrap();
    let largest = |role: &str, via: &str, metric: &str| {
        let place = probes
            .list
            .iter()
            .position(|info| info.role == role && info.via == via && info.metric == metric);
        let rows = probes.rows.iter();
        let values = rows.filter(|row| Some(row.probe as usize) == place);
        values.map(|row| row.value).fold(f64::NAN, f64::max)
    };
    assert!(largest("host", "host", "cpu_busy") > 0.0);
    assert!(largest("market", "process", "memory_resident") > 1e6);
    assert!(largest("market", "prometheus", "market_connections") >= 1.0);
    assert!(largest("generator", "probe", "probe_cpu") >= 0.0);
}

#[test]
fn ad_network() {
    let space = Space::new();
    let mut command = space.run(&[]);
    command.arg(root().join("examples/ads/network.yaml"));
    for set in ["length=1s", "think=20ms", "target.ads.long-list=50"] {
        command.args(["--set", set]);
    }
    Ended::of(&mut command).with(0);
    let users = space.summary().users;
    // 36 are expected; who falls due as the second ends may come too late.
    assert!(users.started > 15 && users.connected == users.started, "{users:?}");
}

#[test]
fn http_hello() {
    let stall = Served::start(&["stall", "--stall", "0"]);
    let target = format!("target={}", stall.url);
    let arrivals = "arrivals=[{ constant: 100/s, for: 1s }, { hold: 300ms }]";
    let sets = [&target, arrivals, "thresholds.1=p99(hello) < 10s"];
    passes("http-hello.yaml", &sets, 100);
}

#[test]
fn incident() {
    if Command::new("python3").arg("--version").output().is_err() {
        return skip("examples/incident.py needs python3");
    }
    let shop = Served::script("examples/incident.py");
    let target = format!("target={}", shop.url);
    // It ends long before the incident.
    let sets = [
        &target,
        "arrivals=[{ constant: 40/s, for: 1s }, { hold: 300ms }]",
        "sessions.buyer.1.think=50ms",
        "sessions.buyer.3.think=50ms",
        "thresholds.1=p95(search) < 10s",
        "thresholds.2=p95(checkout) < 10s",
    ];
    passes("incident.yaml", &sets, 40);
}

#[test]
fn grpc_echo() {
    let server = Served::start(&["grpc"]);
    let target = format!("target={}", server.url);
    let arrivals = "arrivals=[{ constant: 40/s, for: 1s }, { hold: 500ms }]";
    let sets = [
        &target,
        arrivals,
        "sessions.caller.1.think=50ms",
        "sessions.caller.0.deadline=10s",
        "thresholds.1=p99(not found) < 10s",
    ];
    passes("grpc/echo.yaml", &sets, 40);
}

#[test]
fn shop() {
    let stall = Served::start(&["stall", "--stall", "0"]);
    let target = format!("target={}", stall.url);
    let arrivals = "arrivals=[{ constant: 40/s, for: 1s, session: customer }, { hold: 500ms }, \
                    { constant: 10/s, for: 1s, session: robot }]";
    let sets = [&target, arrivals, "thresholds.2=p99(search) < 10s"];
    passes("shop.yaml", &sets, 50);
}

/// It ends long before its half hour.
#[test]
fn enough() {
    let stall = Served::start(&["stall", "--stall", "0"]);
    let space = Space::new();
    let mut command = space.run(&[]);
    command.arg(root().join("examples/enough.yaml"));
    let target = format!("target={}", stall.url);
    for set in [&target, "until=p95(hello) ± 50%, at most 2s", "thresholds.1=p95(hello) < 10s"] {
        command.args(["--set", set]);
    }
    Ended::of(&mut command).with(0);
    let codes = space.summary().findings.into_iter().map(|finding| finding.code);
    assert!(codes.into_iter().any(|code| code.starts_with("precision-")));
}

/// Counted on paper: users 0 to 39 have baskets of 0.25 to 10.
#[test]
fn metrics() {
    let stall = Served::start(&["stall", "--stall", "0"]);
    let target = format!("target={}", stall.url);
    let sets = [&target, "arrivals.0.for=1s", "thresholds.4=sum(orders) == 40"];
    let space = passes("metrics.yaml", &sets, 40);
    let metrics = space.summary().metrics;
    let metric = |name: &str| metrics.iter().find(|metric| metric.name == name).unwrap();
    let basket = metric("basket");
    assert_eq!((basket.count, basket.unit.as_str()), (40, "EUR"));
    assert_eq!((basket.sum, basket.mean), (Some(205.0), Some(5.125)));
    assert_eq!((basket.min, basket.max), (Some(0.25), Some(10.0)));
    let median = basket.p50.unwrap();
    assert!((median / 5.0 - 1.0).abs() < 0.002, "{median}");
    assert_eq!(metric("orders").sum, Some(40.0));
    assert_eq!(metric("small").share, Some(19.0 / 40.0));
    assert_eq!(metric("newest user").max, Some(39.0));
    let page = metric("page");
    assert!(page.min == page.max && page.max.unwrap() > 0.0, "{page:?}");
}

#[test]
fn populations() {
    let stall = Served::start(&["stall", "--stall", "0"]);
    let target = format!("target={}", stall.url);
    let sets = [
        &target,
        "readers=7",
        "rise=1s",
        "peak=1s",
        "fall=1s",
        "populations.buyers.arrivals.1={ constant: 20/s, for: 1s }",
        "populations.clerks.arrivals.0.iterations=60",
        "populations.clerks.arrivals.0.for=3s",
        "thresholds.1=p95(page, population=readers) < 10s in peak",
        "thresholds.2=count(page, population=buyers) == 20",
        "thresholds.3=count(parcel) == 60",
    ];
    let space = passes("populations.yaml", &sets, 7 + 20 + 4);
    let run = space.only();
    let phases: Vec<&str> = run.info().phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(phases, ["rise", "peak", "fall"]);
    let planned: Vec<f64> = run.info().phases.iter().map(|phase| phase.users_planned).collect();
    assert_eq!(planned, [11.0, 20.0, 0.0]);
}

#[test]
fn chat_two_clients() {
    for transport in ["polling", "long-polling", "streaming", "websocket", "websocket-alone"] {
        let session = format!("arrivals.0.session={transport}");
        let sets = [&session, "stay=200ms", "thresholds.2=p98(said) < 10s"];
        passes("chat/two-clients.yaml", &sets, 2);
    }
}

#[test]
fn chat_capacity() {
    for framing in ["phoenix", "actioncable"] {
        let framing = format!("framing={framing}");
        let sets = [
            &framing,
            "climb=600ms",
            "full=200ms",
            "stay=800ms",
            "options.timeout=10s",
            "thresholds.2=p99(said) < 10s",
        ];
        // The speaker, and ten a second: in the climb, 200 ms, 600 ms and 200 ms.
        passes("chat/capacity.yaml", &sets, 1 + 6 + 2 + 6 + 2);
    }
}
