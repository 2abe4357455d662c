//! How a balancer is run.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use server::access_log::LogFormat;
use server::{ServerError, ServerOptions, check_rules};

use crate::backends::{Backend, BackendsError, Source, check_region, is_region};
use crate::fleet::Locality;
use crate::health::HealthOptions;
use crate::http::is_cookie_name;
use crate::policy::Kind;
use crate::weights::LearnOptions;

/// Most attempts beside the first.
const RETRIES_MAX: u32 = 10;

/// Times after which something is given up. All are above 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Timeouts {
    /// A connection to a backend.
    pub connect: Duration,
    /// From a request's last byte to the first of its response's head, and between two bytes of the response.
    pub response: Duration,
    /// A head of a client, from its first byte.
    pub head: Duration,
    /// A connection of a client without a request.
    pub idle: Duration,
    /// A client's body of which nothing comes, or a client that takes nothing of a response. Those slower than 500 bytes a
    /// second are also given up.
    pub stall: Duration,
    /// A request from its head to the end of its response, with all attempts; `None`, the default: it may take for ever as
    /// long as bytes move. A WebSocket has ended as a request when it begins.
    pub request: Option<Duration>,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(2),
            response: Duration::from_secs(60),
            head: Duration::from_secs(10),
            idle: Duration::from_secs(75),
            stall: Duration::from_secs(30),
            request: None,
        }
    }
}

/// How a balancer is run.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct BalancerOptions {
    /// The address to listen on and the threads that serve it.
    pub server: ServerOptions,
    /// The backends.
    pub backends: Source,
    /// How they are chosen.
    pub policy: Kind,
    /// Region of the balancer, and when it uses other regions; `None`, the default: regions do not matter.
    pub locality: Option<Locality>,
    /// How weights are learned from reports of the backends; `None`, the default: they are as listed.
    pub learn: Option<LearnOptions>,
    /// The cookie that keeps a client's requests on one backend; `None`, the default: there is none.
    pub sticky: Option<String>,
    /// The header field by whose value hashing policies know a client; `None`, the default: by its address.
    pub hash_field: Option<String>,
    /// Address of `/metrics`, `/healthz` and `/backends`; `None`, the default: they are not served.
    pub metrics_listen: Option<SocketAddr>,
    /// Most connections of clients at once, for each thread; further ones are dropped.
    pub connections_max: usize,
    /// Longest body of a request, in bytes.
    pub body_max: u64,
    /// Idle connections that are kept to each backend, for each thread.
    pub pool: usize,
    /// When what is given up.
    pub timeouts: Timeouts,
    /// Attempts beside the first, at most 10: only of idempotent requests without a body, and as far as the
    /// budget goes. 0, the default: none.
    pub retries: u32,
    /// Retries as a share of requests, 0 to 1.
    pub retry_budget: f64,
    /// How backends are checked and ejected.
    pub health: HealthOptions,
    /// The access log; `None`, the default: there is none.
    pub access_log: Option<PathBuf>,
    /// How its lines are written.
    pub log_format: LogFormat,
    /// Seed of the draws of policies.
    pub seed: u64,
}

impl BalancerOptions {
    /// The defaults in front of these backends.
    #[must_use]
    pub fn new(backends: Source) -> Self {
        Self {
            server: ServerOptions::default(),
            backends,
            policy: Kind::RoundRobin,
            locality: None,
            learn: None,
            sticky: None,
            hash_field: None,
            metrics_listen: None,
            connections_max: 20_000,
            body_max: 64 << 20,
            pool: 64,
            timeouts: Timeouts::default(),
            retries: 0,
            retry_budget: 0.2,
            health: HealthOptions::default(),
            access_log: None,
            log_format: LogFormat::Combined,
            seed: 1,
        }
    }

    /// The backends as they are listed now. Looks up the names of hosts, and may wait for that.
    ///
    /// # Errors
    /// If they cannot be read, one of them is not a backend, or none is in the balancer's region.
    pub(crate) fn load(&self) -> Result<Vec<Backend>, BackendsError> {
        let backends = self.backends.load()?;
        if let Some(own) = &self.locality {
            check_region(&backends, &own.region)?;
        }
        Ok(backends)
    }

    /// As long as its times are on the machine's clock; see [`server::stretch`].
    #[must_use]
    pub(crate) fn stretched(mut self) -> Self {
        let Timeouts { connect, response, head, idle, stall, request } = &mut self.timeouts;
        let health = &mut self.health;
        let times = [
            connect,
            response,
            head,
            idle,
            stall,
            &mut health.every,
            &mut health.timeout,
            &mut health.eject_for,
            &mut health.eject_window,
            &mut health.slow_start,
        ];
        let learn = self.learn.iter_mut().flat_map(|learn| {
            [&mut learn.every, &mut learn.memory, &mut learn.blackout, &mut learn.expiry]
        });
        times
            .into_iter()
            .chain(learn)
            .chain(request)
            .for_each(|time| *time = server::stretch(*time));
        self
    }

    /// Checks what the types do not.
    ///
    /// # Errors
    /// On the first rule that does not hold.
    pub fn check(&self) -> Result<(), ServerError> {
        self.server.check()?;
        let Timeouts { connect, response, head, idle, stall, request } = self.timeouts;
        check_rules([
            (self.connections_max >= 1, "at least one connection must be allowed"),
            (
                ![connect, response, head, idle, stall].contains(&Duration::ZERO)
                    && request != Some(Duration::ZERO),
                "timeouts must be above 0",
            ),
            (self.retries <= RETRIES_MAX, "retries must be at most 10"),
            ((0.0..=1.0).contains(&self.retry_budget), "retry-budget must be 0 to 100%"),
            (
                self.locality.as_ref().is_none_or(|own| is_region(&own.region)),
                "region must be 1 to 64 letters, digits, '-', '_' or '.'",
            ),
            (
                self.learn.is_none() || self.policy.can_learn(),
                "learned weights need a policy that goes by weights and not by clients: random, weighted-round-robin, \
                 least-connections, two-choices or peak-ewma",
            ),
            (
                self.learn
                    .as_ref()
                    .is_none_or(|learn| !learn.every.is_zero() && !learn.memory.is_zero()),
                "times of learning must be above 0",
            ),
            (
                self.sticky.as_deref().is_none_or(is_cookie_name),
                "sticky must be the name of a cookie: letters, digits and '-' or '_', without the prefixes __Host- and \
                 __Secure-",
            ),
            (
                self.locality.as_ref().is_none_or(|own| own.spill_at > 0.0),
                "spill-at must be a number above 0",
            ),
        ])?;
        self.health.check().map_err(ServerError::Options)
    }
}
