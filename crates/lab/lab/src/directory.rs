//! Which names and addresses there are: for the name server and for templates.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use stats::rng::{Purpose, Rng};

use crate::clock::stretch;
use crate::dns::Addresses;
use crate::file::{CONTROL, LabFile, Piece, Policy, Program, Property, Template};
use crate::instance::SharedView;
use crate::layout::{HostPlan, nearest};
use crate::message::{InstanceState, NameStatus};
use crate::pieces;
use crate::policy::{choose, decision_ns};

/// How long the address of a host may be kept: it does not change.
const HOST_TTL_S: u32 = 60;

/// Directory of a lab's hosts and services.
pub(crate) struct Directory {
    pub(crate) file: LabFile,
    /// All hosts; those of the file come first, by their numbers.
    pub(crate) plans: Vec<HostPlan>,
    pub(crate) password: String,
    /// The directory of the lab's file.
    pub(crate) beside: PathBuf,
    /// The directory of the lab's certificate.
    certificate: PathBuf,
    /// How instances are, by service and host; those that have not started are not in it.
    seen: Mutex<Vec<((usize, usize), SharedView)>>,
    draws: Mutex<Rng>,
    /// Questions for a name that exists, by name and region.
    questions: Mutex<BTreeMap<(String, usize), u64>>,
}

/// A template that cannot be filled in.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FillError {
    /// The service has no such property.
    #[error("`{service}` has no {what}")]
    Missing {
        /// The service.
        service: String,
        /// `port` or `url`.
        what: &'static str,
    },
}

impl Directory {
    pub(crate) fn new(
        file: LabFile,
        plans: Vec<HostPlan>,
        password: String,
        beside: &Path,
        certificate: PathBuf,
    ) -> Directory {
        Directory {
            file,
            plans,
            password,
            beside: beside.to_owned(),
            certificate,
            seen: Mutex::new(Vec::new()),
            draws: Mutex::new(Rng::new(0, 0, Purpose::Server)),
            questions: Mutex::default(),
        }
    }

