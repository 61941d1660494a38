//! What is wrong with one file takes nothing from anybody else.

use mesh_control::compose::{Composition, User};
use mesh_core::manifest::Severity;
use mesh_testkit::strategies::mesh;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// Every refusal, with the file's own words.
fn refused(composed: &Composition) -> Vec<String> {
    let told = composed.refused().iter().flat_map(|refused| {
        let module = refused.module.clone().unwrap_or_default();
        refused.problems.iter().map(move |problem| format!("{module}: {problem}"))
    });
    told.map(|told| told.split(" (").next().unwrap_or_default().to_owned()).collect()
}

fn warnings(composed: &Composition) -> Vec<String> {
    composed.warnings().iter().map(ToString::to_string).collect()
}

fn names(composed: &Composition) -> Vec<&str> {
    composed.users().iter().map(User::name).collect()
}

#[test]
fn a_bad_manifest_is_refused_by_name_and_field_and_harms_no_other() {
    let whole = compose(MESH, &manifests());
    let [mail, audit, db] = manifests();
    let text = audit.text.replace("mail.*", "mail.#.x");
    let composed = compose(MESH, &[mail, Source { text: &text, ..audit }, db]);
    assert_eq!(
        refused(&composed),
        [
            "audit: modules/audit.toml:4:13: error: consumes[0]: \"mail.#.x\": `#` at offset 5 is not last"
        ]
    );
    let others: Vec<&User> = whole.users().iter().filter(|u| u.name() != "audit.n2").collect();
    assert_eq!(composed.users().iter().collect::<Vec<_>>(), others);
    // What refers to it keeps its grant, and is told.
    assert_eq!(
        warnings(&composed),
        [
            "modules/mail.toml:5:10: warning: calls[0]: the manifest of audit, whose tool audit.count would be, \
          is refused (mend that manifest; the call stays granted)"
        ]
    );
}

#[test]
fn what_is_wrong_between_files_takes_nothing_from_anybody() {
    let [mail, audit, db] = manifests();
    let (audit_text, db_text) = (
        audit.text.replace("name = 'count'", "name = 'counted'"),
        db.text.replace("name = 'database'", "name = 'data'"),
    );
    let changed = [mail, Source { text: &audit_text, ..audit }, Source { text: &db_text, ..db }];
    let composed = compose(MESH, &changed);
    assert_eq!(refused(&composed), [""; 0]);
    assert_eq!(composed.user("mail.n1"), compose(MESH, &manifests()).user("mail.n1"));
    let told = warnings(&composed);
    assert!(told.iter().any(|w| w.contains("calls[0]: no module has the tool audit.count")));
    assert!(
        told.iter().any(|w| w.contains("requires[0]: no module provides database")),
        "{told:?}"
    );
    assert!(composed.warnings().iter().all(|w| w.severity == Severity::Warning));
}

#[test]
fn an_assignment_without_a_manifest_and_a_manifest_without_one_are_refused() {
    let [mail, audit, _] = manifests();
    let stranger = Source { file: "x.toml", text: "name = 'stranger'\nversion = '1'" };
    let composed = compose(MESH, &[mail, audit, stranger]);
    assert_eq!(
        refused(&composed),
        [
            "db: mesh.toml:10:16: error: assignments[2].module: no manifest has the name db",
            "stranger: x.toml:1:8: error: name: the mesh file has no module stranger",
        ]
    );
    assert!(!names(&composed).iter().any(|name| name.starts_with("stranger")));
}

#[test]
fn of_two_manifests_of_one_name_the_one_that_the_mesh_file_names_counts() {
    let [mail, audit, db] = manifests();
    let other =
        Source { file: "old/mail.toml", text: "name = 'mail'\nversion = '0'\nemits = ['all']" };
    let composed = compose(MESH, &[other, mail, audit, db]);
    assert_eq!(
        refused(&composed),
        ["mail: old/mail.toml:1:8: error: name: modules/mail.toml has the name mail already"]
    );
    assert_eq!(composed.user("mail.n1"), compose(MESH, &manifests()).user("mail.n1"));
    // Where it names neither, nobody knows which is meant.
    let first = Source { file: "a.toml", ..other };
    let second = Source { file: "b.toml", ..mail };
    for both in [[first, second], [second, first]] {
        let composed = compose(MESH, &[both[0], both[1], audit, db]);
        assert_eq!(
            refused(&composed),
            [
                "mail: a.toml:1:8: error: name: b.toml has the name mail already",
                "mail: b.toml:2:8: error: name: a.toml has the name mail already",
            ]
        );
        assert!(composed.user("mail.n1").is_none() && composed.user("audit.n2").is_some());
    }
}

