//! Several middlewares behind one address.

use std::collections::BTreeSet;

use rustix::process::{Signal, kill_process};
use testkit::queue_client::Client;
use testkit::services::Services;

use super::address;
use crate::stores::until;
use crate::support::{Database, Served};

/// Connections to the database, of all middlewares together.
const CONNECTIONS: &str = "SELECT count(*) FROM pg_stat_activity \
     WHERE application_name = 'throng-queue' AND datname = current_database()";

#[test]
fn middlewares_share_messages_and_one_that_dies_comes_back() {
    let Some(services) = Services::shared(&["postgres"]) else {
        return;
    };
    let Some(database) = Database::on(&services, "postgres", "queue_processes") else {
        return;
    };
    let served = Served::start(&[
        "queue",
        "--processes=3",
        "--connections=1",
        "--store",
        &database.url,
        "--fill=300",
        "--queues=1",
    ]);
    let first = served.children();
    assert_eq!(first.len(), 3);

    // 60 clients are spread over three middlewares: that one of them gets none has a probability below 1e-9.
    let mut popped = BTreeSet::new();
    let mut clients: Vec<Client> =
        (0..60).map(|_| Client::connect(address(&served)).unwrap()).collect();
    for _ in 0..5 {
        for client in &mut clients {
            popped.insert(client.pop(1, 1, 0).unwrap().unwrap().id);
        }
    }
    assert_eq!(popped.len(), 300);
    assert_eq!(database.number(CONNECTIONS), 3);

    kill_process(first[0], Signal::KILL).unwrap();
    until(&true, || {
        let now = served.children();
        now.len() == 3 && !now.contains(&first[0])
    });
    // The others had not noticed; clients of the one that died connect again.
    let went_on = clients.iter_mut().filter_map(|it| it.peek(1, 1).ok());
    assert!(went_on.count() >= 20);
    for _ in 0..60 {
        let mut client = Client::connect(address(&served)).unwrap();
        assert!(client.peek(1, 1).unwrap().is_none());
    }
    served.stop();
}
