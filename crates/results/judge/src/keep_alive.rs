//! Connections that the target closes after some requests, so that others have to be opened.

use record::schema::{Finding, Severity};

use crate::case::Case;
use crate::figures::Cell;
use crate::finding::finding;
use crate::limits::{RENEWED_MIN, RENEWED_TIMES_MIN};

/// The finding that connections were opened again and again. Users with connections of their own open as many in a session
/// as each of them has at once, for several servers or branches, and keep them in their next one; users who share them as
/// many as are in use at once. More than that replace others.
pub(crate) fn findings(case: &Case<'_>) -> Vec<Finding> {
    let figures = case.figures;
    let of_kind = |kind: &str, count: fn(&Cell) -> u64| {
        let all = (0..figures.info.measures.len()).filter(|&measure| figures.kind(measure) == kind);
        all.map(|measure| count(&figures.cell(None, measure))).sum::<u64>()
    };
    let opened = of_kind("connect", Cell::succeeded);
    let requests = of_kind("request", Cell::succeeded);
    // Sessions with WebSockets may connect as often as they like.
    if of_kind("handshake", Cell::succeeded) > 0 || requests < opened.max(1) {
        return Vec::new();
    }
    let sessions = figures.total(|row| row.users_started);
    let at_once = figures.peak(|row| row.connections).max(1);
    let users_at_once = figures.peak(|row| row.users_peak.max(row.users)).max(1);
    let users = sessions.saturating_sub(figures.total(|row| row.users_repeated));
    // Whoever has connections of its own and used one opened it, and may have kept it in later sessions. Others failed to, or
    // had nothing to request. Fewer connections than that are shared.
    let connected = figures.total(|row| row.users_connected);
    let own = match of_kind("connect", Cell::ended) {
        tried if tried >= connected => sessions,
        tried if tried >= users => users,
        _ => 0,
    };
    let usual = (own * at_once.div_ceil(users_at_once)).max(at_once);
    let renewed = opened.saturating_sub(usual);
    if renewed < RENEWED_MIN || (opened as f64) < RENEWED_TIMES_MIN * usual as f64 {
        return Vec::new();
    }
    let each = requests as f64 / opened as f64;
    let text = format!(
        "connections were closed after about {} each, all the time: {} were opened for {}, and at most {} were open at once",
        units::counted(each.round().max(1.0) as u64, "request"),
        units::count(opened),
        units::counted(requests, "request"),
        units::count(at_once)
    );
    let draft = finding(Severity::Warning, "keep-alive-closed", text)
        .with("connections", opened as f64)
        .with("requests", requests as f64)
        .with("connections_peak", at_once as f64)
        .with("requests_each", each);
    vec![draft.done()]
}

#[cfg(test)]
mod tests {
    use crate::sample::{self, MS, REQUEST, judged, succeed};

    #[test]
    fn connections_that_are_replaced_all_the_time_are_reported() {
        // Of 6,000 users with a request each, who share connections, at most two at once.
        let found = |opened: u64| {
            let mut figures = sample::figures();
            succeed(&mut figures, 0, 0, opened, MS, 0);
            let findings = judged(&figures).findings;
            findings.into_iter().find(|found| found.code == "keep-alive-closed")
        };
        let text = found(120).map(|found| found.text).unwrap();
        assert!(text.starts_with("connections were closed after about 50 requests each"), "{text}");
        assert_eq!(found(2), None);
        // One for each user.
        assert_eq!(found(6_000), None);
        // More than there are requests are not those of requests.
        assert_eq!(found(20_000), None);
    }

    /// A run so short that none of its connections was open when a second ended.
    #[test]
    fn users_who_begin_again_keep_their_connections() {
        let found = |opened: u64| {
            let mut figures = sample::with_rows(|row| {
                row.users_repeated = row.users_started / 2;
                row.connections = 0;
            });
            succeed(&mut figures, 0, 0, opened, MS, 0);
            succeed(&mut figures, 0, REQUEST, 60_000, MS, 0);
            let findings = judged(&figures).findings;
            findings.into_iter().any(|found| found.code == "keep-alive-closed")
        };
        // One for each of 3,000 users with two sessions.
        assert!(!found(3_000));
        assert!(found(30_000));
    }

    #[test]
    fn users_who_request_nothing_do_not_make_others_share_connections() {
        let mut figures = sample::with_rows(|row| row.users_connected = 90);
        // One for each of the 5,400 users who requested something, of 6,000.
        succeed(&mut figures, 0, 0, 5_400, MS, 0);
        let findings = judged(&figures).findings;
        assert!(findings.iter().all(|found| found.code != "keep-alive-closed"));
    }

    #[test]
    fn users_with_several_connections_at_once_open_several_each() {
        // Two users at once, with three servers or branches each.
        let found = |opened: u64| {
            let mut figures = sample::with_rows(|row| row.connections = 6);
            succeed(&mut figures, 0, 0, opened, MS, 0);
            succeed(&mut figures, 0, REQUEST, 60_000, MS, 0);
            let findings = judged(&figures).findings;
            findings.into_iter().any(|found| found.code == "keep-alive-closed")
        };
        assert!(!found(18_000));
        assert!(found(60_000));
    }
}
