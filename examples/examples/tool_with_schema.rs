//! A tool whose schemas follow from its types, stand in its manifest, and are kept.
//!
//! The mesh carries a tool's schemas to whoever chooses and calls it, and checks no call against them
//! (docs/decisions/0070-who-keeps-a-tools-schema.md). A service that wants them kept does it here, at the
//! edge of its handler: `Schemas` is all there is to it.
//!
//! Run it with `cargo run -p mesh-examples --example tool_with_schema`.
#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::future::ready;

use jsonschema::Validator;
use mesh_core::manifest::{Mesh, ModuleManifest, Tool};
use mesh_core::tool::{ToolFailure, codes};
use mesh_sdk::{Broker, RequestError, ToolCall};
use mesh_transport_mem::InMemoryMesh;
use schemars::{JsonSchema, schema_for};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

// `serde` reads any number into these; that there is a least and a most, the schema alone says.
/// A picture by its size in pixels.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Picture {
    #[schemars(range(min = 1, max = 4096))]
    width: u32,
    #[schemars(range(min = 1, max = 4096))]
    height: u32,
}

/// How large a file is.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Size {
    #[schemars(range(max = 1_048_576))]
    bytes: u32,
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let files = [manifest()?, ModuleManifest::parse("shop.toml", SHOP)?];
    let tool = files[0].tool(&"size".parse()?).ok_or("no such tool")?;
    println!("{}: {}", tool.name, tool.description);
    println!("takes {}", tool.input.as_str());

    let node = "n1".parse()?;
    let mesh = InMemoryMesh::raise(Mesh::on_one_node(&node, files.clone())?).await?;
    let thumbs = Broker::builder(mesh.module(&node, &files[0].name)?).build()?;
    let schemas = Schemas::of(tool)?;
    thumbs.handle("size", move |call| ready(size(&schemas, &call))).await?;

    let shop = Broker::builder(mesh.module(&node, &files[1].name)?).build()?;
    for input in [
        json!({"width": 640, "height": 480}),
        json!({"width": 0, "height": 9000}),
        json!({"width": 640}),
        json!({"width": 4096, "height": 4096}), // a bug of the tool's, which its caller is not given
    ] {
        match shop.request::<_, _, Size>(("thumbs", "size"), &input).await {
            Ok(size) => println!("{input}: {} bytes", size.bytes),
            Err(RequestError::Tool(failure)) => println!("{input}: {failure}"),
            Err(other) => return Err(other.into()),
        }
    }
    Ok(())
}

const SHOP: &str = "
name = 'shop'
version = '1.0.0'
calls = ['thumbs.size']";

/// The manifest with the schemas of the types. One that is kept as a file has a test that compares them.
fn manifest() -> Result<ModuleManifest, Box<dyn Error>> {
    let manifest = toml::to_string(&json!({
        "name": "thumbs",
        "version": "1.0.0",
        "tools": [{
            "name": "size",
            "description": "How large a thumbnail will be.",
            "repeatable": true,
            "input": schema_for!(Picture),
            "output": schema_for!(Size),
        }],
    }))?;
    Ok(ModuleManifest::parse("thumbs.toml", &manifest)?)
}

/// A tool's schemas, ready to be kept.
struct Schemas {
    input: Validator,
    output: Validator,
}

impl Schemas {
    fn of(tool: &Tool) -> Result<Self, Box<dyn Error>> {
        let output = tool.output.as_ref().ok_or("it does not say what it answers")?;
        Ok(Self {
            input: jsonschema::validator_for(&tool.input.decode()?)?,
            output: jsonschema::validator_for(&output.decode()?)?,
        })
    }

    /// What is asked, as the manifest allows it.
    fn read<I: DeserializeOwned>(&self, call: &ToolCall) -> Result<I, ToolFailure> {
        let told = |told| ToolFailure::new(codes::BAD_REQUEST, format!("input: {told}"));
        keeps(&self.input, &call.decode()?).map_err(told)?;
        call.decode()
    }

    /// The answer, as the manifest allows it.
    fn answer<O: Serialize>(&self, output: &O) -> Result<Value, ToolFailure> {
        let told = |told| ToolFailure::new(codes::FAILED, format!("output: {told}"));
        let output = serde_json::to_value(output).map_err(|error| told(error.to_string()))?;
        keeps(&self.output, &output).map_err(told)?;
        Ok(output)
    }
}

fn size(schemas: &Schemas, call: &ToolCall) -> Result<Value, ToolFailure> {
    let picture: Picture = schemas.read(call)?;
    schemas.answer(&Size { bytes: picture.width * picture.height })
}

/// Everything that is wrong with `value`, and where.
fn keeps(schema: &Validator, value: &Value) -> Result<(), String> {
    let told = |error: jsonschema::ValidationError<'_>| match error.instance_path().as_str() {
        "" => error.to_string(),
        place => format!("{place}: {error}"),
    };
    let wrong: Vec<_> = schema.iter_errors(value).map(told).collect();
    if wrong.is_empty() { Ok(()) } else { Err(wrong.join("; ")) }
}
