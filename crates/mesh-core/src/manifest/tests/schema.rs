use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde_json::Value;

use super::*;
use crate::manifest::bus::{RawBus, RawLimits, RawResponses, RawTls};
use crate::manifest::mesh_file::{RawAssignment, RawMesh, RawNode, RawPerson};
use crate::manifest::module::{RawModule, RawProvision, RawRequirement, RawTool};

/// The keys that a struct takes from a file, as serde is told them.
fn keys<'de, T: Deserialize<'de>>() -> Vec<&'static str> {
    struct Probe<'a>(&'a mut Vec<&'static str>);
    impl<'de> Deserializer<'de> for Probe<'_> {
        type Error = de::value::Error;

        fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
            Err(de::Error::custom("not a struct"))
        }

        fn deserialize_struct<V: Visitor<'de>>(
            self,
            _: &'static str,
            fields: &'static [&'static str],
            _: V,
        ) -> Result<V::Value, Self::Error> {
            self.0.extend(fields);
            Err(de::Error::custom("seen"))
        }

        serde::forward_to_deserialize_any! {
            bool i8 i16 i32 i64 u8 u16 u32 u64 f32 f64 char str string bytes byte_buf option unit
            unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
        }
    }
    let mut keys = Vec::new();
    assert!(T::deserialize(Probe(&mut keys)).is_err());
    keys.sort_unstable();
    keys
}

#[test]
fn the_published_schemas_have_the_keys_that_are_read() {
    let module: Value =
        serde_json::from_str(include_str!("../../../../../docs/schema/module.schema.json"))
            .unwrap();
    let mesh: Value =
        serde_json::from_str(include_str!("../../../../../docs/schema/mesh.schema.json")).unwrap();
    let check = |schema: &Value, keys: Vec<&str>, required: &[&str]| {
        let properties: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
        assert_eq!(properties, keys);
        assert_eq!(schema["additionalProperties"], false);
        let asked = schema.get("required").cloned().unwrap_or_else(|| serde_json::json!([]));
        assert_eq!(asked, serde_json::json!(required));
    };
    let items = |schema: &Value, key: &str| schema["properties"][key]["items"].clone();
    check(&module, keys::<RawModule>(), &["name", "version"]);
    check(&items(&module, "tools"), keys::<RawTool>(), &["name", "description"]);
    check(&items(&module, "provides"), keys::<RawProvision>(), &["name", "credential"]);
    check(&items(&module, "requires"), keys::<RawRequirement>(), &["provision"]);
    check(&mesh, keys::<RawMesh>(), &["nodes"]);
    check(&items(&mesh, "nodes"), keys::<RawNode>(), &["name"]);
    check(&items(&mesh, "assignments"), keys::<RawAssignment>(), &["module", "manifest", "nodes"]);
    check(&items(&mesh, "people"), keys::<RawPerson>(), &["name"]);
    let bus = &mesh["properties"]["bus"];
    check(bus, keys::<RawBus>(), &[]);
    check(&bus["properties"]["responses"], keys::<RawResponses>(), &["max", "expires"]);
    check(&bus["properties"]["tls"], keys::<RawTls>(), &[]);
    check(&bus["properties"]["limits"], keys::<RawLimits>(), &[]);
    // What the schemas require is what a file is refused without.
    assert!(refused("name = \"a\"")[0].contains("the key \"version\" is missing"));
    assert!(mesh_refused("")[0].contains("the key \"nodes\" is missing"));
    module_with("tools = [{ name = \"a\", description = \"b\" }]");
    module_with("requires = [{ provision = \"a\" }]");
    module_with("claims = [\"mesh-broker\"]");
}

fn module_with(line: &str) {
    module(&format!("name = \"a\"\nversion = \"1\"\n{line}"));
}
