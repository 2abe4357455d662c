//! Turns bytes into HTTP/1.1 and WebSocket events and back.
