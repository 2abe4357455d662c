//! For how long a host is in use, and for how long it is paid.
//!
//! Each time that it is in use is paid in whole units: what is begun counts. Machines of 2015 were paid by the hour that was
//! begun; since 2017 most are paid by the second.

/// The use of a host.
#[derive(Debug, Clone)]
pub struct Usage {
    unit_ns: u64,
    /// Since when it is in use.
    since_ns: Option<u64>,
    /// Sums over the earlier times of use.
    used: UsageTotal,
}

/// Times in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageTotal {
    /// Time in use.
    pub used_ns: u64,
    /// Time that is paid for.
    pub billed_ns: u64,
}

impl Usage {
    /// Not in use. It is paid for in units of this length, above 0.
    pub fn new(unit_ns: u64) -> Usage {
        Usage { unit_ns, since_ns: None, used: UsageTotal::default() }
    }

    /// Whether it is in use.
    pub fn is_in_use(&self) -> bool {
        self.since_ns.is_some()
    }

    /// It is in use from now on.
    pub fn begin(&mut self, now_ns: u64) {
        self.since_ns.get_or_insert(now_ns);
    }

    /// It is no longer in use.
    pub fn end(&mut self, now_ns: u64) {
        self.used = self.total(now_ns);
        self.since_ns = None;
    }

    /// Counts from now on; what is in use is as if its use began now.
    pub fn reset(&mut self, now_ns: u64) {
        self.used = UsageTotal::default();
        self.since_ns = self.since_ns.map(|_| now_ns);
    }

    /// Sums up to this time.
    pub fn total(&self, now_ns: u64) -> UsageTotal {
        let open_ns = self.since_ns.map_or(0, |since_ns| now_ns.saturating_sub(since_ns));
        let units = open_ns.div_ceil(self.unit_ns);
        UsageTotal {
            used_ns: self.used.used_ns + open_ns,
            billed_ns: self.used.billed_ns.saturating_add(units.saturating_mul(self.unit_ns)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_use_is_paid_in_units_that_are_begun() {
        let mut usage = Usage::new(60);
        let used = |used_ns, billed_ns| UsageTotal { used_ns, billed_ns };
        assert_eq!(usage.total(1_000), used(0, 0));
        usage.begin(100);
        usage.begin(110);
        assert_eq!(usage.total(101), used(1, 60));
        usage.end(160);
        assert_eq!(usage.total(500), used(60, 60));
        usage.begin(500);
        assert_eq!(usage.total(561), used(121, 180));
        usage.reset(600);
        assert_eq!(usage.total(630), used(30, 60));
        usage.end(630);
        usage.reset(700);
        assert_eq!(usage.total(700), used(0, 0));
    }
}
