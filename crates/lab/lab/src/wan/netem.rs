//! The network between hosts, emulated by the kernel's netem.
//!
//! Each host has a device whose other end lies in a namespace of the network's own, the middle. There each place has a
//! pair of devices that are each other's ends: what the place's hosts send, wherever to, is routed into the one, and what
//! comes out of the other is routed to the host that it is for. The first one's queueing discipline is HTB, with a class
//! for each place of a destination, and the class's own discipline is netem with the numbers of the link. So all hosts of
//! a place share its links, also that between themselves.

mod commands;
mod counts;
mod program;
mod suits;

use std::collections::BTreeSet;
use std::net::Ipv4Addr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::commands::Leaf;
use self::counts::LinkCounts;
pub use self::program::available;
pub use self::suits::{Suits, suits};
use crate::wan::network::{Emulator, Network, NetworkCounts, Subnet};
use crate::wan::sys::DEVICE;
use crate::wan::{Link, Loss, Namespace, WanError};

/// Most places: the numbers of classes and disciplines end there.
const PLACES_MAX: usize = 1_000;

/// A network of netem's.
#[derive(Debug)]
pub(crate) struct Netem {
    middle: Namespace,
    subnets: Vec<Subnet>,
    leaf: Leaf,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    links: Vec<Link>,
    hosts: BTreeSet<Ipv4Addr>,
    /// Counts of each link's discipline when they were last read.
    sent: Vec<LinkCounts>,
    done: NetworkCounts,
}

impl Netem {
    /// Makes the middle.
    pub(crate) fn start(subnets: &[Subnet], links: Vec<Link>) -> Result<Netem, WanError> {
        available()?;
        Netem::with(subnets, links, commands::netem)
    }

    /// With another discipline in netem's place.
    fn with(subnets: &[Subnet], links: Vec<Link>, leaf: Leaf) -> Result<Netem, WanError> {
        check(subnets, &links)?;
        let middle = Namespace::router()?;
        program::ip(&middle, &commands::devices(subnets))?;
        program::tc(&middle, &commands::queues(subnets, &links, leaf))?;
        program::await_up(&middle, &commands::devices_of_places(subnets.len()))?;
        let sent = vec![LinkCounts::default(); links.len()];
        Ok(Netem {
            middle,
            subnets: subnets.to_vec(),
            leaf,
            inner: Mutex::new(Inner {
                links,
                hosts: BTreeSet::new(),
                sent,
                done: NetworkCounts::default(),
            }),
        })
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn pair(&self, from: u16, to: u16) -> Result<usize, WanError> {
        self.subnet(from)?;
        self.subnet(to)?;
        Ok(usize::from(from) * self.subnets.len() + usize::from(to))
    }

    fn subnet(&self, place: u16) -> Result<Subnet, WanError> {
        let subnet = self.subnets.get(usize::from(place)).copied();
        subnet.ok_or(WanError::NoSuchPlace { place, places: self.subnets.len() as u16 })
    }

    /// Adds what the disciplines counted since they were looked at last. What one dropped is lost as requested if its
    /// link may lose packets as it is now; netem does not say why it dropped a packet.
    fn count(&self, inner: &mut Inner) -> Result<(), WanError> {
        let text = program::counts(&self.middle)?;
        let now = counts::read(&text, self.subnets.len());
        for ((link, before), now) in inner.links.iter().zip(&mut inner.sent).zip(now) {
            let dropped = now.dropped.saturating_sub(before.dropped);
            inner.done.packets += now.packets.saturating_sub(before.packets);
            match link.cut || link.rate.is_some() || link.loss != Loss::None {
                true => inner.done.lost += dropped,
                false => inner.done.overflow += dropped,
            }
            *before = now;
        }
        Ok(())
    }
}

impl Network for Netem {
    fn emulator(&self) -> Emulator {
        Emulator::Netem
    }

    fn add_host(&self, place: u16, address: Ipv4Addr) -> Result<Namespace, WanError> {
        let subnet = self.subnet(place)?;
        if !subnet.contains(address) {
            return Err(WanError::WrongPlace { address, place, subnet });
        }
        let mut inner = self.inner();
        if inner.hosts.contains(&address) {
            return Err(WanError::AddressInUse(address));
        }
        let number = inner.hosts.len() + 1;
        let host = Namespace::empty(address)?;
        program::ip(&self.middle, &commands::host(number, address, &host.path()))?;
        program::ip(&host, &commands::inside(address))?;
        program::await_up(&self.middle, &[commands::device_of_host(number)])?;
        program::await_up(&host, &[DEVICE.to_owned()])?;
        inner.hosts.insert(address);
        Ok(host)
    }

    fn set_link(&self, from: u16, to: u16, link: Link) -> Result<(), WanError> {
        let pair = self.pair(from, to)?;
        link.check_between(from, to)?;
        if let Suits::No(why) = suits(&[link]) {
            return Err(WanError::NotByNetem(why));
        }
        let mut inner = self.inner();
        self.count(&mut inner)?;
        program::tc(&self.middle, &commands::change(from, to, &link, self.leaf))?;
        inner.links[pair] = link;
        Ok(())
    }

    fn link(&self, from: u16, to: u16) -> Result<Link, WanError> {
        let pair = self.pair(from, to)?;
        Ok(self.inner().links[pair])
    }

    fn done(&self) -> Result<NetworkCounts, WanError> {
        let mut inner = self.inner();
        self.count(&mut inner)?;
        Ok(inner.done)
    }

    fn reset(&self) -> Result<(), WanError> {
        let mut inner = self.inner();
        self.count(&mut inner)?;
        inner.done = NetworkCounts::default();
        Ok(())
    }
}

fn check(subnets: &[Subnet], links: &[Link]) -> Result<(), WanError> {
    let places = subnets.len();
    if places * places != links.len() || places > PLACES_MAX {
        return Err(WanError::NotAMatrix(links.len()));
    }
    for (number, link) in links.iter().enumerate() {
        link.check_between((number / places) as u16, (number % places) as u16)?;
    }
    if let Suits::No(why) = suits(links) {
        return Err(WanError::NotByNetem(why));
    }
    for (place, subnet) in subnets.iter().enumerate() {
        let mut others = subnets.iter().skip(place + 1);
        if others.any(|other| other.contains(subnet.first) || subnet.contains(other.first)) {
            return Err(WanError::AddressInUse(subnet.first));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
