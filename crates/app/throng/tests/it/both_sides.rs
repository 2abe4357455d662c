//! Both sides count: servers of every transport that count for themselves, and the record. To the last
//! request and the last message they say the same, at a light load and when the server is overloaded:
//! it then answers some too late, drops connections, refuses, reads slowly, and loses and repeats
//! messages.

mod conns;
mod deflated;
mod http2;
mod ledger;
mod messages;
mod requests;
mod talks;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;

use record::Run;

use crate::support::{Ended, Space, server, websocket};
use ledger::{Counts, Ledger, Load};

/// The transports.
const TRANSPORTS: &[&str] =
    &["http", "sse", "poll", "ws", "tcp", "phoenix", "actioncable", "socketio"];

/// What carries the transports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    Plain,
    /// TLS: https and wss.
    Secure,
    /// A connection for each user.
    Http2,
    /// Connections that all users of a loop share.
    SharedHttp2,
    /// permessage-deflate, with one context for all messages of a connection.
    Compressed,
}

impl Way {
    /// The transports that it carries.
    fn transports(self) -> &'static [&'static str] {
        match self {
            Way::Plain => TRANSPORTS,
            Way::Secure => &["http", "sse", "poll", "ws", "phoenix", "actioncable", "socketio"],
            Way::Http2 | Way::SharedHttp2 => &["http", "sse", "poll"],
            Way::Compressed => &["ws", "phoenix", "actioncable", "socketio"],
        }
    }

    fn is_http2(self) -> bool {
        matches!(self, Way::Http2 | Way::SharedHttp2)
    }

    /// The outcome of a request that the server does not answer any more.
    fn closed(self) -> &'static str {
        match self.is_http2() {
            true => "http2-internal-error",
            false => "closed",
        }
    }

    fn options(self) -> &'static str {
        match self {
            Way::Plain | Way::Compressed => "",
            Way::Secure => ", tls: { verify: false }",
            Way::Http2 => ", http: 2",
            Way::SharedHttp2 => ", http: 2, http_connections: shared, loops: 1",
        }
    }

    /// The steps of users over it.
    fn steps(self, name: &str) -> String {
        let steps = steps(name);
        match self {
            Way::Secure => steps.replace("http://", "https://").replace("ws://", "wss://"),
            Way::Compressed => {
                let path = "path: \"ws://ADDRESS/\"";
                steps.replace(path, &format!("{path}, compress: shared"))
            }
            _ => steps,
        }
    }
}

/// What a user of a transport does: `ADDRESS` is its server. Only what an overloaded server never answers has
/// little time (`LATE`), so that the speed of the machine does not matter.
fn steps(name: &str) -> String {
    let at = "path: \"ws://ADDRESS/\", protocol";
    match name {
        "http" => {
            "[ { loop: 2, steps: [ { loop: 3, steps: [ { get: \"http://ADDRESS/\", as: http } ] }, \
                   { get: \"http://ADDRESS/late\", as: http, timeout: LATE } ] } ]"
                .to_owned()
        }
        "sse" => "[ { sse: \"http://ADDRESS/${user}\", reconnect: 50ms, as: sse }, \
                  { expect: { when: { /done: true } } }, { close: } ]"
            .to_owned(),
        "poll" => "[ { poll: \"http://ADDRESS/${user}\", each: /list, pause: 20ms, as: poll }, \
                   { expect: { when: { /done: true } } }, { close: } ]"
            .to_owned(),
        "ws" => talk(
            "{ ws: { path: \"ws://ADDRESS/\", as: ws.open } }",
            "{ send: { do: VERB }, reply: { when: { /of: VERB }, within: TIME }, as: ws }",
            "{ send: { do: pad, pad: PAD }, as: ws.pad }",
        ),
        "tcp" => talk(
            "{ tcp: \"ADDRESS\", framing: { delimiter: \"\\n\" }, as: tcp.open }",
            "{ send: { do: VERB }, reply: { when: { /of: VERB }, within: TIME }, as: tcp }",
            "{ send: { do: pad, pad: PAD }, as: tcp.pad }",
        ),
        "phoenix" => talk(
            &format!(
                "{{ ws: {{ {at}: phoenix, as: phoenix.open }} }}, {{ join: t, as: phoenix.join }}"
            ),
            "{ push: { event: VERB }, reply: { within: TIME }, as: phoenix }",
            "{ push: { event: pad, payload: { pad: PAD } }, as: phoenix.pad }",
        ),
        "actioncable" => talk(
            &format!(
                "{{ ws: {{ {at}: actioncable, as: actioncable.open }} }}, \
                 {{ join: t, as: actioncable.join }}"
            ),
            "{ perform: { action: VERB }, reply: { when: { /of: VERB }, within: TIME }, as: actioncable }",
            "{ perform: { action: pad, data: { pad: PAD } }, as: actioncable.pad }",
        ),
        "socketio" => talk(
            &format!(
                "{{ ws: {{ {at}: socket.io, as: socketio.open }} }}, {{ join: /, as: socketio.join }}"
            ),
            "{ emit: { event: VERB }, reply: { within: TIME }, as: socketio }",
            "{ emit: { event: pad, args: PAD }, as: socketio.pad }",
        ),
        _ => unreachable!("no transport {name}"),
    }
}

