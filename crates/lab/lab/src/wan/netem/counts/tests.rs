use super::*;

/// As iproute2 6.1 prints it.
const TEXT: &str = "\
qdisc noqueue 0: dev lo root refcnt 2
 Sent 0 bytes 0 pkt (dropped 9, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc htb 1: dev out0 root refcnt 3 r2q 10 default 0 direct_packets_stat 6 direct_qlen 1000
 Sent 6120 bytes 18 pkt (dropped 3, overlimits 8 requeues 0)
 backlog 0b 0p requeues 0
qdisc netem 3: dev out0 parent 1:2 limit 200000 delay 39ms
 Sent 5040 bytes 12 pkt (dropped 3, overlimits 0 requeues 1)
 backlog 420b 1p requeues 1
qdisc netem 2: dev out1 parent 1:1 limit 200000 loss 1%
 Sent 18446744073709551615 bytes 5000000000 pkt (dropped 7, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
qdisc netem 9: dev out7 parent 1:1 limit 1000
 Sent 1 bytes 1 pkt (dropped 1, overlimits 0 requeues 0)
 backlog 0b 0p requeues 0
";

#[test]
fn counts_are_those_of_the_disciplines_below_classes() {
    let sent = read(TEXT, 2);
    let counted = |packets, dropped| LinkCounts { packets, dropped };
    let expected = [counted(0, 0), counted(12, 3), counted(5_000_000_000, 7), counted(0, 0)];
    assert_eq!(sent, expected);
}

#[test]
fn whatever_is_printed_is_read_to_its_end() {
    for length in 0..TEXT.len() {
        assert_eq!(read(&TEXT[..length], 2).len(), 4);
    }
    let wrong = "qdisc netem 2: dev out0 parent\nqdisc x dev out1 parent 1:1\n Sent pkt (dropped";
    assert_eq!(read(wrong, 2), vec![LinkCounts::default(); 4]);
}
