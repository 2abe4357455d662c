//! Commands for `ip` and `tc`, as lines of their batch files (ip(8), tc(8), tc-htb(8), tc-u32(8),
//! tc-netem(8)).
//!
//! In the middle, `out3` and `in3` are the ends of place 3, `host7` leads to the seventh host. Both ends of a pair have
//! the same hardware address and resolve none (`arp off`): a packet is for whoever is at the other end.

use std::fmt::Write;
use std::net::Ipv4Addr;

use crate::wan::link::{Backlog, Jitter, Link, Loss, RATE_BITS_MAX, Rate};
use crate::wan::network::{MTU, Subnet};
use crate::wan::sys::DEVICE;

/// The line of a discipline and its options, for a link.
pub(super) type Leaf = fn(&Link) -> String;

/// The hardware address of all devices: one that is administered locally (IEEE 802, second bit of the first octet).
const HARDWARE: &str = "02:00:00:00:00:01";
/// Tables of routes, one for what the hosts of a place send.
const FIRST_TABLE: usize = 1_000;
/// The rule for what comes out of a place's devices is looked at before that for what its hosts send.
const ARRIVING: usize = 100;
const DEPARTING: usize = 200;
/// Faster than packets come, so that classes only sort: HTB needs a rate.
const CLASS_RATE: &str = "100gbit";
/// Amount that a class may send before the next one, in bytes.
const CLASS_QUANTUM: u32 = 60_000;
/// Packets that a link holds: 512 MiB of full ones, as the kernel counts their memory.
const PACKETS_MAX: u64 = 200_000;
/// The header of Ethernet, which no link's rate counts, in bytes.
const ETHERNET_BYTES: u32 = 14;

/// For `ip`, in the middle: the devices of all places, and the routes through them.
pub(super) fn devices(subnets: &[Subnet]) -> String {
    let mut text = String::new();
    for (place, subnet) in subnets.iter().enumerate() {
        let table = FIRST_TABLE + place;
        // Writing to a String cannot fail.
        let _ = write!(
            text,
            "link add name out{place} address {HARDWARE} mtu {MTU} type veth peer name in{place} address {HARDWARE} mtu {MTU}\n\
             link set dev out{place} arp off up\n\
             link set dev in{place} arp off up\n\
             route add default dev out{place} table {table}\n\
             rule add priority {ARRIVING} iif in{place} lookup main\n\
             rule add priority {DEPARTING} from {subnet} lookup {table}\n"
        );
    }
    text
}

/// The names of all devices that [`devices`] makes.
pub(super) fn devices_of_places(places: usize) -> Vec<String> {
    let pair = |place| [format!("out{place}"), format!("in{place}")];
    (0..places).flat_map(pair).collect()
}

/// The name of the device that leads to a host.
pub(super) fn device_of_host(number: usize) -> String {
    format!("host{number}")
}

/// For `tc`, in the middle: the disciplines of all links.
pub(super) fn queues(subnets: &[Subnet], links: &[Link], leaf: Leaf) -> String {
    let mut text = String::new();
    for from in 0..subnets.len() {
        let _ = writeln!(text, "qdisc add dev out{from} root handle 1: htb default 0");
        for (to, subnet) in subnets.iter().enumerate() {
            let class = class(to);
            let handle = handle(to);
            let leaf = leaf(&links[from * subnets.len() + to]);
            let _ = write!(
                text,
                "class add dev out{from} parent 1: classid {class} htb rate {CLASS_RATE} quantum {CLASS_QUANTUM}\n\
                 qdisc add dev out{from} parent {class} handle {handle} {leaf}\n\
                 filter add dev out{from} parent 1: protocol ip prio 1 u32 match ip dst {subnet} flowid {class}\n"
            );
        }
    }
    text
}

/// For `tc`, in the middle: another link.
pub(super) fn change(from: u16, to: u16, link: &Link, leaf: Leaf) -> String {
    let class = class(usize::from(to));
    let handle = handle(usize::from(to));
    let leaf = leaf(link);
    format!("qdisc change dev out{from} parent {class} handle {handle} {leaf}\n")
}