/// A server that closes each connection after its third message counts connections, and what it received after them.
#[test]
fn both_sides_count_the_same_connections_of_users_who_reconnect() {
    let counts = std::sync::Arc::new(std::sync::Mutex::new([0_u64; 3]));
    let own = std::sync::Arc::clone(&counts);
    let address = server(move |stream| {
        let mut socket = websocket(stream)?;
        let note = |what: usize| own.lock().unwrap()[what] += 1;
        note(0);
        for said in 0.. {
            let Ok(tungstenite::Message::Text(text)) = socket.read() else {
                break;
            };
            let is_step = text.as_str() != "again";
            note(1 + usize::from(is_step));
            if said == 2 {
                break;
            }
            if !is_step {
                continue;
            }
            let answered = socket.send(tungstenite::Message::text("yes"));
            answered.map_err(|error| std::io::Error::other(error.to_string()))?;
        }
        Ok(())
    });
    let text = format!(
        "
target: http://{address}
sessions:
  mobile:
    - ws: {{ path: /, reconnect: {{ pause: 20ms, pause_max: 100ms, send: again }} }}
    - loop: 12
      steps:
        - send: hello
          reply: {{ within: 20s, as: said }}
    - close:
arrivals: [ {{ constant: 20/s, for: 500ms }} ]
thresholds: [ users == 10, error_rate(reconnect) == 0% ]
"
    );
    let space = Space::new();
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    let run = space.only();
    let mut ended = BTreeMap::<(String, &str), u64>::new();
    run.requests(|batch| {
        for row in batch {
            let name = run.info().measures[row.measure as usize].name.clone();
            *ended.entry((name, row.outcome.name())).or_default() += 1;
        }
    })
    .unwrap();
    let of = |name: &str, outcome: &'static str| {
        ended.get(&(name.to_owned(), outcome)).copied().unwrap_or(0)
    };
    let [connections, again, said] = *counts.lock().unwrap();
    let opened = of("handshake", "ok");
    let reconnected = of("reconnect", "ok");
    assert_eq!(opened, 10);
    assert!(reconnected >= 30, "{ended:?}");
    assert_eq!(connections, opened + reconnected, "{ended:?}");
    assert_eq!(of("connect", "ok"), connections);
    assert_eq!(again, reconnected);
    // Each third message of a connection was the last, and had no reply.
    let lost = of("said", "closed") + of("said", "reset");
    assert_eq!(of("said", "ok") + lost, 120, "{ended:?}");
    assert_eq!(said, 120);
    assert_eq!(space.summary().users.finished, 10);
}

