//! `throng serve queue`: as a command, as the target of a scenario, and under faults.

mod accounts;
mod processes;
mod soak;

use std::net::SocketAddr;

use testkit::queue_client::Client;
use testkit::services::Services;

use crate::support::{Database, Ended, Served, Space, throng};

fn address(served: &Served) -> SocketAddr {
    let address = served.url.strip_prefix("tcp://");
    address.unwrap().parse().unwrap()
}

/// Every kind of request in frames of a scenario, against a queue that the run starts.
#[test]
fn a_scenario_uses_a_queue_of_its_own() {
    let space = Space::new();
    let text = "
target: { queue: { fill: 20, queues: 2, length: 5B, timing: on, connections: 3 } }
sessions:
  client:
    - tcp:
      framing: { length: 4, counts: payload, header: 1 }
    - send:
      bytes: [u8: 8, text: \"${random_string(300)}\"]
      reply: { when: { \"u8@0\": 136 }, as: echo }
    - send:
      bytes: [u8: 3, u32be: 1, u32be: \"${user + 1}\", u32be: 0, text: \"hello\"]
      reply: { when: { \"u8@0\": 131 }, save: { id: u64be@1 }, as: send }
    - check: id > 20
    - send:
      bytes: [u8: 5, u32be: 2, u32be: 7, u32be: 0]
      reply:
        when: { \"u8@0\": 133 }
        # The trailer has four times in microseconds.
        save: { id: u64be@1, queue: u32be@9, queued: u32be@-12, database: u32be@-8 }
        as: pop
    - check: id % 2 == 0 && queue == 2
    - check: queued < 10000000 && database < 10000000
    - send:
      bytes: [u8: 9]
      reply: { when: { \"u8@0\": 255, \"u8@1\": 9, \"u16be@2\": 2 }, as: unknown }
arrivals: [ { constant: 20/s, for: 500ms } ]
thresholds: [ errors == 0, count(echo) == 10, count(send) == 10, count(pop) == 10, count(unknown) == 10 ]
";
    Ended::of(&mut space.run_text(text, &[])).with(0);
}

#[test]
fn settings_of_a_queue_are_checked_before_it_starts() {
    let wrong = [
        ("fill: many", "invalid value 'many' for `fill`"),
        ("qeues: 2", "did you mean `queues`?"),
        ("queues: 2", "the settings do not go together"),
        ("store: postgres://127.0.0.1/", "give the name of a database"),
    ];
    for (setting, problem) in wrong {
        let space = Space::new();
        let text = format!(
            "
target: {{ queue: {{ {setting} }} }}
sessions: {{ client: [ {{ tcp: , framing: {{ length: 4 }} }} ] }}
arrivals: [ {{ constant: 1/s, for: 1s }} ]
"
        );
        let ended = Ended::of(&mut space.run_text(&text, &[]));
        assert_ne!(ended.code, Some(0), "{setting}");
        if !setting.starts_with("store") {
            ended.stderr_contains(problem);
        }
    }
}

#[test]
fn settings_that_cannot_be_served_are_errors() {
    for (args, code, problem) in [
        (
            &["--store", "mysql://127.0.0.1/queue"][..],
            64,
            "is not the address of a PostgreSQL server",
        ),
        (&["--store", "queue.sqlite"], 64, "is not the address of a PostgreSQL server"),
        (&["--connections", "0"], 64, "connections must be 1 to 1,000"),
        (&["--fill", "1", "--without-index", "queue"], 64, "memory has no indexes to leave out"),
        (&["--init"], 64, "--store"),
        (&["--processes", "2"], 64, "processes need a store"),
        (&["--processes", "257"], 64, "processes must be 1 to 256"),
        (
            // Nobody listens on this port of loopback.
            &["--store", "postgres://me:hunter2@127.0.0.1:1/queue"],
            69,
            "cannot use the store postgres://me:***@127.0.0.1:1/queue",
        ),
    ] {
        let listen = ["serve", "queue", "--listen", "127.0.0.1:0"];
        let ended = Ended::of(&mut throng(listen.iter().chain(args))).with(code);
        ended.stderr_contains(problem);
        assert!(!ended.err.contains("hunter2"), "{}", ended.err);
    }
}

#[test]
fn tables_are_made_filled_and_dropped_by_command() {
    let Some(services) = Services::shared(&["postgres"]) else {
        return;
    };
    let Some(database) = Database::on(&services, "postgres", "queue_commands") else {
        return;
    };
    let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'";
    let functions = "SELECT count(*) FROM pg_proc WHERE proname LIKE 'queue\\_%'";
    let set_up = |args: &[&str]| {
        let command = ["serve", "queue", "--store", &database.url];
        Ended::of(&mut throng(command.iter().chain(args))).with(0)
    };
    set_up(&["--drop"]);
    set_up(&["--init"]);
    assert_eq!((database.number(tables), database.number(functions)), (3, 9));
    set_up(&["--init", "--fill", "500", "--queues", "5", "--length", "1KiB"]);
    let bytes = "SELECT sum(octet_length(message))::bigint FROM message";
    assert_eq!(database.number(bytes), 500 << 10);
    let served = Served::start(&["queue", "--store", &database.url, "--durable", "off"]);
    let mut client = Client::connect(address(&served)).unwrap();
    assert_eq!(client.peek(5, 1).unwrap().unwrap().id, 5);
    served.stop();
    set_up(&["--drop", "--init"]);
    assert_eq!(database.number("SELECT count(*) FROM message"), 0);
    set_up(&["--drop"]);
    assert_eq!((database.number(tables), database.number(functions)), (0, 0));
}
