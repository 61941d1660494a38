use super::*;

#[test]
fn a_mesh_files_mistakes_are_reported_at_once() {
    let problems = mesh_refused(
        r#"
nodes = [{ name = "n1" }, { name = "n1" }, { name = "mesh" }]
assignments = [{ module = "mail", manifest = "", nodes = ["n1", "n1"] }, { module = "mail", manifest = "x", nodes = [] }]
[[people]]
name = "alice"
[[people]]
name = "alice"
administrator = true
tools = []
[[people]]
name = "bob"
tools = ["mail.provision_grant"]
"#,
    );
    assert_eq!(
        problems,
        [
            "mesh.toml:2:36: error: nodes[1].name: \"n1\" is given already by nodes[0].name (leave one of them out, or name it otherwise)",
            "mesh.toml:2:53: error: nodes[2].name: node name \"mesh\": reserved by the mesh (choose another)",
            "mesh.toml:3:46: error: assignments[0].manifest: it is empty (write something, or leave the key out if it may be)",
            "mesh.toml:3:65: error: assignments[0].nodes[1]: \"n1\" is given already by assignments[0].nodes[0] (leave one of them out, or name it otherwise)",
            "mesh.toml:3:85: error: assignments[1].module: \"mail\" is given already by assignments[0].module (leave one of them out, or name it otherwise)",
            "mesh.toml:4:1: error: people[0]: either `administrator = true` or `tools` is wanted (give one of the two)",
            "mesh.toml:6:1: error: people[1]: either `administrator = true` or `tools` is wanted (give one of the two)",
            "mesh.toml:7:8: error: people[1].name: \"alice\" is given already by people[0].name (leave one of them out, or name it otherwise)",
            "mesh.toml:12:10: error: people[2].tools[0]: only the controller calls a tool named provision_grant (`provides` and `requires` are enough)",
        ]
    );
}

const MESH: &str = r#"
nodes = [{ name = "n1" }]
assignments = [
  { module = "a", manifest = "a.toml", nodes = ["n1", "n2"] },
  { module = "b", manifest = "b.toml", nodes = [] },
  { module = "c", manifest = "c.toml", nodes = ["n1"] },
]
people = [{ name = "p", tools = ["a.t", "b.t", "z.t"] }]
"#;

#[test]
fn what_no_single_file_shows_is_found_between_them() {
    let tool = "tools = [{ name = \"t\", description = \"T\" }]";
    let parse = |file: &str, text: &str| ModuleManifest::parse(file, text).unwrap();
    let a = "name = \"a\"\nversion = \"1\"\nemits = [\"x\"]\nconsumes = [\"b.y\", \"c.>\"]\ncalls = [\"b.t\", \"b.u\"]\nrequires = [{ provision = \"p\" }, { provision = \"q\" }, { provision = \"p\", from = \"c\" }]\n";
    let a = a.replace(", { provision = \"p\", from = \"c\" }", "");
    let a = parse("a.toml", &format!("{a}{tool}"));
    let b = "name = \"b\"\nversion = \"1\"\nemits = [\"y\"]\nprovides = [{ name = \"p\", credential = [] }]\nrequires = [{ provision = \"p\", from = \"a\" }]\n";
    let b = parse("b.toml", &format!("{b}{tool}"));
    let twice = parse("b2.toml", "name = \"b\"\nversion = \"1\"");
    let d = parse("d.toml", "name = \"d\"\nversion = \"1\"");
    let problems = Mesh::resolve(&mesh_file(MESH), &[a, b, twice, d]).unwrap_err();
    assert_eq!(
        shown(&problems),
        [
            "a.toml:5:17: error: calls[1]: no module has the tool b.u (let its module list it under `tools`, or leave it out)",
            "a.toml:6:34: error: requires[1]: no module provides q (let a module list it under `provides`, or leave it out)",
            "b.toml:5:13: error: requires[0]: a doesn't provide p (let a module list it under `provides`, or leave it out)",
            "b2.toml:1:8: error: name: b.toml has the name b already (give one of them another name)",
            "d.toml:1:8: error: name: the mesh file has no module d (add it to `assignments`; `nodes = []` runs it nowhere)",
            "mesh.toml:4:55: error: assignments[0].nodes[1]: no node is named n2 (list it under `nodes`)",
            "mesh.toml:6:14: error: assignments[2].module: no manifest has the name c (`module` must equal `name` in the manifest)",
            "mesh.toml:8:48: error: people[0].tools[2]: no module has the tool z.t (let its module list it under `tools`, or leave it out)",
            "a.toml:3:10: warning: emits[0]: no module consumes x (let a module consume it, if somebody should get it)",
            "a.toml:4:20: warning: consumes[1]: no module emits an event like c.> (let a module emit one, or leave the pattern out)",
            "a.toml:5:10: warning: calls[0]: nobody serves b.t: its module is assigned to no node (assign its module to a node)",
            "mesh.toml:5:48: warning: assignments[1].nodes: b is assigned to no node (list nodes that run it, if it is meant to run)",
            "mesh.toml:8:41: warning: people[0].tools[1]: nobody serves b.t: its module is assigned to no node (assign its module to a node)",
        ]
    );
}

