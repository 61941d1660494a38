use super::*;
use crate::compose::{Composition, More, Source};

const MAIL: &str =
    "name = 'mail'\nversion = '1'\nemits = ['sent', 'lost']\ncalls = ['stock.count']";
const STOCK: &str = "name = 'stock'\nversion = '1'\nconsumes = ['mail.>']
tools = [{ name = 'count', description = 'Counts.' }, { name = 'price', description = 'Prices.' }]";
const NATS: &str = "name = 'nats'\nversion = '1'\nclaims = ['mesh-broker']";
const LAVIN: &str = "name = 'lavin'\nversion = '1'\nemits = ['x']\nclaims = ['mesh-broker']";

fn composed(mesh: &str, manifests: &[(&str, &str)]) -> Composition {
    let manifests: Vec<Source<'_>> =
        manifests.iter().map(|(file, text)| Source { file, text }).collect();
    let mesh = Source { file: "mesh.toml", text: mesh };
    Composition::of(mesh, &manifests, &More::default()).unwrap()
}

fn hash(user: &str) -> Option<PasswordHash> {
    let mut digest = [0; 32];
    for (at, byte) in user.bytes().take(32).enumerate() {
        digest[at] = byte;
    }
    Some(PasswordHash::of(*b"salt", digest))
}

#[test]
fn definitions_are_the_same_bytes_whatever_the_order_of_anything() {
    let one = composed(
        "nodes = [{ name = 'n1' }, { name = 'n2' }]
         assignments = [{ module = 'mail', manifest = 'mail.toml', nodes = ['n1', 'n2'] },
           { module = 'stock', manifest = 'stock.toml', nodes = ['n1'] }]
         people = [{ name = 'ada', administrator = true }, { name = 'ben', tools = ['stock.count', 'stock.price'] }]",
        &[("mail.toml", MAIL), ("stock.toml", STOCK)],
    );
    let stock = "name = 'stock'\nversion = '1'\nconsumes = ['mail.>']
tools = [{ name = 'price', description = 'Prices.' }, { name = 'count', description = 'Counts.' }]";
    let mail = "name = 'mail'\nversion = '1'\nemits = ['lost', 'sent']\ncalls = ['stock.count']";
    let other = composed(
        "nodes = [{ name = 'n2' }, { name = 'n1' }]
         assignments = [{ module = 'stock', manifest = 'stock.toml', nodes = ['n1'] },
           { module = 'mail', manifest = 'mail.toml', nodes = ['n2', 'n1'] }]
         people = [{ name = 'ben', tools = ['stock.price', 'stock.count'] }, { name = 'ada', administrator = true }]",
        &[("stock.toml", stock), ("mail.toml", mail)],
    );
    let [one, other] = [one, other].map(|of| of.rabbit("mesh", &hash).unwrap());
    assert_eq!(one.findings(), []);
    assert_eq!(one.text(), other.text());
    let names: Vec<_> = one.rows("users").iter().map(|row| row["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        [
            "builder.n1",
            "builder.n2",
            "host.n1",
            "host.n2",
            "n1.mail",
            "n1.stock",
            "n2.mail",
            "person.ada",
            "person.ben",
            "substrate"
        ]
    );
    // A row for every user and topic exchange, and hashes alone.
    assert_eq!(one.rows("topic_permissions").len(), names.len() * 5);
    for row in one.rows("permissions").iter().filter(|row| row["user"] != "substrate") {
        assert_eq!(row["configure"], "", "{row}");
    }
}

#[test]
fn whoever_has_no_hash_is_named() {
    let mesh = "nodes = [{ name = 'n1' }]\nassignments = [{ module = 'mail', manifest = 'mail.toml', nodes = ['n1'] }]";
    let mail = "name = 'mail'\nversion = '1'";
    let composed = composed(mesh, &[("mail.toml", mail)]);
    let known =
        |user: &str| hash(user).filter(|_| !user.starts_with("mail") && user != "controller");
    let told = composed.rabbit("mesh", &known).unwrap_err().to_string();
    assert_eq!(told, "no hash of a password is known of controller, mail.n1");
    assert!(composed.rabbit("a\nb", &hash).is_err());
}

#[test]
fn who_claims_a_seat_second_has_no_account_and_all_others_have_theirs() {
    let mesh = "nodes = [{ name = 'n1' }]
assignments = [{ module = 'nats', manifest = 'nats.toml', nodes = ['n1'] },
  { module = 'lavin', manifest = 'lavin.toml', nodes = ['n1'] },
  { module = 'mail', manifest = 'mail.toml', nodes = ['n1'] }]";
    let mail = "name = 'mail'\nversion = '1'";
    let files = [("nats.toml", NATS), ("lavin.toml", LAVIN), ("mail.toml", mail)];
    let composed = composed(mesh, &files);
    assert!(composed.user("lavin.n1").is_some() && composed.user("mail.n1").is_some());
    assert!(composed.user("nats.n1").is_none());
    let [refused] = composed.refused() else { panic!("{:?}", composed.refused()) };
    let told = refused.problems[0].to_string();
    assert!(
        told.contains("the seat mesh-broker is lavin on n1's already, by lavin.toml:4:11"),
        "{told}"
    );
    // A module that has a seat and runs twice is a mistake of the mesh file.
    let twice = "nodes = [{ name = 'n1' }, { name = 'n2' }]
assignments = [{ module = 'nats', manifest = 'nats.toml', nodes = ['n1', 'n2'] }]";
    let mesh = Source { file: "mesh.toml", text: twice };
    let nats = [Source { file: "nats.toml", text: NATS }];
    let told = Composition::of(mesh, &nats, &More::default()).unwrap_err().to_string();
    assert!(told.contains("assignments[0].nodes[1]: the seat mesh-broker"), "{told}");
}
