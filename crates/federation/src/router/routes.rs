use std::fmt;

use mesh_core::mx::{Envelope, MxRealm};
use mesh_core::name::RealmName;
use rustc_hash::FxHashSet;

use super::DropReason;

/// How many hops a message has that doesn't say.
pub const DEFAULT_TTL: u64 = 8;
/// The most hops that a message may ask for unless told otherwise. A tree that is 32 realms deep needs 64.
pub const DEFAULT_MAX_TTL: u64 = 64;

/// The tree as one router sees it: its own realm, the parent above, the children below.
///
/// A child is a realm and everything below it, by labels from the left: `a.b` is below `a`, `ab` is not. Of
/// several that fit, the longest is taken. Finding it costs a look for each different length that children
/// have, mostly one, however many they are.
///
/// ```
/// use mesh_federation::router::{DropReason, Hop, Routes};
/// use mesh_core::mx::MxRealm;
/// use mesh_core::name::RealmName;
///
/// let name = |text| RealmName::new(text);
/// let mut routes = Routes::new(name("acme.eu")?).with_parent(name("acme")?)?;
/// routes.add_child(name("acme.eu.shop")?)?;
///
/// let decide = |to: &'static str, ttl| routes.decide(&MxRealm::new(to).unwrap(), ttl);
/// assert_eq!(decide("acme.eu", Some(0)), Hop::Deliver);
/// assert_eq!(decide("acme.eu.shop.till-1", Some(3)), Hop::Down(&name("acme.eu.shop")?, 2));
/// assert_eq!(decide("zeta", None), Hop::Up(&name("acme")?, 7));
/// assert_eq!(decide("acme.eu.bank", None), Hop::Drop(DropReason::NoChild));
/// assert_eq!(decide("zeta", Some(1)), Hop::Drop(DropReason::TtlSpent));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Routes {
    realm: RealmName,
    parent: Option<RealmName>,
    children: FxHashSet<RealmName>,
    /// How many children have so many labels.
    depths: Vec<u32>,
    max_ttl: u64,
}

/// What a router does with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a router must heed each")]
pub enum Hop<'r> {
    /// It is for the router's own realm, whose gateway gets it as it is.
    Deliver,
    /// It goes to this child, with this `ttl`.
    Down(&'r RealmName, u64),
    /// It goes to this parent, with this `ttl`.
    Up(&'r RealmName, u64),
    /// It goes nowhere.
    Drop(DropReason),
}

/// Why a neighbour is refused: it would make a loop, or a tree whose names lie.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RoutesError {
    /// A realm is neither its own parent nor its own child.
    #[error("routes of {realm}: a realm is not its own neighbour")]
    Itself {
        /// The router's realm.
        realm: RealmName,
    },
    /// A child by whose name the router itself would be below it.
    #[error("routes of {realm}: the child {child} stands above it")]
    ChildAbove {
        /// The router's realm.
        realm: RealmName,
        /// The child.
        child: RealmName,
    },
    /// A parent by whose name it would be below the router, or below one of its children.
    #[error("routes of {realm}: the parent {parent} stands below it")]
    ParentBelow {
        /// The router's realm.
        realm: RealmName,
        /// The parent.
        parent: RealmName,
    },
}

impl Routes {
    /// The routes of this realm's router, which knows nobody yet.
    #[must_use]
    pub fn new(realm: RealmName) -> Self {
        Self {
            realm,
            parent: None,
            children: FxHashSet::default(),
            depths: Vec::new(),
            max_ttl: DEFAULT_MAX_TTL,
        }
    }

    /// The same with this parent.
    ///
    /// # Errors
    /// [`RoutesError`] for the realm itself, and for what stands below it or a child.
    pub fn with_parent(mut self, parent: RealmName) -> Result<Self, RoutesError> {
        self.set_parent(Some(parent))?;
        Ok(self)
    }

    /// The same, refusing what has a higher `ttl` than this; [`DEFAULT_MAX_TTL`] unless told.
    #[must_use]
    pub fn with_max_ttl(mut self, max_ttl: u64) -> Self {
        self.max_ttl = max_ttl;
        self
    }

    /// Takes another parent, or none.
    ///
    /// # Errors
    /// [`RoutesError`] as [`with_parent`](Self::with_parent); the parent then stays as it was.
    pub fn set_parent(&mut self, parent: Option<RealmName>) -> Result<(), RoutesError> {
        if let Some(parent) = &parent {
            if *parent == self.realm {
                return Err(RoutesError::Itself { realm: self.realm.clone() });
            }
            if is_below(parent.as_str(), self.realm.as_str())
                || self.longest(parent.as_str()).is_some()
            {
                let (realm, parent) = (self.realm.clone(), parent.clone());
                return Err(RoutesError::ParentBelow { realm, parent });
            }
        }
        self.parent = parent;
        Ok(())
    }

