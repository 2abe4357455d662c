//! Redirects: how many are followed, and where they may lead.

use plan::{MeasureId, MeasureKind, Op, Save, Session, Source, StatusRule, builtin};

use super::Checker;
use super::fields::Fields;

/// Most redirects that a request may follow; browsers follow 20.
const REDIRECTS_MAX: u64 = 50;

impl Checker<'_> {
    /// Compiles the options of redirects: their number is kept, and their hosts can be reached.
    pub(super) fn redirect_options(&mut self, fields: &Fields<'_>) {
        if let Some(node) = fields.get_or_default("redirects") {
            let count = self.count_within(&node, 0..=REDIRECTS_MAX);
            self.redirects = count.unwrap_or(0) as u8;
        }
        let hosts = fields.get("redirect_hosts");
        for node in hosts.map_or(&[][..], |node| self.one_or_more(node)) {
            if let Some(word) = self.word(node, "a URL like https://login.example.org") {
                self.bare_endpoint(word.text.trim_end_matches('/'), &word.place);
            }
        }
    }

    /// How many redirects a request follows. One that expects a redirect, or saves where it leads, wants
    /// the redirect itself.
    pub(super) fn redirects_of(
        &mut self,
        fields: &Fields<'_>,
        status: &StatusRule,
        save: &[Save],
    ) -> u8 {
        if let Some(node) = fields.get("redirects") {
            return self.count_within(node, 0..=REDIRECTS_MAX).unwrap_or(0) as u8;
        }
        let is_redirect = |&(low, _): &(u16, u16)| (300..400).contains(&low);
        let expects_one = match status {
            StatusRule::Ranges(ranges) => ranges.iter().any(is_redirect),
            StatusRule::BelowFourHundred => false,
        };
        let is_location = |save: &Save| matches!(&save.from, Source::Header(name) if name.eq_ignore_ascii_case("location"));
        match expects_one || save.iter().any(is_location) {
            true => 0,
            false => self.redirects,
        }
    }

    /// The measure of redirects that are followed, if any may be.
    pub(super) fn redirects_measure(&mut self, sessions: &[Session]) -> MeasureId {
        let follows = |op: &Op| matches!(op, Op::Http(http) if http.redirects > 0);
        if !sessions.iter().any(|session| session.ops.iter().any(follows)) {
            return builtin::CONNECT;
        }
        self.own_measure(builtin::REDIRECTS_NAME, MeasureKind::Redirect)
    }
}
