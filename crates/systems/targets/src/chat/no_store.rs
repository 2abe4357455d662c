//! History on disk in a chat that was built without stores: an error.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::JoinHandle;

use tokio::sync::oneshot;

use super::ChatError;
use super::message::Utterance;
use super::request_error::RequestError;
use super::room::Room;
use server::ServerError;

/// A value of this type never exists.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {}

/// A value of this type never exists.
#[derive(Debug)]
pub(super) enum Writer {}

impl Writer {
    pub(super) fn speak(
        &self,
        _: Arc<Room>,
        _: Utterance,
    ) -> Result<oneshot::Receiver<Result<u64, RequestError>>, RequestError> {
        Err(RequestError::Busy)
    }

    pub(super) async fn end(&self) {
        match *self {}
    }
}

pub(super) fn open(
    _: &Path,
    _: usize,
    _: impl FnMut(&str) -> Result<Arc<Room>, RequestError>,
    _: Arc<AtomicBool>,
    _: impl Fn() + Send + 'static,
) -> Result<(Writer, JoinHandle<()>), ChatError> {
    Err(ServerError::Options("this chat was built without stores").into())
}
