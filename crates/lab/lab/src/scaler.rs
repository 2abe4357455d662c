//! Keeps scaling groups at what their alarms want: a thread that reads metrics, decides and acts, and the callers.
//!
//! Decisions are made by the pure modules of [`scaling`](crate::scaling); here are processes, clocks and
//! sockets.

mod live;
mod metrics;
mod page;

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use httpd::Listener;
use machine::clock::unix_ns;

use crate::clock::{now, rest};
use crate::file::ScalingGroup;
use crate::message::{GroupStatus, HostUsage};
use crate::scaling::usage::Usage;
use crate::site::Site;
use crate::wan::Network;
use live::Live;

/// How often groups are looked at.
const TICK: Duration = Duration::from_millis(100);
/// How often metrics are read.
const SAMPLE_NS: u64 = 500_000_000;
/// How long groups may take to get to what they desire before a run.
const STEADY_MAX: Duration = Duration::from_secs(120);

/// The scaling groups of a lab.
pub(crate) struct Scaler {
    shared: Arc<ScalerState>,
    thread: Mutex<Option<JoinHandle<()>>>,
    page: Listener,
}

/// State that the thread and the callers share.
pub(crate) struct ScalerState {
    site: Arc<Site>,
    network: Arc<dyn Network>,
    stop: AtomicBool,
    inner: Mutex<Inner>,
    /// Reports of the threads that start and end instances: group, place, and the result.
    news: Mutex<Vec<(usize, usize, InstanceChange)>>,
}

/// Result of starting or ending an instance.
enum InstanceChange {
    Started,
    Failed(String),
    Ended,
}

struct Inner {
    groups: Vec<Live>,
    /// Use of each host, by number.
    usages: Vec<Usage>,
}

impl Scaler {
    /// The groups of a lab whose instances have not started yet.
    ///
    /// # Errors
    /// The page of metrics has no socket.
    pub(crate) fn new(site: &Arc<Site>, network: &Arc<dyn Network>) -> std::io::Result<Scaler> {
        let now_ns = unix_ns();
        let file = &site.directory.file;
        let mut usages: Vec<Usage> = Vec::new();
        for (number, host) in file.hosts.iter().enumerate() {
            let mut usage = Usage::new(host.billing_ns);
            if !file.scaling.iter().any(|group| group.hosts.contains(&number)) {
                usage.begin(now_ns);
            }
            usages.push(usage);
        }
        let shared = Arc::new(ScalerState {
            site: Arc::clone(site),
            network: Arc::clone(network),
            stop: AtomicBool::new(false),
            inner: Mutex::new(Inner { groups: Vec::new(), usages }),
            news: Mutex::default(),
        });
        let page = page::serve(&shared)?;
        Ok(Scaler { shared, thread: Mutex::new(None), page })
    }

    /// All instances that groups desire run: from now on alarms count.
    pub(crate) fn start(&self) {
        let groups = &self.shared.site.directory.file.scaling;
        if groups.is_empty() {
            return;
        }
        let now_ns = unix_ns();
        let mut inner = self.shared.inner();
        for group in groups {
            for host in &group.hosts[..group.rules.desired as usize] {
                inner.usages[*host].begin(now_ns);
            }
            inner.groups.push(Live::new(group, &self.shared.site.directory.file, now_ns));
        }
        drop(inner);
        let shared = Arc::clone(&self.shared);
        let thread = std::thread::spawn(move || {
            let mut sample_ns = 0;
            while !shared.stop.load(Ordering::Relaxed) {
                let now_ns = unix_ns();
                if now_ns >= sample_ns {
                    metrics::sample(&shared);
                    sample_ns = now_ns + SAMPLE_NS;
                }
                shared.tick(unix_ns());
                rest(TICK);
            }
        });
        *self.thread() = Some(thread);
    }

