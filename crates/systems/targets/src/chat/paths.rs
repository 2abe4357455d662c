//! The paths on which connections are opened.

pub(super) const SOCKET: &str = "/chat/socket";
pub(super) const STREAM: &str = "/chat/stream";
pub(super) const CABLE: &str = "/cable";
pub(super) const PHOENIX: &str = "/socket/websocket";
