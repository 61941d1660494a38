//! Who asks for a provision, as the requests say it.

use super::{ProvisionError, ProvisionProblem};
use crate::identity::Instance;
use crate::json::{Members, Value};
use crate::name::{NameError, NodeName};

/// Reads `consumer: {node, module}`.
pub(super) fn read(fields: &Members<'_>) -> Result<Instance, ProvisionError> {
    const FIELD: &str = "consumer";
    let Some(value) = fields.value(FIELD) else {
        return Err(ProvisionError::new(FIELD, ProvisionProblem::Missing));
    };
    if !value.text.starts_with('{') {
        let problem =
            ProvisionProblem::Expected { what: "an object {node, module}", offset: value.offset };
        return Err(ProvisionError::new(FIELD, problem));
    }
    let parts = fields.object(value).map_err(ProvisionError::json)?;
    Ok(Instance { node: name(&parts, "node")?, module: name(&parts, "module")? })
}

/// Reads the shapes that were written before there was one: `consumer` a module's name, the
/// node in `node` or known from elsewhere; and a node, in `consumer` or `node`, with the module
/// in `from`. Nothing writes them any more.
pub(super) fn read_legacy(
    fields: &Members<'_>,
    known_node: Option<&NodeName>,
) -> Result<Instance, ProvisionError> {
    let is_object = |value: Value<'_>| value.text.starts_with('{');
    if fields.value("consumer").is_some_and(is_object) {
        return read(fields);
    }
    let has = |field| fields.value(field).is_some();
    if has("from") {
        // With both, `consumer` would have to be the node too, and `node` says so plainly.
        let node = if has("node") { "node" } else { "consumer" };
        return Ok(Instance { node: name(fields, node)?, module: name(fields, "from")? });
    }
    let node = match known_node {
        Some(known) if !has("node") => known.clone(),
        _ => name(fields, "node")?,
    };
    Ok(Instance { node, module: name(fields, "consumer")? })
}

pub(super) fn name<T>(fields: &Members<'_>, field: &'static str) -> Result<T, ProvisionError>
where
    T: for<'a> TryFrom<&'a str, Error = NameError>,
{
    let text = fields.text(field).map_err(|found| {
        let (what, offset) = (found.expected, found.offset);
        ProvisionError::new(field, ProvisionProblem::Expected { what, offset })
    })?;
    let Some(text) = text else {
        return Err(ProvisionError::new(field, ProvisionProblem::Missing));
    };
    T::try_from(&*text).map_err(|error| ProvisionError::new(field, ProvisionProblem::Name(error)))
}