/// Messages that want answers, of which the third has none if the server is overloaded, those that want
/// none, and one that is answered behind all numbered messages.
fn talk(open: &str, say: &str, pad: &str) -> String {
    let says = |verb: &str, time: &str| say.replace("VERB", verb).replace("TIME", time);
    let say = says("say", "20s");
    let late = says("say", "LATE");
    let go = says("go", "20s");
    format!(
        "[ {open}, {say}, {say}, {late}, {say}, {{ loop: PADS, steps: [ {pad} ] }}, {go}, {{ close: }} ]"
    )
}

#[test]
fn both_sides_count_the_same_at_a_light_load() {
    for way in [Way::Plain, Way::Secure, Way::Http2, Way::SharedHttp2, Way::Compressed] {
        let totals = both_sides_agree(way, Load::Light, (4, 10, 20));
        assert!(totals.answered > 30, "{way:?}: {totals:?}");
        assert_eq!(faults(&totals), [0; 5], "{way:?}");
    }
}

#[test]
fn both_sides_count_the_same_when_the_server_is_overloaded() {
    let totals = both_sides_agree(Way::Plain, Load::Over, (6, 60, 64_000));
    assert!(faults(&totals).iter().all(|&count| count > 0), "{totals:?}");
}

#[test]
fn both_sides_count_the_same_when_the_server_is_overloaded_over_tls() {
    let totals = both_sides_agree(Way::Secure, Load::Over, (6, 60, 64_000));
    assert!(faults(&totals).iter().all(|&count| count > 0), "{totals:?}");
}

#[test]
fn both_sides_count_the_same_when_the_server_is_overloaded_over_http_2() {
    for way in [Way::Http2, Way::SharedHttp2] {
        let totals = both_sides_agree(way, Load::Over, (6, 0, 0));
        assert!(faults(&totals).iter().all(|&count| count > 0), "{way:?}: {totals:?}");
    }
}

#[test]
fn both_sides_count_the_same_when_the_server_is_overloaded_and_messages_are_compressed() {
    let totals = both_sides_agree(Way::Compressed, Load::Over, (6, 60, 64_000));
    // Messages are not refused.
    let [late, closed, _, skipped, doubled] = faults(&totals);
    assert!([late, closed, skipped, doubled].iter().all(|&count| count > 0), "{totals:?}");
}

fn faults(totals: &Counts) -> [u64; 5] {
    [totals.late, totals.closed, totals.refused, totals.skipped, totals.doubled]
}

/// Runs this number of users of each transport, each of whom sends `pads` messages that want no answer,
/// each with `pad_bytes`; then compares all counts. What the servers counted together.
#[track_caller]
fn both_sides_agree(
    way: Way,
    load: Load,
    (users, pads, pad_bytes): (usize, usize, usize),
) -> Counts {
    let names = way.transports();
    let ledgers: Vec<_> = names.iter().map(|_| Ledger::new(load)).collect();
    let addresses: Vec<_> =
        names.iter().zip(&ledgers).map(|(name, ledger)| serve(name, way, ledger)).collect();
    let space = Space::new();
    let text = scenario(way, &addresses, users)
        .replace("PADS", &pads.to_string())
        .replace("PAD", &"p".repeat(pad_bytes))
        .replace("LATE", if load == Load::Over { "2s" } else { "20s" });
    Ended::of(&mut space.run_text(&text, &[])).with(0);
    let ours = Ours::read(&space.only());
    let mut totals = Counts::default();
    let mut closed = ours.retried;
    let mut closed_by_server = 0;
    for (name, ledger) in names.iter().zip(&ledgers) {
        let mut counts = ours.counts(name, way);
        let mut theirs = ledger.counts();
        totals.add(&theirs);
        if ["http", "poll"].contains(name) && !way.is_http2() {
            // Most of these are sent again.
            closed += std::mem::take(&mut counts.closed);
            closed_by_server += std::mem::take(&mut theirs.closed);
        }
        assert_eq!(counts, theirs, "{name}, {way:?}: ours, and the server's");
    }
    assert_eq!(closed, closed_by_server, "requests that met a close");
    assert_eq!(ours.unmatched, 0, "messages that nobody waited for");
    totals
}

