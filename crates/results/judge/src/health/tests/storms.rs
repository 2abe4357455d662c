//! Losses of the network: of the run, and of its host.

use expect_test::expect;
use record::Outcome;
use record::schema::Verdict;

use super::check;
use crate::Figures;
use crate::sample::{MS, REQUEST, SECOND, fail, figures, judged, succeed};

/// The measure of connections.
const CONNECT: usize = 0;

/// The text about repeated SYNs.
fn syns(figures: &Figures) -> Option<String> {
    let findings = judged(figures).findings.into_iter();
    let mut found = findings.filter(|finding| finding.code == "host-syn-retransmits");
    found.next().map(|finding| finding.text)
}

/// Adds connection attempts that were never answered.
fn give_up(figures: &mut Figures, count: u64, waited_ns: u64) {
    fail(figures, CONNECT, Outcome::ConnectTimeout, count);
    let cell = figures.cell_mut(0, CONNECT).unwrap();
    cell.unanswered.record_n(waited_ns, count);
}

#[test]
fn storms_are_reported_with_the_limit_that_lost_them() {
    let mut figures = figures();
    for (fact, value) in
        [("somaxconn", "4096"), ("netdev_max_backlog", "1000"), ("tcp_mem", "1\t2\t3")]
    {
        figures.info.host.insert(fact.to_owned(), value.to_owned());
    }
    succeed(&mut figures, 0, CONNECT, 10_000, MS, 0);
    succeed(&mut figures, 0, CONNECT, 12_345, SECOND, 0);
    figures.series[5].host_listen_drops = 300;
    figures.series[5].host_packet_drops = 20;
    figures.series[6].host_syn_retransmits = 12_345;
    figures.series[7].host_memory_pressures = 1;
    figures.series[7].host_memory_aborts = 2;
    check(
        &figures,
        Verdict::Measured,
        &expect![[r#"
            Good generator-healthy
                the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                memory (precise mode, 1 loop)
            Warning host-listen-drops
                12,345 connection attempts were answered only after a SYN retransmission (1 s, 3
                s, … later): this host, with all of its programs, dropped 300 connections
                because accept queues were full (net.core.somaxconn 4096); fix: `sysctl -w
                net.core.somaxconn=65535 net.ipv4.tcp_max_syn_backlog=65535`, and an equally
                long backlog in the server
            Warning host-packet-drops
                this host dropped 20 packets because packet queues were full
                (net.core.netdev_max_backlog 1000): their data was retransmitted and arrived
                late; fix: `sysctl -w net.core.netdev_max_backlog=100000`
            Warning host-tcp-memory
                the kernel's TCP memory ran short (net.ipv4.tcp_mem 1 2 3): sends were delayed
                and 2 connections were aborted; fix: raise `net.ipv4.tcp_mem` to the value that
                `throng doctor --users 2` shows
        "#]],
    );
}

#[test]
fn a_few_repeated_syns_of_many_connects_are_not_worth_a_word() {
    let mut figures = figures();
    succeed(&mut figures, 0, CONNECT, 9_980, MS, 0);
    succeed(&mut figures, 0, CONNECT, 20, SECOND, 0);
    figures.series[6].host_syn_retransmits = 10;
    assert_eq!(syns(&figures), None);
    figures.series[6].host_syn_retransmits = 11;
    assert!(syns(&figures).is_some());
}

#[test]
fn repeated_syns_count_against_the_connections_of_all_regions() {
    let mut figures = figures();
    let mut south = figures.info.measures[0].clone();
    south.name = "connect (region=south)".to_owned();
    figures.info.measures.push(south);
    let mut figures = Figures::new(figures.info, figures.series, figures.events);
    succeed(&mut figures, 0, CONNECT, 995, MS, 0);
    succeed(&mut figures, 0, CONNECT, 5, SECOND, 0);
    succeed(&mut figures, 0, REQUEST, 6_000, 10 * MS, 0);
    succeed(&mut figures, 0, 2, 8_994, MS, 0);
    succeed(&mut figures, 0, 2, 6, 3 * SECOND, 0);
    figures.series[6].host_syn_retransmits = 10;
    assert_eq!(syns(&figures), None);
    figures.series[6].host_syn_retransmits = 11;
    assert!(syns(&figures).is_some());
}

/// Other programs of the host repeated 5,006 SYNs. The run made one connection.
#[test]
fn syns_of_other_programs_are_not_the_runs() {
    let mut figures = figures();
    succeed(&mut figures, 0, CONNECT, 1, MS, 0);
    figures.series[6].host_syn_retransmits = 5_006;
    figures.series[6].host_listen_drops = 5_006;
    assert_eq!(syns(&figures), None);
    let last = figures.series.last_mut().unwrap();
    // It lost three segments of data, and its connection was set up at once.
    last.tcp_connections = 1;
    last.tcp_retransmits = 3;
    assert_eq!(syns(&figures), None);
    check(
        &figures,
        Verdict::Measured,
        &expect![[r#"
            Good generator-healthy
                the generator kept up: lag p99 20.0 µs, busiest loop 10 % of a core, 64.0 MiB of
                memory (precise mode, 1 loop)
            Warning host-listen-drops
                connections of the run retransmitted segments: this host, with all of its
                programs, dropped 5,006 connections because accept queues were full
                (net.core.somaxconn); fix: `sysctl -w net.core.somaxconn=65535
                net.ipv4.tcp_max_syn_backlog=65535`, and an equally long backlog in the server
            Note traffic
                1 connection over TCP: 0 segments out and 0 in, 3 retransmitted; about 0 B of IP
                packets out and 0 B in, 0 B and 0 B per connection
        "#]],
    );
    // With TLS a connection may take longer. Its socket repeated nothing.
    let mut slow = super::figures();
    succeed(&mut slow, 0, CONNECT, 1, 2 * SECOND, 0);
    slow.series[6].host_syn_retransmits = 5_006;
    slow.series[59].tcp_connections = 1;
    assert_eq!(syns(&slow), None);
    slow.series[59].tcp_retransmits = 1;
    let text = "1 connection attempt was answered only after a SYN retransmission (1 s, 3 s, … later): the SYNs \
        were lost in the network or at the queues of the target host";
    assert_eq!(syns(&slow).as_deref(), Some(text));
}

#[test]
fn attempts_of_which_none_was_answered_are_not_called_answered() {
    let mut figures = figures();
    give_up(&mut figures, 40, 10 * SECOND);
    // A target that refuses does so at once.
    give_up(&mut figures, 10, MS);
    figures.series[6].host_syn_retransmits = 120;
    let text = "40 connection attempts were never answered, though SYNs were retransmitted: the SYNs were lost in \
        the network or at the queues of the target host";
    assert_eq!(syns(&figures).as_deref(), Some(text));
    // Some were answered late besides.
    succeed(&mut figures, 0, CONNECT, 3, 3 * SECOND, 0);
    let found = syns(&figures).unwrap();
    let text = "3 connection attempts were answered only after a SYN retransmission (1 s, 3 s, … later), and 40 \
        connection attempts were never answered";
    assert!(found.starts_with(text), "{found}");
}

#[test]
fn without_times_of_connections_the_hosts_number_is_named_as_the_hosts() {
    let mut figures = figures();
    fail(&mut figures, CONNECT, Outcome::ConnectTimeout, 5);
    figures.series[6].host_syn_retransmits = 12;
    let text = "this host, with all of its programs, retransmitted 12 SYNs: the SYNs were lost in the network or at \
        the queues of the target host";
    assert_eq!(syns(&figures).as_deref(), Some(text));
}
