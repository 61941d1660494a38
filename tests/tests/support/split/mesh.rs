//! A small mesh: who is part of it, and what each may do.

use mesh_core::identity::Principal;
use mesh_core::name::TokenId;
use mesh_core::permissions::{ModuleGrants, Permissions, PersonGrants};
use mesh_core::topology::Topology;
use mesh_testkit::fixtures::{
    builder, controller, event_name, filter, host, module, module_name, node, person, tool_name,
};

use super::{Isolation, Started};

/// On which side of the split somebody is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Beside the streams: the controller alone.
    Bus,
    /// Everybody else.
    Edge,
}

/// A user of the server, and who it is on the mesh.
#[derive(Debug, Clone)]
pub struct User {
    pub name: &'static str,
    pub principal: Principal,
    pub permissions: Permissions,
    pub side: Side,
}

impl User {
    /// Not one that a URL or a configuration takes as it is.
    pub fn password(&self) -> String {
        format!("p@ss/{}\\\"%:4e2x", self.name)
    }
}

/// Who is part of the mesh.
#[derive(Debug, Clone)]
pub struct Mesh {
    pub users: Vec<User>,
}

impl Mesh {
    /// The one of all tests here. `svc` emits, consumes, serves, provides and calls; `db` serves; `evil`
    /// is on two nodes, emits, consumes, calls and serves; `mute` emits and nothing else.
    pub fn sample(isolation: Isolation) -> Started<Self> {
        let edge =
            |name, principal, permissions| User { name, principal, permissions, side: Side::Edge };
        let calls = |pairs: &[(&str, &str)]| {
            pairs.iter().map(|(m, t)| (module_name(m), tool_name(t))).collect::<Vec<_>>()
        };
        let svc = ModuleGrants {
            emits: vec![event_name("made")],
            consumes: true,
            calls: calls(&[("db", "drop"), ("db", "absent")]),
            tools: ["echo", "fail", "slow"].map(tool_name).into(),
            provides: true,
        };
        let db = ModuleGrants { tools: vec![tool_name("drop")], ..ModuleGrants::default() };
        let evil = ModuleGrants {
            emits: vec![event_name("x")],
            consumes: true,
            calls: calls(&[("svc", "echo")]),
            tools: vec![tool_name("trap")],
            provides: false,
        };
        let mute = ModuleGrants { emits: vec![event_name("y")], ..ModuleGrants::default() };
        let mut users = vec![User {
            name: "controller",
            principal: controller(),
            permissions: match isolation {
                Isolation::Split => Permissions::of_controller_bus(),
                Isolation::OneAccount => Permissions::of_controller(),
            },
            side: Side::Bus,
        }];
        if isolation == Isolation::Split {
            users.push(edge(EDGE, controller(), Permissions::of_controller_edge()));
        }
        for (name, on, module_is, grants) in [
            ("svc.n1", "n1", "svc", &svc),
            ("db.n1", "n1", "db", &db),
            ("evil.n1", "n1", "evil", &evil),
            ("evil.n2", "n2", "evil", &evil),
            ("mute.n1", "n1", "mute", &mute),
        ] {
            let may = Permissions::of_module(&node(on), &module_name(module_is), grants)?;
            users.push(edge(name, module(on, module_is), may));
        }
        for (name, on) in [("host.n1", "n1"), ("host.n2", "n2")] {
            users.push(edge(name, host(on), Permissions::of_host(&node(on))?));
        }
        users.push(edge("builder.n1", builder("n1"), Permissions::of_builder(&node("n1"))?));
        users.push(User {
            name: TAP,
            principal: module("n9", "tap"),
            permissions: Permissions::everything(),
            side: Side::Bus,
        });
        let token: TokenId = "t1".parse()?;
        let enrolling = Permissions::of_enrolment(&token);
        users.push(edge("enrol.t1", Principal::Enrolment { token }, enrolling));
        for (name, who, grants) in [
            ("person.alice", "alice", PersonGrants::Administrator),
            ("person.bob", "bob", PersonGrants::Tools(calls(&[("svc", "echo")]))),
        ] {
            users.push(edge(name, person(who), Permissions::of_person(&who.parse()?, &grants)?));
        }
        Ok(Self { users })
    }

    /// Streams and consumers of this mesh.
    pub fn topology(&self) -> Started<Topology> {
        let consumed =
            |filters: &[&str]| filters.iter().map(|text| filter(text)).collect::<Vec<_>>();
        Ok(Topology::new()
            .with_node(&node("n1"))
            .with_node(&node("n2"))
            .with_module(&node("n1"), &module_name("svc"), &consumed(&["evil.>", "mute.y"]))?
            .with_module(&node("n1"), &module_name("evil"), &consumed(&["svc.made"]))?
            .with_module(&node("n2"), &module_name("evil"), &consumed(&["svc.made"]))?)
    }

    /// The user of that name. In one account the controller has one user.
    #[expect(clippy::panic, reason = "a name that a test misspells must stop it")]
    pub fn user(&self, name: &str) -> &User {
        let found = self.users.iter().find(|user| user.name == name);
        let found = found
            .or_else(|| self.users.iter().find(|user| name == EDGE && user.name == "controller"));
        found.unwrap_or_else(|| panic!("no user {name}"))
    }
}

/// Who overhears what happens beside the streams: only a test has one.
pub const TAP: &str = "tap";
const EDGE: &str = "controller-edge";
