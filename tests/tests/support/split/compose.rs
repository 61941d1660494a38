//! The server's configuration. Only for tests: the one that a mesh runs with is composed elsewhere.

use std::fmt::Write as _;

use mesh_testkit::servers::nats::Place;

use super::accounts::{crossing, quoted, user};
use super::{Mesh, Side};

/// Whether streams and everybody else share an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    Split,
    OneAccount,
}

/// How the server is laid out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    pub isolation: Isolation,
    /// Whether deliveries carry the second form of acknowledgement addresses.
    pub second_form: bool,
    /// Whether JetStream refuses what it does not know.
    pub strict: bool,
    /// Also imports this subject literally: what must never be done.
    pub literal: Option<&'static str>,
    /// How many connections the account may have that modules are in.
    pub connections: u32,
    /// And each of them subscriptions: the server counts an account's limit by connection.
    pub subscriptions: u32,
}

impl Layout {
    pub const fn of(isolation: Isolation) -> Self {
        Self {
            isolation,
            second_form: false,
            strict: true,
            literal: None,
            connections: 1000,
            subscriptions: 10_000,
        }
    }

    pub const fn split() -> Self {
        Self::of(Isolation::Split)
    }
}

/// The whole file.
pub fn compose(layout: &Layout, mesh: &Mesh, place: &Place) -> String {
    let path = |path: &std::path::Path| quoted(&path.to_string_lossy());
    let mut text = format!(
        "server_name: {}\nsystem_account: SYS\nlisten: {}\nhttp: {}\nmax_payload: 1MB\n\
         ping_interval: \"20s\"\nauthorization {{ timeout: 10 }}\n\
         jetstream {{ store_dir: {}, max_memory_store: 64MB, max_file_store: 8GB, strict: {} }}\n\
         feature_flags {{ js_ack_fc_v2: {} }}\n",
        quoted(&place.name),
        quoted(&place.client.to_string()),
        quoted(&place.monitoring.to_string()),
        path(&place.store),
        layout.strict,
        layout.second_form,
    );
    if let Some((certificate, key)) = &place.certificate {
        _ = writeln!(
            text,
            "tls {{ cert_file: {}, key_file: {}, min_version: \"1.2\", timeout: 5 }}",
            path(certificate),
            path(key)
        );
    }
    let sys = "SYS { users: [ { user: \"sys\", password: \"sys\" } ] }";
    let users = |side: Option<Side>| {
        let of = mesh.users.iter().filter(|who| side.is_none_or(|side| who.side == side));
        of.map(|who| user(who.name, &who.password(), &who.permissions)).collect::<String>()
    };
    let limits = format!(
        "limits {{ max_connections: {}, max_subscriptions: {} }}",
        layout.connections, layout.subscriptions
    );
    match layout.isolation {
        Isolation::OneAccount => {
            _ = writeln!(
                text,
                "accounts {{ {sys}\nMESH {{ jetstream: enabled\n{limits}\nusers: [\n{}] }} }}",
                users(None)
            );
        }
        Isolation::Split => {
            let (exports, imports) = crossing(layout.literal);
            _ = writeln!(
                text,
                "accounts {{ {sys}\n\
                 BUS {{ jetstream: enabled\nusers: [\n{}]\nexports: [\n{exports}] }}\n\
                 EDGE {{ {limits}\nusers: [\n{}]\nimports: [\n{imports}] }} }}",
                users(Some(Side::Bus)),
                users(Some(Side::Edge)),
            );
        }
    }
    text
}
