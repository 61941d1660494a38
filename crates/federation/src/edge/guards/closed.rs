use mesh_core::guard::{Guard, Inbound, Now, Refusal, Stage, Verdict};
use mesh_core::mx::EdgeCode;

/// Keeps other realms out of components whose name, or a mount or a part of it, begins with `_`: they
/// are the realm's own works. Open are `_federation.accepts.subscribe`, `refresh` and `unsubscribe`
/// alone (protocol §8).
///
/// Stands first among the policies, and is always enforced.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "it has nothing to set")]
pub struct Closed;

/// What a remote may ask of the realm's own works.
const OPEN: [&str; 3] = [
    "_federation.accepts.subscribe",
    "_federation.accepts.refresh",
    "_federation.accepts.unsubscribe",
];

impl Guard for Closed {
    fn name(&self) -> &'static str {
        "closed"
    }

    fn stage(&self) -> Stage {
        Stage::Policy
    }

    fn check(&self, inbound: &Inbound<'_>, _now: Now) -> Verdict {
        // An answer goes to who asked, wherever that is.
        let path = inbound.to_path.filter(|_| !inbound.kind.is_answer()).unwrap_or_default();
        let hidden = path.split(['/', '.']).any(|part| part.starts_with('_'));
        if hidden && !(OPEN.contains(&path) && inbound.kind.is_answered()) {
            let reason = "this component is closed to other realms";
            return Verdict::Refuse(Refusal::answered(EdgeCode::PolicyDenied.as_str(), reason));
        }
        Verdict::Pass
    }
}
