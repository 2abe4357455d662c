//! The thesis's example on paper: many users at once, a round trip of a second, a query of a millisecond, and a server
//! that blocks on each query. Beside the store, users wait for the round trip and for half of all queries; beside the
//! users, for half of all round trips.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use lab::wan::Link;
use rustix::net::sockopt;

use crate::Outcome;
use crate::net::{Net, now};

const ROUND_TRIP: Duration = Duration::from_secs(1);
const QUERY: Duration = Duration::from_millis(1);
/// Hosts: of users, of the server, and of a store far from it.
const USERS: usize = 0;
const SERVER: usize = 1;
const STORE: usize = 2;
/// What waits at the server, in bytes: a datagram of each user.
const RECEIVE_BYTES: usize = 64 << 20;

pub(crate) fn measure(users: u32) -> Outcome {
    let query_ms = QUERY.as_secs_f64() * 1e3;
    let trip_ms = ROUND_TRIP.as_secs_f64() * 1e3;
    let half = f64::from(users + 1) / 2.0;
    let near = run(users, USERS, SERVER)?;
    print("near", users, near, trip_ms + half * query_ms);
    let far = run(users, STORE, STORE)?;
    print("far", users, far, half * (trip_ms + query_ms));
    Ok(())
}

fn print(server: &str, users: u32, mean_ms: f64, expected_ms: f64) {
    println!(
        "{{\"measured\": \"near-and-far\", \"server\": \"{server}\", \"users\": {users}, \"mean_ms\": {mean_ms:.1}, \
         \"expected_ms\": {expected_ms:.1}, \"error\": {:.4}}}",
        mean_ms / expected_ms - 1.0,
    );
}

/// The mean time of a reply, in milliseconds, if the server is a round trip away from the host `away`, and its store is
/// on the host `store`.
fn run(users: u32, away: usize, store: usize) -> Result<f64, Box<dyn std::error::Error>> {
    let far = Link::new(ROUND_TRIP.as_nanos() as u64 / 2);
    let mut links = vec![Link::new(0); 9];
    links[SERVER * 3 + away] = far;
    links[away * 3 + SERVER] = far;
    let net = Net::new(links, 1)?;

    let queries = net.listen(store)?;
    let requests = net.udp(SERVER)?;
    sockopt::set_socket_recv_buffer_size_force(&requests, RECEIVE_BYTES)?;
    let sender = net.udp(USERS)?;
    sockopt::set_socket_recv_buffer_size_force(&sender, RECEIVE_BYTES)?;
    sender.connect(requests.local_addr()?)?;
    let link = net.connect(SERVER, &queries)?;
    link.set_nodelay(true)?;
    thread::scope(|scope| {
        scope.spawn(|| answer_queries(&queries));
        scope.spawn(|| serve(&requests, link, users));
        let start = now();
        for _ in 0..users {
            sender.send(b"request")?;
        }
        let mut sum = Duration::ZERO;
        for _ in 0..users {
            sender.recv(&mut [0; 16])?;
            sum += now() - start;
        }
        Ok(sum.as_secs_f64() * 1e3 / f64::from(users))
    })
}

/// The server: one request after the other, each with a query that it waits for.
fn serve(requests: &UdpSocket, mut store: TcpStream, users: u32) -> std::io::Result<()> {
    let mut buffer = [0; 16];
    for _ in 0..users {
        let (_, user) = requests.recv_from(&mut buffer)?;
        store.write_all(b"q")?;
        store.read_exact(&mut [0])?;
        requests.send_to(b"reply", user)?;
    }
    Ok(())
}

/// The store: a query takes its time, whatever the time is spent on.
fn answer_queries(queries: &TcpListener) -> std::io::Result<()> {
    let (mut server, _) = queries.accept()?;
    server.set_nodelay(true)?;
    // Until the server closes the connection.
    while server.read_exact(&mut [0]).is_ok() {
        let start = now();
        while now() - start < QUERY {
            std::hint::spin_loop();
        }
        server.write_all(b"r")?;
    }
    Ok(())
}
