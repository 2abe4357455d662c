//! Who a user is to servers: its cookies, and the challenge that it answers.
//!
//! Only users of sessions that want the one or the other have an identity, beside the table of
//! users: to all others it costs nothing.

mod challenge;
pub(crate) mod cookies;
mod date;
pub(crate) mod digest;

use cookies::Jar;
use digest::Session;
use plan::EndpointId;
use stats::rng::Rng;

/// What a user keeps between requests.
#[derive(Debug, Default)]
pub(crate) struct Identity {
    pub(crate) jar: Jar,
    /// The challenges that it knows to answer, by endpoint.
    pub(crate) sessions: Vec<(EndpointId, Session)>,
    /// The path of its steps' last request: where cookies of the response belong.
    pub(crate) path: String,
    /// The same of its event stream or poll, which goes on beside the steps.
    pub(crate) path_beside: String,
    /// How often the operation in flight was challenged.
    pub(crate) challenges: u8,
    /// The user's values as they were before the operation in flight drew any: an answer to a
    /// challenge repeats the request as it was.
    pub(crate) before: Option<Rng>,
}

impl Identity {
    pub(crate) fn session(&mut self, endpoint: EndpointId) -> Option<&mut Session> {
        let found = self.sessions.iter_mut().find(|(of, _)| *of == endpoint);
        found.map(|(_, session)| session)
    }

    /// From now on this challenge is answered at the endpoint.
    pub(crate) fn answer_with(&mut self, endpoint: EndpointId, session: Session) {
        self.sessions.retain(|(of, _)| *of != endpoint);
        self.sessions.push((endpoint, session));
    }

    pub(crate) fn path_mut(&mut self, beside_steps: bool) -> &mut String {
        if beside_steps {
            &mut self.path_beside
        } else {
            &mut self.path
        }
    }

    /// The user begins its session anew: nobody knows it.
    pub(crate) fn forget(&mut self) {
        *self = Identity::default();
    }
}