#[test]
fn names_that_fold_together_are_refused_by_both_names_and_lines() {
    let text = "name = 'mail'
version = '1'
emits = ['letter-sent', 'lost', 'Letter_Sent']
tools = [{ name = 'get_it', description = 'x' },
  { name = 'getit', description = 'x' }, { name = 'Get-It', description = 'x' }]";
    let [mail, audit, db] = manifests();
    let composed = compose(MESH, &[Source { text, ..mail }, audit, db]);
    assert_eq!(
        refused(&composed),
        [
            "mail: modules/mail.toml:3:33: error: emits[2]: \"Letter_Sent\" and \"letter-sent\", of emits[0] on line \
             3, differ only in capitals, `-` and `_`",
            "mail: modules/mail.toml:5:51: error: tools[2].name: \"Get-It\" and \"get_it\", of tools[0].name on line \
             4, differ only in capitals, `-` and `_`",
        ]
    );
    assert!(composed.user("db.n1").is_some());
    // Consumers are named in the mesh file, so that is what is refused, and the composed file before stays.
    let mesh = "nodes = [{ name = 'a' }, { name = 'a-b' }]
assignments = [
    { module = 'b-c', manifest = 'x.toml', nodes = ['a'] },
    { module = 'c', manifest = 'y.toml', nodes = ['a-b'] },
]";
    let mesh = Source { file: "mesh.toml", text: mesh };
    let problems = Composition::of(mesh, &[], &More::default()).unwrap_err();
    assert_eq!(
        problems.to_string(),
        "mesh.toml:4:51: error: assignments[1].nodes[0]: \"a-b_c\" and \"a_b-c\", of assignments[0].nodes[0] on line \
         3, differ only in capitals, `-` and `_` (name one of them otherwise)"
    );
}

#[test]
fn a_node_that_is_not_listed_is_the_mesh_files_mistake() {
    let mesh = MESH.replace("{ name = 'n2' }", "{ name = 'n3' }");
    let mesh = Source { file: "mesh.toml", text: &mesh };
    let problems = Composition::of(mesh, &manifests(), &More::default()).unwrap_err();
    let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
    assert_eq!(shown.len(), 2, "{shown:?}");
    assert!(shown[0].starts_with("mesh.toml:8:71: error: assignments[0].nodes[1]"), "{shown:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn whatever_is_wrong_with_one_manifest_all_others_are_composed_alike(
        written in mesh(),
        which in any::<Index>(),
        wrong in prop::sample::select(&["version = 1", "emits = ['a', 'A']", "= x", "calls = ['x']", ""][..]),
    ) {
        let mut manifests: Vec<_> = written.manifests.iter()
            .map(|m| (format!("files/modules/{}", m.value.file()), m.text.clone()))
            .collect();
        let sources = |manifests: &[(String, String)]| -> Composition {
            let manifests: Vec<_> =
                manifests.iter().map(|(file, text)| Source { file, text }).collect();
            compose(&written.file.text, &manifests)
        };
        let whole = sources(&manifests);
        let broken = which.index(manifests.len());
        let module = written.manifests[broken].value.name.clone();
        manifests[broken].1 = wrong.to_owned();
        let composed = sources(&manifests);
        let other = |user: &&User| !user.name().starts_with(&format!("{module}."));
        let (left, before): (Vec<&User>, Vec<&User>) = (
            composed.users().iter().filter(other).collect(),
            whole.users().iter().filter(other).collect(),
        );
        prop_assert_eq!(left, before);
        prop_assert!(composed.users().iter().all(|user| other(&user)));
        let refused: Vec<_> = composed.refused().iter().map(|r| r.module.as_deref()).collect();
        prop_assert_eq!(refused, [Some(module.as_str())]);
    }
}