fn serve(name: &'static str, way: Way, ledger: &Ledger) -> SocketAddr {
    let secure = way == Way::Secure;
    match name {
        _ if way.is_http2() => http2::serve(name, ledger),
        "http" => requests::http(ledger, secure),
        "sse" => requests::event_streams(ledger, secure),
        "poll" => requests::polls(ledger, secure),
        _ => messages::serve(name, way, ledger),
    }
}

fn scenario(way: Way, addresses: &[SocketAddr], users: usize) -> String {
    let names = way.transports();
    let options = way.options();
    let mut text = format!(
        "
target: http://{}
options: {{ timeout: 20s{options} }}
messages:
",
        addresses[0]
    );
    for name in names {
        writeln!(text, "  {name}.said: {{ when: {{ /by: {name} }}, seq: /seq }}").unwrap();
    }
    text += "sessions:\n";
    for (name, address) in names.iter().zip(addresses) {
        let steps = way.steps(name).replace("ADDRESS", &address.to_string());
        writeln!(text, "  {name}: {steps}").unwrap();
    }
    text += "arrivals:\n  - { hold: 60s, until: done }\n";
    for name in names {
        for _ in 0..users {
            writeln!(text, "  - {{ at: 1ms, session: {name} }}").unwrap();
        }
    }
    text
}

/// What the record says.
struct Ours {
    /// By measure and outcome.
    rows: BTreeMap<(String, &'static str), u64>,
    /// Connections that were made, by session.
    connections: BTreeMap<String, u64>,
    /// By measure; of messages that have no rows, too.
    counts: BTreeMap<String, u64>,
    unmatched: u64,
    /// Requests that were sent again.
    retried: u64,
}

impl Ours {
    #[track_caller]
    fn read(run: &Run) -> Ours {
        let info = run.info();
        let mut rows = BTreeMap::new();
        let mut connections = BTreeMap::new();
        run.requests(|batch| {
            for row in batch {
                assert_eq!(row.weight, 1, "all rows are kept");
                let measure = info.measures[usize::from(row.measure)].name.clone();
                if measure == "connect" {
                    let session = info.sessions[usize::from(row.session)].clone();
                    *connections.entry(session).or_default() += 1;
                }
                *rows.entry((measure, row.outcome.name())).or_default() += 1;
            }
        })
        .unwrap();
        let summary = run.summary().unwrap().unwrap();
        let counts = summary.measures.iter();
        let counts = counts.map(|measure| (measure.name.clone(), measure.count));
        let series = run.series().unwrap();
        Ours {
            rows,
            connections,
            counts: counts.collect(),
            unmatched: series.iter().map(|row| row.unmatched).sum(),
            retried: series.iter().map(|row| row.requests_retried).sum(),
        }
    }

    /// What a server of this transport should have counted.
    fn counts(&self, name: &str, way: Way) -> Counts {
        let of = |part: &str, outcome: &'static str| {
            let measure = format!("{name}{part}");
            self.rows.get(&(measure, outcome)).copied().unwrap_or(0)
        };
        let count =
            |part: &str| self.counts.get(&format!("{name}.said{part}")).copied().unwrap_or(0);
        // Event streams alone come back, and each time is a request.
        let again = |outcome: &'static str| match name {
            "sse" => self.rows.get(&("reconnect".to_owned(), outcome)).copied().unwrap_or(0),
            _ => 0,
        };
        let kinds = ["ok", "timeout", way.closed(), "status"];
        let [answered, late, closed, refused] = kinds.map(|kind| of("", kind) + again(kind));
        Counts {
            connections: self.connections.get(name).copied().unwrap_or(0),
            answered,
            late,
            closed,
            refused,
            pads: of(".pad", "ok"),
            pushed: count(""),
            skipped: count(".lost"),
            doubled: count(".duplicated"),
        }
    }
}