/// For `ip`, in the middle: the way to a host, whose namespace has this path.
pub(super) fn host(number: usize, address: Ipv4Addr, path: &str) -> String {
    let device = device_of_host(number);
    format!(
        "link add name {device} address {HARDWARE} mtu {MTU} type veth peer name {DEVICE} netns {path} address {HARDWARE} mtu {MTU}\n\
         link set dev {device} arp off up\n\
         route add {address}/32 dev {device}\n"
    )
}

/// For `ip`, on a host. TCP sends its segments one by one: netem would lose and delay several as one.
pub(super) fn inside(address: Ipv4Addr) -> String {
    format!(
        "link set dev lo up\n\
         address add {address}/32 dev {DEVICE}\n\
         link set dev {DEVICE} arp off gso_max_segs 1 up\n\
         route add default dev {DEVICE}\n"
    )
}

/// The name of the class of packets to a place; `tc` reads hexadecimal numbers.
fn class(to: usize) -> String {
    format!("1:{:x}", to + 1)
}

/// The place of a class.
pub(super) fn place_of_class(class: &str) -> Option<usize> {
    let number = usize::from_str_radix(class.strip_prefix("1:")?, 16).ok()?;
    number.checked_sub(1)
}

/// The name of the discipline of packets to a place. Its own number comes behind that of the root.
fn handle(to: usize) -> String {
    format!("{:x}:", to + 2)
}

/// A link as netem's. All that `change` would otherwise leave as it was is given.
pub(super) fn netem(link: &Link) -> String {
    let limit = packets(link);
    let delay = time(link.delay_ns);
    let mut text = format!("netem limit {limit} delay {delay}");
    if let Jitter::Normal { sd_ns } = link.jitter {
        let _ = write!(text, " {} distribution normal", time(sd_ns));
    }
    let lost = if link.cut { Loss::Independent { p: 1.0 } } else { link.loss };
    match lost {
        Loss::None => {}
        Loss::Independent { p } => {
            let _ = write!(text, " loss random {}", percent(p));
        }
        Loss::GilbertElliott { good_to_bad, bad_to_good, loss_good, loss_bad } => {
            let [p, r, h, k] = [good_to_bad, bad_to_good, loss_bad, loss_good].map(percent);
            let _ = write!(text, " loss gemodel {p} {r} {h} {k}");
        }
    }
    // Without a delay nothing is overtaken, and `tc` refuses it.
    if link.reorder > 0.0 && link.delay_ns > 0 {
        let _ = write!(text, " reorder {} gap 1", percent(link.reorder));
    }
    let _ = write!(text, " rate {}bit -{ETHERNET_BYTES}", rate(link));
    text
}

/// Bits per second; 0: none. With a rate netem keeps the order of packets, also under jitter, as links do that do not
/// reorder; without one of their own they have one that nothing meets.
fn rate(link: &Link) -> u64 {
    match link.rate {
        Some(rate) => rate.bits_per_s,
        None if link.jitter != Jitter::None && link.reorder == 0.0 => RATE_BITS_MAX,
        None => 0,
    }
}

/// The packets that wait at most. netem has one limit for those that are delayed and those that wait for the rate.
fn packets(link: &Link) -> u64 {
    let Some(Rate { bits_per_s, backlog }) = link.rate else {
        return PACKETS_MAX;
    };
    let in_time = |ns: u64| u128::from(bits_per_s) * u128::from(ns) / 8_000_000_000;
    let queue = match backlog {
        Backlog::Bytes(bytes) => u128::from(bytes),
        Backlog::Time(ns) => in_time(ns),
    };
    let packets = (in_time(link.delay_ns) + queue).div_ceil(u128::from(MTU));
    packets.clamp(1, u128::from(PACKETS_MAX)) as u64
}

/// A share, as exactly as netem has it: 32 bits.
fn percent(share: f64) -> String {
    format!("{}%", without_zeros(&format!("{:.8}", share * 100.0)))
}

/// A time, in milliseconds: not all versions of `tc` take nanoseconds.
fn time(ns: u64) -> String {
    let text = format!("{}.{:06}", ns / 1_000_000, ns % 1_000_000);
    format!("{}ms", without_zeros(&text))
}

/// A number without the zeros that end its fraction.
fn without_zeros(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests;
