use std::net::Ipv4Addr;

use expect_test::expect;

use super::*;

fn subnets() -> [Subnet; 2] {
    [0, 4].map(|third| Subnet { first: Ipv4Addr::new(198, 18, third, 0), prefix: 22 })
}

#[test]
fn each_place_has_a_pair_of_devices_with_its_routes() {
    expect![[r#"
        link add name out0 address 02:00:00:00:00:01 mtu 1500 type veth peer name in0 address 02:00:00:00:00:01 mtu 1500
        link set dev out0 arp off up
        link set dev in0 arp off up
        route add default dev out0 table 1000
        rule add priority 100 iif in0 lookup main
        rule add priority 200 from 198.18.0.0/22 lookup 1000
        link add name out1 address 02:00:00:00:00:01 mtu 1500 type veth peer name in1 address 02:00:00:00:00:01 mtu 1500
        link set dev out1 arp off up
        link set dev in1 arp off up
        route add default dev out1 table 1001
        rule add priority 100 iif in1 lookup main
        rule add priority 200 from 198.18.4.0/22 lookup 1001
    "#]]
    .assert_eq(&devices(&subnets()));
    let address = Ipv4Addr::new(198, 18, 4, 1);
    expect![[r#"
        link add name host7 address 02:00:00:00:00:01 mtu 1500 type veth peer name wan0 netns /proc/1/fd/9 address 02:00:00:00:00:01 mtu 1500
        link set dev host7 arp off up
        route add 198.18.4.1/32 dev host7
        link set dev lo up
        address add 198.18.4.1/32 dev wan0
        link set dev wan0 arp off gso_max_segs 1 up
        route add default dev wan0
    "#]]
    .assert_eq(&(host(7, address, "/proc/1/fd/9") + &inside(address)));
}

#[test]
fn each_link_has_a_class_with_netem_below_it() {
    let mut links = vec![Link::new(0); 4];
    links[1] = Link::new(39_000_000);
    expect![[r#"
        qdisc add dev out0 root handle 1: htb default 0
        class add dev out0 parent 1: classid 1:1 htb rate 100gbit quantum 60000
        qdisc add dev out0 parent 1:1 handle 2: netem limit 200000 delay 0ms rate 0bit -14
        filter add dev out0 parent 1: protocol ip prio 1 u32 match ip dst 198.18.0.0/22 flowid 1:1
        class add dev out0 parent 1: classid 1:2 htb rate 100gbit quantum 60000
        qdisc add dev out0 parent 1:2 handle 3: netem limit 200000 delay 39ms rate 0bit -14
        filter add dev out0 parent 1: protocol ip prio 1 u32 match ip dst 198.18.4.0/22 flowid 1:2
        qdisc add dev out1 root handle 1: htb default 0
        class add dev out1 parent 1: classid 1:1 htb rate 100gbit quantum 60000
        qdisc add dev out1 parent 1:1 handle 2: netem limit 200000 delay 0ms rate 0bit -14
        filter add dev out1 parent 1: protocol ip prio 1 u32 match ip dst 198.18.0.0/22 flowid 1:1
        class add dev out1 parent 1: classid 1:2 htb rate 100gbit quantum 60000
        qdisc add dev out1 parent 1:2 handle 3: netem limit 200000 delay 0ms rate 0bit -14
        filter add dev out1 parent 1: protocol ip prio 1 u32 match ip dst 198.18.4.0/22 flowid 1:2
    "#]]
    .assert_eq(&queues(&subnets(), &links, netem));
    // `tc` reads the numbers of classes and disciplines as hexadecimal ones.
    expect![[r#"
        qdisc change dev out3 parent 1:10 handle 11: netem limit 200000 delay 0.000001ms rate 0bit -14
    "#]]
    .assert_eq(&change(3, 15, &Link::new(1), netem));
    assert_eq!(place_of_class("1:10"), Some(15));
    assert_eq!(place_of_class("1:0"), None);
    assert_eq!(place_of_class("2:1"), None);
}

/// One link of each kind.
fn kinds() -> Vec<Link> {
    let link = Link::new(20_000_000);
    let normal = Jitter::Normal { sd_ns: 2_000_000 };
    let rate = |backlog| Some(Rate { bits_per_s: 12_000_000, backlog });
    let bursts = Loss::GilbertElliott {
        good_to_bad: 0.001,
        bad_to_good: 0.25,
        loss_good: 0.0,
        loss_bad: 1.0,
    };
    vec![
        link,
        Link { jitter: normal, ..link },
        Link { loss: Loss::Independent { p: 0.014 }, ..link },
        Link { loss: bursts, ..link },
        Link { cut: true, loss: bursts, ..link },
        Link { reorder: 0.25, jitter: normal, ..link },
        Link { reorder: 0.25, ..Link::new(0) },
        Link { rate: rate(Backlog::Bytes(64 << 10)), ..link },
        Link { rate: rate(Backlog::Time(100_000_000)), ..link },
        Link { rate: rate(Backlog::Bytes(0)), ..Link::new(0) },
    ]
}

#[test]
fn links_are_written_in_the_grammar_of_netem() {
    let written: Vec<String> = kinds().iter().map(netem).collect();
    expect![[r#"
        netem limit 200000 delay 20ms rate 0bit -14
        netem limit 200000 delay 20ms 2ms distribution normal rate 1000000000000bit -14
        netem limit 200000 delay 20ms loss random 1.4% rate 0bit -14
        netem limit 200000 delay 20ms loss gemodel 0.1% 25% 100% 0% rate 0bit -14
        netem limit 200000 delay 20ms loss random 100% rate 0bit -14
        netem limit 200000 delay 20ms 2ms distribution normal reorder 25% gap 1 rate 0bit -14
        netem limit 200000 delay 0ms rate 0bit -14
        netem limit 64 delay 20ms rate 12000000bit -14
        netem limit 120 delay 20ms rate 12000000bit -14
        netem limit 1 delay 0ms rate 12000000bit -14"#]]
    .assert_eq(&written.join("\n"));
}

/// `tc` reads the whole line before it turns to the kernel, so what the kernel answers, if only that it has no netem, says
/// that the line is right.
#[test]
fn tc_reads_what_is_written_for_each_link() {
    use super::super::program;
    use crate::wan::{Namespace, WanError};

    let namespace = match Namespace::empty(Ipv4Addr::UNSPECIFIED) {
        Ok(namespace) => namespace,
        Err(error @ WanError::NotPermitted { .. }) => {
            return testkit::needs::skip(&error.to_string());
        }
        Err(error) => panic!("{error}"),
    };
    let tried = |line: &str| program::tc(&namespace, line);
    let nonsense = tried("qdisc add dev lo root netem delay soon\n").unwrap_err();
    match nonsense {
        WanError::NoProgram(program) => {
            return testkit::needs::skip(&format!("{program} is not installed"));
        }
        nonsense => assert!(!is_without_netem(&nonsense.to_string()), "{nonsense}"),
    }
    for link in kinds() {
        let line = format!("qdisc replace dev lo root {}\n", netem(&link));
        if let Err(error) = tried(&line) {
            assert!(is_without_netem(&error.to_string()), "{error}");
        }
    }
}

/// Whether `tc` turned to the kernel, which has no such discipline.
fn is_without_netem(text: &str) -> bool {
    text.contains("qdisc kind is unknown")
}
