#![doc = include_str!("README.md")]

mod client;
mod direct;
mod document;
mod egress;
mod options;
mod place;
mod roots;
mod serve;

#[cfg(test)]
mod tests;

pub use client::{Discovery, DiscoveryError, SetupError};
pub use direct::HttpsDirect;
pub use document::{Document, DocumentError, EndpointKind};
pub use egress::{
    AddressKind, Egress, EgressError, FetchError, ResolveError, Resolver, SystemResolver,
};
pub use options::DiscoveryOptions;
pub use roots::Roots;
pub use serve::{
    Full, HttpsServer, Inlet, Published, RoutesOptions, ServeError, ServerOptions, TlsFiles, inbox,
    routes,
};