    /// An instance has started.
    pub(crate) fn add(&self, service: usize, host: usize, seen: SharedView) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.push(((service, host), seen));
    }

    /// An instance is no longer there, or is about to go.
    pub(crate) fn remove(&self, service: usize, host: usize) {
        let mut all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(of, _)| *of != (service, host));
    }

    /// The hosts that a service has instances on; those that it may have some on if it has none.
    fn hosts_of(&self, service: usize) -> Vec<usize> {
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let hosts = &self.file.services[service].hosts;
        let has_one = |host: &usize| all.iter().any(|(of, _)| *of == (service, *host));
        let launched: Vec<usize> = hosts.iter().copied().filter(has_one).collect();
        match launched.is_empty() {
            true => hosts.clone(),
            false => launched,
        }
    }

    fn is_well(&self, service: usize, host: usize) -> bool {
        let all = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let found = all.iter().find(|(of, _)| *of == (service, host));
        found.is_some_and(|(_, seen)| seen.get().state == InstanceState::Ready)
    }

    /// The name of an instance: the service's, with the host's if there are several.
    pub(crate) fn instance(&self, service: usize, host: usize) -> String {
        let of = &self.file.services[service];
        match of.hosts.len() {
            1 => of.name.clone(),
            _ => format!("{}@{}", of.name, self.file.hosts[host].name),
        }
    }

    /// Addresses of a name for a user of a region, and how long they may be kept in seconds.
    pub(crate) fn resolve(&self, name: &str, region: usize) -> Option<Addresses> {
        let found = self.find(name, region)?;
        let mut questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        *questions.entry((name.to_owned(), region)).or_insert(0) += 1;
        Some(found)
    }

    /// How often each name was queried, by the region of the question.
    pub(crate) fn questions(&self) -> Vec<NameStatus> {
        let questions = self.questions.lock().unwrap_or_else(PoisonError::into_inner);
        let all = questions.iter().map(|((name, region), count)| NameStatus {
            name: name.clone(),
            region: self.region_name(*region),
            questions: *count,
        });
        all.collect()
    }

    /// The name of a region by number, or of the place that conducts.
    fn region_name(&self, region: usize) -> String {
        let regions = &self.file.regions;
        regions.get(region).cloned().unwrap_or_else(|| CONTROL.to_owned())
    }

    fn find(&self, name: &str, region: usize) -> Option<Addresses> {
        let written = self.file.names.iter().find(|known| known.name == name);
        let services = &self.file.services;
        let (service, policy, ttl_s) = match written {
            Some(written) => (written.service, &written.policy, written.ttl_s),
            None => match services.iter().position(|service| service.name == name) {
                Some(service) => (service, &Policy::Simple, 0),
                None => {
                    let host = self.plans.iter().find(|host| host.name == name)?;
                    let list = vec![host.address];
                    return Some(Addresses { list, ttl_s: HOST_TTL_S, ..Addresses::default() });
                }
            },
        };
        let draw = self.draws.lock().unwrap_or_else(PoisonError::into_inner).unit();
        let is_well = |host: usize| self.is_well(service, host);
        let hosts = choose(policy, &self.file, region, &self.hosts_of(service), &is_well, draw);
        let addresses = hosts.iter().map(|host| self.plans[*host].address);
        let decision = Duration::from_nanos(decision_ns(policy, &self.file, region));
        Some(Addresses { list: addresses.collect(), ttl_s, decision: stretch(decision) })
    }

    /// A template's text for a process in a region, on a host if it is one of the file's, with a directory of its own
    /// if it has one.
    pub(crate) fn fill(
        &self,
        template: &Template,
        host: &HostPlan,
        folder: Option<&Path>,
    ) -> Result<String, FillError> {
        template.fill(|piece| match piece {
            Piece::Text(text) => Ok(text.clone()),
            Piece::Host => Ok(host.address.to_string()),
            Piece::Region => {
                let region = self.file.regions.get(usize::from(host.place));
                Ok(region.cloned().unwrap_or_else(|| host.name.clone()))
            }
            Piece::Name => Ok(host.name.clone()),
            Piece::Folder => Ok(folder.unwrap_or(&self.beside).display().to_string()),
            Piece::Lab => Ok(self.beside.display().to_string()),
            Piece::Certificate(file) => {
                Ok(self.certificate.join(file.name()).display().to_string())
            }
            Piece::Of(service, property) => self.property(*service, *property, host),
        })
    }

    fn property(
        &self,
        service: usize,
        property: Property,
        host: &HostPlan,
    ) -> Result<String, FillError> {
        let of = &self.file.services[service];
        let missing = |what| FillError::Missing { service: of.name.clone(), what };
        let hosts = self.hosts_of(service);
        let chosen = nearest(&self.file, usize::from(host.place), &hosts);
        let address = chosen.map(|host| self.plans[host].address);
        let address = address.ok_or_else(|| missing("host"))?;
        let port = of.port.ok_or_else(|| missing("port"));
        let url = |address, port| match &of.program {
            Program::Package { package, .. } => {
                pieces::url(*package, address, port, &self.password)
            }
            Program::Command(_) => format!("http://{address}:{port}/"),
        };
        let all = of.hosts.iter().map(|host| self.plans[*host].address);
        let list = |all: Vec<String>| all.join(",");
        match property {
            Property::Address => Ok(address.to_string()),
            Property::Port => Ok(port?.to_string()),
            Property::Url => Ok(url(address, port?)),
            Property::Addresses => {
                let port = port?;
                Ok(list(all.map(|address| format!("{address}:{port}")).collect()))
            }
            Property::Urls => {
                let port = port?;
                Ok(list(all.map(|address| url(address, port)).collect()))
            }
        }
    }
}
