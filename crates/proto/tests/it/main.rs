//! The codecs over the wire: literal bytes, inputs cut anywhere, other implementations as oracles.

mod corpus;
mod frames;
mod hpack;
mod http1_oracle;
mod http1_pieces;
mod http1_wire;
mod sse;
mod ws_deflate;
mod ws_oracle;
mod ws_pieces;
mod ws_wire;
