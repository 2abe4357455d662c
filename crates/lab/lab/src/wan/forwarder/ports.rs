//! The hosts' devices, by number for epoll and by address for packets.

use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;

use super::Port;
use crate::wan::WanError;

/// A device in use.
#[derive(Debug)]
pub(super) struct Device {
    pub place: u16,
    pub tun: OwnedFd,
    address: u32,
}

/// All devices. Numbers of removed ones are used again.
#[derive(Debug, Default)]
pub(super) struct Ports {
    devices: Vec<Option<Device>>,
    /// (address, number), by address.
    by_address: Vec<(u32, u32)>,
}

impl Ports {
    /// Adds a device and returns its number.
    pub(super) fn add(&mut self, port: Port) -> Result<u32, WanError> {
        let address = u32::from(port.address);
        let Err(at) = self.find(address) else {
            return Err(WanError::AddressInUse(port.address));
        };
        let free = self.devices.iter().position(Option::is_none);
        let number = free.unwrap_or(self.devices.len());
        let device = Some(Device { place: port.place, tun: port.tun, address });
        match free {
            Some(free) => self.devices[free] = device,
            None => self.devices.push(device),
        }
        self.by_address.insert(at, (address, number as u32));
        Ok(number as u32)
    }

    /// Removes a device.
    pub(super) fn remove(&mut self, address: Ipv4Addr) -> Result<OwnedFd, WanError> {
        let missing = WanError::NoSuchAddress(address);
        let Ok(at) = self.find(u32::from(address)) else {
            return Err(missing);
        };
        let (_, number) = self.by_address.remove(at);
        let device = self.devices[number as usize].take();
        device.map(|device| device.tun).ok_or(missing)
    }

    /// The device of this number, and its address.
    pub(super) fn by_number(&self, number: u32) -> Option<(&Device, u32)> {
        let device = self.devices.get(number as usize)?.as_ref()?;
        Some((device, device.address))
    }

    pub(super) fn by_address(&self, address: u32) -> Option<&Device> {
        let (_, number) = self.by_address[self.find(address).ok()?];
        self.devices[number as usize].as_ref()
    }

    fn find(&self, address: u32) -> Result<usize, usize> {
        self.by_address.binary_search_by_key(&address, |&(address, _)| address)
    }
}