    /// Adds a child: a router of this realm, with all that is below it. Says whether it was new.
    ///
    /// # Errors
    /// [`RoutesError`] for the realm itself, for what it is below, and for what its parent is or is below.
    pub fn add_child(&mut self, child: RealmName) -> Result<bool, RoutesError> {
        if child == self.realm {
            return Err(RoutesError::Itself { realm: self.realm.clone() });
        }
        if is_below(self.realm.as_str(), child.as_str()) {
            return Err(RoutesError::ChildAbove { realm: self.realm.clone(), child });
        }
        if let Some(parent) = &self.parent
            && (*parent == child || is_below(parent.as_str(), child.as_str()))
        {
            let (realm, parent) = (self.realm.clone(), parent.clone());
            return Err(RoutesError::ParentBelow { realm, parent });
        }
        let depth = labels(child.as_str());
        let new = self.children.insert(child);
        if new {
            if self.depths.len() <= depth {
                self.depths.resize(depth + 1, 0);
            }
            self.depths[depth] += 1;
        }
        Ok(new)
    }

    /// Takes a child away. Says whether it was there.
    pub fn remove_child(&mut self, child: &RealmName) -> bool {
        let was = self.children.remove(child);
        if was {
            self.depths[labels(child.as_str())] -= 1;
        }
        was
    }

    /// The router's own realm.
    #[must_use]
    pub fn realm(&self) -> &RealmName {
        &self.realm
    }

    /// Who is above, where somebody is.
    #[must_use]
    pub fn parent(&self) -> Option<&RealmName> {
        self.parent.as_ref()
    }

    /// Who is right below, in no order.
    pub fn children(&self) -> impl ExactSizeIterator<Item = &RealmName> {
        self.children.iter()
    }

    /// Whether this very realm is a child.
    #[must_use]
    pub fn has_child(&self, realm: &RealmName) -> bool {
        self.children.contains(realm)
    }

    /// Where a message for `to` goes that may make `ttl` more hops, by protocol §8 and nothing else. One
    /// that doesn't say has [`DEFAULT_TTL`], so it leaves the first router with one less. What is for the
    /// router's own realm is never asked for its `ttl`.
    #[must_use]
    pub fn decide(&self, to: &MxRealm<'_>, ttl: Option<u64>) -> Hop<'_> {
        if *to == self.realm {
            return Hop::Deliver;
        }
        let ttl = ttl.unwrap_or(DEFAULT_TTL);
        if ttl > self.max_ttl {
            return Hop::Drop(DropReason::TtlTooBig);
        }
        let ttl = match ttl.saturating_sub(1) {
            0 => return Hop::Drop(DropReason::TtlSpent),
            ttl => ttl,
        };
        if let Some(child) = self.longest(to.as_str()) {
            return Hop::Down(child, ttl);
        }
        if is_below(to.as_str(), self.realm.as_str()) {
            return Hop::Drop(DropReason::NoChild);
        }
        match &self.parent {
            Some(parent) => Hop::Up(parent, ttl),
            None => Hop::Drop(DropReason::NoParent),
        }
    }

    /// [`decide`](Self::decide) about this message, which also has to come from or go to a realm
    /// that this router [covers](Self::covers): else it is [`DropReason::Transit`]. Both ends are claims.
    #[must_use]
    pub fn route(&self, envelope: &Envelope<'_>) -> Hop<'_> {
        match self.decide(&envelope.to.realm, envelope.ttl) {
            Hop::Up(..) if !self.covers(&envelope.from.realm) => Hop::Drop(DropReason::Transit),
            hop => hop,
        }
    }

    /// Whether `realm` is the router's own, a child, or below one of them.
    #[must_use]
    pub fn covers(&self, realm: &MxRealm<'_>) -> bool {
        *realm == self.realm
            || is_below(realm.as_str(), self.realm.as_str())
            || self.longest(realm.as_str()).is_some()
    }

    /// The longest child that `realm` is or is below.
    fn longest(&self, realm: &str) -> Option<&RealmName> {
        let mut depth = labels(realm);
        let mut prefix = realm;
        loop {
            if self.depths.get(depth).is_some_and(|count| *count > 0)
                && let Some(child) = self.children.get(prefix)
            {
                return Some(child);
            }
            (prefix, _) = prefix.rsplit_once('.')?;
            depth -= 1;
        }
    }
}

/// How many labels a realm has.
fn labels(realm: &str) -> usize {
    1 + realm.bytes().filter(|byte| *byte == b'.').count()
}

/// Whether `realm` is below `above`, which it is not itself.
fn is_below(realm: &str, above: &str) -> bool {
    realm.strip_prefix(above).is_some_and(|rest| rest.starts_with('.'))
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Routes")
            .field("realm", &self.realm)
            .field("parent", &self.parent)
            .field("children", &self.children.len())
            .field("max_ttl", &self.max_ttl)
            .finish()
    }
}
