use std::time::Duration;

use mesh_core::identity::{Principal, Responder};
use mesh_core::permissions::Permissions;
use mesh_core::subject::Filter;

use crate::fixtures::{filter, module, module_name, permissions};

/// How long a question waits that nobody will answer.
pub(super) const BRIEF: Duration = Duration::from_millis(300);

pub(super) const SUBJECTS: [&str; 4] = ["room.a", "room.b", "room.b.c", "hall"];
/// The last one hears what is asked.
pub(super) const FILTERS: [&str; 6] =
    ["room.a", "room.*", "room.>", "*.b", "hall", "mesh.tools.mail.send"];
/// Those of them without a wildcard.
pub(super) const EXACT: [&str; 3] = ["room.a", "hall", "mesh.tools.mail.send"];
pub(super) const GROUPS: [&str; 2] = ["g", "h"];
pub(super) const TOOLS: [(&str, &str); 2] =
    [("mesh.tools.mail.send", "mail"), ("mesh.tools.guest.look", "guest")];

/// Who connects, and with which permissions if not all.
pub(super) fn who(index: usize) -> (Principal, Option<Permissions>) {
    match index {
        0 => (module("n1", "mail"), None),
        1 => (module("n2", "mail"), None),
        _ => {
            let guest = module("n1", "guest");
            let publish = ["room.a", "room.b.>", "mesh.tools.mail.send", "_INBOX.*.*.guest.>"];
            let subscribe = ["room.>", "mesh.tools.guest.look"];
            let mut may = permissions(&guest, &publish, &subscribe);
            may.subscribe = may.subscribe.except(hidden());
            (guest, Some(may))
        }
    }
}

/// What the guest may not hear of what it may subscribe to.
fn hidden() -> [Filter; 1] {
    [filter("room.b")]
}

/// The module that a connection is of.
pub(super) fn module_of(connection: usize) -> &'static str {
    if connection < 2 { "mail" } else { "guest" }
}

pub(super) fn responder(name: &str) -> Responder {
    Responder::Module(module_name(name))
}