    /// Nothing is launched or ended from now on.
    pub(crate) fn stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread().take() {
            let _ = thread.join();
        }
    }

    fn thread(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.thread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Brings the groups to what they desire, those of `own` by these rules, the others by the file's; waits until they
    /// are there. Nothing boots for that. An error says which is not.
    pub(crate) fn prepare(&self, own: &[ScalingGroup]) -> Result<(), String> {
        let now_ns = unix_ns();
        let file = &self.shared.site.directory.file.scaling;
        let is_known = |own: &&ScalingGroup| file.iter().any(|known| known.service == own.service);
        if let Some(other) = own.iter().find(|own| !is_known(own)) {
            let services = &self.shared.site.directory.file.services;
            let name = &services[other.service].name;
            return Err(format!(
                "`{name}` is no scaling group of the lab's file, so all of its instances run: add it there"
            ));
        }
        let mut inner = self.shared.inner();
        for (live, written) in inner.groups.iter_mut().zip(file) {
            let is_it = |own: &&ScalingGroup| {
                own.service == written.service && own.region == written.region
            };
            let group = own.iter().find(is_it).unwrap_or(written);
            live.restart(&group.rules, now_ns);
        }
        drop(inner);
        let limit = now() + STEADY_MAX;
        loop {
            let inner = self.shared.inner();
            let Some(live) = inner.groups.iter().find(|live| live.is_working()) else {
                return Ok(());
            };
            let status = live.status(&self.shared.site.directory.file);
            drop(inner);
            if now() > limit {
                return Err(format!(
                    "{} has {} of {} instances after {} s",
                    status.service,
                    status.running,
                    status.desired,
                    STEADY_MAX.as_secs()
                ));
            }
            rest(TICK);
        }
    }

    /// A run begins at this time: periods of alarms, uses of hosts and rests count from then on.
    pub(crate) fn begin(&self, zero_ns: u64) {
        let mut inner = self.shared.inner();
        inner.usages.iter_mut().for_each(|usage| usage.reset(zero_ns));
        inner.groups.iter_mut().for_each(|live| live.begin(zero_ns));
    }

    /// The run's users.
    pub(crate) fn crowd(&self, users: u64, arrivals_per_s: f64) {
        let now_ns = unix_ns();
        let mut inner = self.shared.inner();
        let groups = inner.groups.iter_mut();
        groups.for_each(|live| live.add_crowd(now_ns, users as f64, arrivals_per_s));
    }

    /// Sets the number of a service's instances, in each of its regions or in one. An error says why not.
    pub(crate) fn set(
        &self,
        service: &str,
        region: Option<&str>,
        count: u32,
    ) -> Result<(), String> {
        let file = &self.shared.site.directory.file;
        let mut inner = self.shared.inner();
        let is_meant = |live: &&mut Live| {
            let status = live.status(file);
            let is_region = region.is_none_or(|region| status.region.as_deref() == Some(region));
            status.service == service && is_region
        };
        let meant: Vec<&mut Live> = inner.groups.iter_mut().filter(is_meant).collect();
        if meant.is_empty() {
            let place = region.map_or(String::new(), |region| format!(" in `{region}`"));
            return Err(format!("there is no scaling group of `{service}`{place}"));
        }
        for live in meant {
            let decision = live.set(count).map_err(|error| format!("`{service}`: {error}"))?;
            let text = format!("{}: {}", live.name(file), decision.describe());
            self.shared.site.events.add(text);
        }
        Ok(())
    }

    /// URL of the page of metrics.
    pub(crate) fn page_url(&self) -> String {
        format!("http://{}/metrics", self.page.address())
    }

    /// How the groups are.
    pub(crate) fn status(&self) -> Vec<GroupStatus> {
        let file = &self.shared.site.directory.file;
        let inner = self.shared.inner();
        inner.groups.iter().map(|live| live.status(file)).collect()
    }

    /// The use of each host of the file.
    pub(crate) fn uses(&self) -> Vec<HostUsage> {
        let now_ns = unix_ns();
        let inner = self.shared.inner();
        let uses = inner.usages.iter();
        uses.map(|usage| {
            let total = usage.total(now_ns);
            HostUsage {
                is_in_use: usage.is_in_use(),
                used_ns: total.used_ns,
                billed_ns: total.billed_ns,
            }
        })
        .collect()
    }
}

impl ScalerState {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn news(&self) -> MutexGuard<'_, Vec<(usize, usize, InstanceChange)>> {
        self.news.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes what happened, decides, and begins what follows.
    fn tick(self: &Arc<Self>, now_ns: u64) {
        let news = std::mem::take(&mut *self.news());
        let mut inner = self.inner();
        let Inner { groups, usages } = &mut *inner;
        for (group, place, news) in news {
            groups[group].take(place, &news, now_ns, usages);
            if let InstanceChange::Failed(why) = news {
                self.site.events.add(format!("{why}; another is launched"));
            }
        }
        for (number, live) in groups.iter_mut().enumerate() {
            live.replace_dead(&self.site, now_ns, usages);
            live.decide(&self.site, now_ns);
            live.act(self, number, now_ns, usages);
        }
    }

    /// Starts or ends an instance on a thread of its own, which reports what became of it.
    fn begin(
        self: &Arc<Self>,
        group: usize,
        place: usize,
        work: impl FnOnce(&Site) -> InstanceChange + Send + 'static,
    ) {
        let shared = Arc::clone(self);
        let begun = std::thread::Builder::new().spawn(move || {
            let news = work(&shared.site);
            shared.news().push((group, place, news));
        });
        if let Err(error) = begun {
            let news = InstanceChange::Failed(format!("no thread can be started: {error}"));
            self.news().push((group, place, news));
        }
    }
}
