use std::collections::{HashMap, HashSet};

use mesh_core::identity::Principal;
use mesh_core::manifest::{
    Bus, Mesh, MeshFile, ModuleManifest, Problem, ProblemKind, Problems, Severity,
};
use mesh_core::subject::{MAX_SUBJECT_BYTES, SubjectError, SubjectProblem};
use mesh_core::topology::Topology;

use super::manifests::Manifests;
use super::nats;
use super::principals::users;
use super::rabbit::{Definitions, Host, Member, PasswordHash, RabbitError};
use super::{ComposeError, More, Place, Refused, Source, User, Verifiers};

/// What follows from a mesh's files: who has a user with which grants, and what the broker holds.
#[derive(Clone, Debug)]
pub struct Composition {
    mesh: Mesh,
    bus: Bus,
    users: Vec<User>,
    topology: Topology,
    refused: Vec<Refused>,
    warnings: Vec<Problem>,
}

impl Composition {
    /// Composes a mesh file and its manifests, which may come in any order. A manifest belongs to the
    /// assignment of its module's name.
    ///
    /// A manifest that can't be read, two of one module of which none is the one that the mesh file names,
    /// one that claims a seat which another module has, one that no assignment wants, and an assignment
    /// without one are [`refused`](Self::refused), and everybody else is composed as if they were not there.
    /// What is wrong *between* files takes nothing from anybody: a call of a tool that is not there is
    /// granted, since the caller's manifest says so, and told as a [warning](Self::warnings).
    ///
    /// # Errors
    /// Every [`Problem`] of the mesh file itself; a node that it does not list is one.
    pub fn of(
        mesh_file: Source<'_>,
        manifests: &[Source<'_>],
        more: &More,
    ) -> Result<Self, Problems> {
        let file = MeshFile::parse(mesh_file.file, mesh_file.text)?;
        let Manifests { mut sound, mut refused } = Manifests::of(&file, manifests);
        let (mut mesh, mut problems) = Mesh::resolve_as_far(&file, &sound);
        let seconds = second_claims(&mut sound, &problems);
        if !seconds.is_empty() {
            refused.extend(seconds);
            (mesh, problems) = Mesh::resolve_as_far(&file, &sound);
        }
        let broken = refused.iter().filter_map(|refused| refused.module.clone());
        let broken: HashSet<String> = broken.collect();
        let (mut bad, mut warnings) = (Vec::new(), Vec::new());
        for problem in problems {
            match &problem.kind {
                // Of a module that has a seat and runs twice, nobody knows which is meant.
                ProblemKind::UnknownNode { .. } | ProblemKind::SeatTaken { .. } => {
                    bad.push(problem);
                }
                // The file that was to be its manifest is refused already, and says why.
                ProblemKind::UnknownModule { module, .. } if broken.contains(module.as_str()) => {}
                ProblemKind::UnknownModule { module, .. }
                | ProblemKind::UnassignedManifest(module) => {
                    refused.push(Refused::of(Some(module.to_string()), problem));
                }
                _ => warnings.extend(told(problem, &broken)),
            }
        }
        if let Some(bad) = bad.into_iter().map(Problems::from).reduce(Problems::and) {
            return Err(bad);
        }
        refused.sort_by(|a, b| (&a.file, &a.module).cmp(&(&b.file, &b.module)));
        let composed = Self::whole(mesh, file.bus.clone(), more);
        let composed = composed.map_err(|error| too_long(&file, error))?;
        Ok(Self { refused, warnings, ..composed })
    }

    /// The same of a mesh whose files agree, with `bus` in place of what its file says of it.
    ///
    /// # Errors
    /// `TooLong` where names are too long together: none that a file can hold are.
    pub fn of_mesh(mesh: &Mesh, bus: &Bus, more: &More) -> Result<Self, SubjectError> {
        Self::whole(mesh.clone(), bus.clone(), more)
    }

    fn whole(mesh: Mesh, bus: Bus, more: &More) -> Result<Self, SubjectError> {
        Ok(Self {
            users: users(&mesh, &bus, more)?,
            topology: mesh.topology()?,
            refused: Vec::new(),
            warnings: mesh.warnings().to_vec(),
            mesh,
            bus,
        })
    }

    /// Who has a user, by name.
    #[must_use]
    pub fn users(&self) -> &[User] {
        &self.users
    }

    /// The user of this name.
    #[must_use]
    pub fn user(&self, name: &str) -> Option<&User> {
        let found = self.users.binary_search_by(|user| user.name().cmp(name));
        found.ok().map(|index| &self.users[index])
    }

    /// The users of this principal: two for the controller where the accounts are split, the one beside the
    /// streams first; one for everybody else who has one.
    pub fn users_of<'a>(&'a self, principal: &'a Principal) -> impl Iterator<Item = &'a User> {
        self.users.iter().filter(move |user| user.principal() == principal)
    }

    /// The mesh, without what is refused.
    #[must_use]
    pub fn mesh(&self) -> &Mesh {
        &self.mesh
    }

    /// The streams and consumers.
    #[must_use]
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// How the mesh file wants its server and its accounts.
    #[must_use]
    pub fn bus(&self) -> &Bus {
        &self.bus
    }

    /// Modules without an account, since their manifests are wrong; by file.
    #[must_use]
    pub fn refused(&self) -> &[Refused] {
        &self.refused
    }

    /// What may not be meant, and what is wrong between the files without taking anything from anybody.
    /// All of them have the severity of a warning.
    #[must_use]
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    /// The whole configuration of the mesh's nats-server, which holds `verifiers` and no secret: byte for
    /// byte the same for the same files, verifiers and place, whatever the order of anything.
    ///
    /// # Errors
    /// [`ComposeError`], with the user or the field.
    pub fn nats(&self, verifiers: &dyn Verifiers, place: &Place) -> Result<String, ComposeError> {
        nats::file(self, verifiers, place)
    }

    /// The accounts and their users alone, for a server that is somebody else's: what stands within its
    /// `accounts { … }`, without a system account, which it has or hasn't. Its other accounts know nothing of
    /// these, and these nothing of them.
    ///
    /// # Errors
    /// As [`nats`](Self::nats).
    pub fn nats_accounts(&self, verifiers: &dyn Verifiers) -> Result<String, ComposeError> {
        nats::accounts(self, verifiers)?.within()
    }

    /// The definitions of this mesh on a RabbitMQ (protocol §7), in a virtual host of this name: everybody's
    /// account, and the durable queues. `hash` is asked by the names that users have here, `mail.n1`; on AMQP
    /// they log in as [`Principal::amqp_user`], and the controller as `substrate`.
    ///
    /// # Errors
    /// [`RabbitError`], with everybody who has no hash.
    pub fn rabbit(
        &self,
        vhost: &str,
        hash: &dyn Fn(&str) -> Option<PasswordHash>,
    ) -> Result<Definitions, RabbitError> {
        let mut host = Host::new(vhost)?;
        let mut without = Vec::new();
        // Gateways meet in a virtual host of their own, and on AMQP the controller is one user.
        let here = self.users.iter().filter(|user| {
            let principal = user.principal();
            let controllers = matches!(principal, Principal::Controller { .. });
            !matches!(principal, Principal::Gateway { .. })
                && (!controllers || user.name() == "controller")
        });
        for user in here {
            let Some(hash) = hash(user.name()) else {
                without.push(user.name().to_owned());
                continue;
            };
            let principal = user.principal().clone();
            host = host.member(match principal {
                Principal::Controller { .. } => Member::controller(principal, hash),
                _ => Member::new(principal, user.permissions(), hash),
            })?;
        }
        if !without.is_empty() {
            return Err(RabbitError::NoHash(without));
        }
        Ok(host.topology(&self.topology)?.definitions())
    }
}

/// Takes out the modules that claim a seat which another has, and says that they are refused.
fn second_claims(sound: &mut Vec<ModuleManifest>, problems: &[Problem]) -> Vec<Refused> {
    let claims = problems.iter().filter(|p| matches!(p.kind, ProblemKind::SeatTaken { .. }));
    // The last that is put in stays: the first of each file.
    let claims: HashMap<&str, &Problem> = claims.rev().map(|p| (&*p.file, p)).collect();
    let mut refused = Vec::new();
    sound.retain(|manifest| {
        let Some(claim) = claims.get(manifest.file()) else { return true };
        refused.push(Refused::of(Some(manifest.name.to_string()), (*claim).clone()));
        false
    });
    refused
}

/// What is wrong between files, as a warning. Nothing, where it only follows from what is refused: an
/// event may be that manifest's.
fn told(mut problem: Problem, broken: &HashSet<String>) -> Option<Problem> {
    problem.severity = Severity::Warning;
    match &problem.kind {
        ProblemKind::UnknownTool { tool, .. } if broken.contains(tool.module.as_str()) => {
            problem.kind = ProblemKind::RefusedModule(tool.clone());
        }
        ProblemKind::NobodyEmits(_)
        | ProblemKind::NobodyConsumes(_)
        | ProblemKind::NobodyProvides { .. }
            if !broken.is_empty() =>
        {
            return None;
        }
        _ => {}
    }
    Some(problem)
}

fn too_long(file: &MeshFile, error: SubjectError) -> Problems {
    let found = match error.problem {
        SubjectProblem::TooLong { found } => found,
        _ => MAX_SUBJECT_BYTES,
    };
    file.problem(Severity::Error, "", ProblemKind::SubjectTooLong(found)).into()
}
