//! A realm's own HTTPS: its document, and an endpoint that takes envelopes.

mod inlet;
mod published;
mod routes;
mod server;
mod tls;

pub use inlet::{Full, Inlet, inbox};
pub use published::Published;
pub use routes::{RoutesOptions, routes};
pub use server::{HttpsServer, ServerOptions};
pub use tls::{ServeError, TlsFiles};
