//! The codecs over the wire: literal bytes, inputs cut anywhere, other implementations as oracles.

mod corpus;
mod frames;
mod h2_hostile;
mod h2_pieces;
mod h2_server;
mod h2_tunnels;
mod h2_wire;
mod hpack;
mod http1_oracle;
mod http1_pieces;
mod http1_wire;
mod mqtt;
mod proxy;
mod sse;
mod ws_deflate;
mod ws_oracle;
mod ws_pieces;
mod ws_wire;
