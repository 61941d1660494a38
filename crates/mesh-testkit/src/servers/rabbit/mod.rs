//! A private RabbitMQ with TLS, for each test process or for a test alone, and what sets it up.

mod account;
mod config;
mod control;
mod definitions;
mod home;
mod hosts;
mod layout;
mod management;
mod mesh_server;
mod place;
mod plugins;
mod server;
mod start;
mod users;

pub use account::{Account, password_hash};
pub use config::RabbitConfig;
pub use definitions::Definitions;
pub use hosts::VirtualHost;
pub use layout::{Layout, User};
pub use management::Management;
pub use mesh_control::compose::rabbit::Declares;
pub use mesh_server::MeshServer;
pub use server::{RabbitServer, shared};