#[test]
fn an_event_whose_dead_letter_could_not_go_back_is_refused() {
    let text = |event: usize| {
        let event = ["e"; 100].join(".")[..event].to_owned();
        format!("name = \"c\"\nversion = \"1\"\nemits = [\"{event}\"]\nconsumes = [\"c.>\"]")
    };
    let mesh = "nodes = [{ name = \"N\" }]\nassignments = [{ module = \"c\", manifest = \"c\", nodes = [\"N\"] }]";
    let mesh = mesh_file(&mesh.replace('N', &"n".repeat(63)));
    let resolve = |event| Mesh::resolve(&mesh, &[module(&text(event))]);
    assert!(resolve(175).is_ok());
    let problems = resolve(177).unwrap_err();
    assert!(problems[0].to_string().contains("its subject would be 257 bytes long"));
}

#[test]
fn a_requirement_that_several_meet_says_whose() {
    let parse = |file: &str, text: &str| ModuleManifest::parse(file, text).unwrap();
    let provider = |name: &str| {
        let text = format!(
            "name = \"{name}\"\nversion = \"1\"\nprovides = [{{ name = \"p\", credential = [] }}]"
        );
        parse(name, &text)
    };
    let mesh = mesh_file(&MESH.replace(", \"n2\"", "").replace("people", "#"));
    let resolve = |from: &str| {
        let c =
            format!("name = \"c\"\nversion = \"1\"\nrequires = [{{ provision = \"p\"{from} }}]");
        Mesh::resolve(&mesh, &[provider("a"), provider("b"), parse("c.toml", &c)])
    };
    assert!(resolve(", from = \"b\"").is_ok());
    assert_eq!(
        resolve("").unwrap_err()[0].to_string(),
        "c.toml:3:13: error: requires[0]: several modules provide p: a, b (say which with `from`)"
    );
}

#[test]
fn a_manifest_that_cant_be_read_is_a_mistake_of_its_assignment() {
    let problem = mesh_file(MESH).unreadable_manifest(1, "dir/b.toml", "no such file");
    assert_eq!(
        problem.to_string(),
        "mesh.toml:5:30: error: assignments[1].manifest: can't read dir/b.toml: no such file (`manifest` is a path relative to the mesh file)"
    );
}

/// Each event was compared with each pattern: more than ten minutes for these.
#[test]
fn many_events_and_patterns_are_compared_in_time_for_their_number() {
    let list = |text: &dyn Fn(usize) -> String| {
        let all: Vec<String> = (0..10_000).map(|n| format!("'{}'", text(n))).collect();
        all.join(",")
    };
    let emits = format!("name = 'a'\nversion = '1'\nemits = [{}]", list(&|n| format!("e{n}")));
    let consumes =
        format!("name = 'b'\nversion = '1'\nconsumes = [{}]", list(&|n| format!("a.x{n}.*")));
    let manifests = [("a.toml", emits), ("b.toml", consumes)]
        .map(|(file, text)| ModuleManifest::parse(file, &text).unwrap());
    // Not timed: work that grows with the square of the number is felt here.
    let mesh = Mesh::on_one_node(&"n1".parse().unwrap(), manifests).unwrap();
    assert_eq!(mesh.warnings().len(), 20_000);
}

#[test]
fn a_name_that_is_nearly_right_is_told_the_right_one() {
    let parse = |file: &str, text: &str| ModuleManifest::parse(file, text).unwrap();
    let stock = "name = 'stock'\nversion = '1'\ntools = [{ name = 'count', description = 'T' }]
provides = [{ name = 'shelf', credential = [] }]";
    let shop = "name = 'shop'\nversion = '1'\ncalls = ['stock.cuont', 'stock.price']
requires = [{ provision = 'shlf' }, { provision = 'bed' }]";
    let file = mesh_file(
        "nodes = [{ name = 'north' }, { name = 'node1' }]
assignments = [
  { module = 'shop', manifest = 'shop', nodes = ['nort', 'node2'] },
  { module = 'stock', manifest = 'stock', nodes = ['north'] },
  { module = 'sotck', manifest = 'stock', nodes = ['north'] },
]
people = [{ name = 'ben', tools = ['stock.coun'] }]",
    );
    let manifests = [parse("shop.toml", shop), parse("stock.toml", stock)];
    let problems = Mesh::resolve(&file, &manifests).unwrap_err();
    let hint = |told: &str| {
        let problem = problems.iter().find(|problem| problem.to_string().contains(told)).unwrap();
        problem.kind.hint().into_owned()
    };
    assert_eq!(hint("has the tool stock.cuont"), "did you mean `stock.count`?");
    assert_eq!(hint("has the tool stock.coun "), "did you mean `stock.count`?");
    assert_eq!(hint("provides shlf"), "did you mean `shelf`?");
    assert_eq!(hint("named nort "), "did you mean `north`?");
    assert_eq!(hint("the name sotck"), "did you mean `stock`?");
    // Another, not a slip.
    assert_eq!(hint("named node2"), "list it under `nodes`");
    assert!(hint("has the tool stock.price").starts_with("let its module list it"));
    assert!(hint("provides bed").starts_with("let a module list it"));
}

#[test]
fn a_key_that_is_cut_short_is_told_the_whole_one() {
    let problems = mesh_refused(
        "nodes = [{ name = 'n1' }]\nassignments = []\npeople = [{ name = 'a', admin = true }]",
    );
    assert!(
        problems.iter().any(|told| told.contains("did you mean `administrator`?")),
        "{problems:?}"
    );
}

#[test]
fn as_far_as_files_agree_a_mesh_is_made_of_them_and_all_that_is_wrong_is_told() {
    let file = mesh_file(
        "nodes = [{ name = 'n1' }]
assignments = [
    { module = 'a', manifest = 'a.toml', nodes = ['n1', 'n2'] },
    { module = 'gone', manifest = 'gone.toml', nodes = ['n1'] },
]",
    );
    let a =
        module("name = 'a'\nversion = '1'\ncalls = ['gone.x']\nrequires = [{ provision = 'db' }]");
    let (mesh, problems) = Mesh::resolve_as_far(&file, std::slice::from_ref(&a));
    let codes: Vec<_> = problems.iter().map(|problem| problem.kind.code()).collect();
    assert_eq!(codes, ["unknown-tool", "nobody-provides", "unknown-node", "unknown-module"]);
    let Err(strict) = Mesh::resolve(&file, &[a]) else { panic!("it agrees") };
    assert_eq!(strict.len(), problems.len());
    let instances: Vec<_> = mesh.instances().map(|instance| instance.node.to_string()).collect();
    assert_eq!((instances, mesh.modules().len()), (vec!["n1".to_owned()], 1));
}

#[test]
fn a_seat_has_one_holder_in_a_mesh_and_a_second_claim_is_told_with_both_lines() {
    let claiming = |name: &str| {
        let text = format!("name = \"{name}\"\nversion = \"1\"\nclaims = [\"mesh-broker\"]");
        ModuleManifest::parse(&format!("{name}.toml"), &text).unwrap()
    };
    let file = |a: &str, b: &str| {
        let text = format!(
            "nodes = [{{ name = \"n1\" }}, {{ name = \"n2\" }}]\nassignments = [\n  {{ module = \"nats\", \
             manifest = \"nats.toml\", nodes = [{a}] }},\n  {{ module = \"lavin\", manifest = \"lavin.toml\", \
             nodes = [{b}] }},\n]"
        );
        mesh_file(&text)
    };
    let resolve = |a: &str, b: &str| {
        let problems = Mesh::resolve(&file(a, b), &[claiming("nats"), claiming("lavin")]);
        problems.map(|mesh| mesh.holder_of(&crate::name::SeatName::broker()))
    };
    let told = resolve("\"n1\"", "\"n2\"").unwrap_err();
    assert_eq!(
        shown(&told),
        [
            "nats.toml:3:11: error: claims[0]: the seat mesh-broker is lavin on n2's already, by lavin.toml:3:11 \
          (a seat has one holder in a mesh: leave one of the two out)"
        ]
    );
    // The same module on a second node is a second claim, too.
    let told = resolve("\"n1\", \"n2\"", "").unwrap_err();
    assert_eq!(
        shown(&told)[0],
        "mesh.toml:3:61: error: assignments[0].nodes[1]: the seat mesh-broker is nats on n1's already, by \
         mesh.toml:3:55 (a seat has one holder in a mesh: leave one of the two out)"
    );
    // Who runs nowhere has none.
    let holder = resolve("\"n2\"", "").unwrap().unwrap();
    assert_eq!((holder.module.as_str(), holder.node.as_str()), ("nats", "n2"));
    assert_eq!(resolve("", "").unwrap(), None);
}

#[test]
fn a_seats_name_is_checked_and_given_once() {
    let text = "name = \"a\"\nversion = \"1\"\nclaims = [\"mesh-broker\", \"Mesh.Broker\", \"mesh-broker\"]";
    let told = refused(text);
    assert!(told[0].contains("claims[1]: seat name"), "{told:?}");
    assert!(told[1].contains("claims[2]: \"mesh-broker\" is given already"), "{told:?}");
}
