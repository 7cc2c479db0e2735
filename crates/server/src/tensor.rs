//! Tensors of the Open Inference Protocol: requests in, outputs out.
//!
//! A request comes as one tensor of type BYTES, a JSON text in each element, conventionally called `request`;
//! or as one tensor for each field of the flow. Outputs are JSON texts in a tensor of type BYTES.

use stave_canon::{Number, Object, Value};

use crate::api::{InferRequest, OutputTensor, Tensor};
use crate::message::does_not_fit;
use crate::problem::Problem;

/// Names for the tensor whose elements are whole requests: the first that is no field of the flow.
const REQUEST: [&str; 2] = ["request", "stave-request"];
/// The tensor of outputs.
pub(crate) const OUTPUT: &str = "output";

const WHOLE: [&str; 8] = ["INT8", "INT16", "INT32", "INT64", "UINT8", "UINT16", "UINT32", "UINT64"];
const FLOATING: [&str; 4] = ["FP16", "BF16", "FP32", "FP64"];

/// The body of an inference. Binary data is refused by name, because such a tensor has no `data` either.
pub(crate) fn read(body: &Value) -> Result<InferRequest, Problem> {
    let inputs = body.get("inputs").and_then(Value::as_array).unwrap_or_default();
    if inputs.iter().any(|tensor| tensor.pointer("/parameters/binary_data_size").is_some()) {
        return Err(Problem::bad_request("binary data is not taken; send the elements in `data`"));
    }
    stave_shape::read(body).map_err(|faults| does_not_fit(&faults))
}

/// The requests in the `inputs` of an inference.
pub(crate) fn requests(inputs: &[Tensor], fields: &[&str], most: usize) -> Result<Vec<Value>, Problem> {
    let tensors = inputs.iter().map(Elements::read).collect::<Result<Vec<_>, _>>()?;
    if let [tensor] = tensors.as_slice()
        && !fields.contains(&tensor.name)
    {
        if tensor.items.len() > most {
            return Err(too_many(tensor.items.len(), most));
        }
        return tensor.items.iter().map(|item| tensor.request(item)).collect();
    }
    columns(&tensors, fields, most)
}

/// The name of the tensor of whole requests of a flow with these fields.
pub(crate) fn request_name(fields: &[&str]) -> &'static str {
    let [usual, other] = REQUEST;
    if fields.contains(&usual) { other } else { usual }
}

/// A tensor with a row for each output.
pub(crate) fn output(texts: Vec<String>) -> OutputTensor {
    OutputTensor {
        name: OUTPUT.to_owned(),
        datatype: "BYTES".to_owned(),
        shape: vec![texts.len() as u64],
        data: texts,
    }
}

/// A tensor whose elements have its type and are as many as its shape says.
struct Elements<'v> {
    name: &'v str,
    datatype: &'v str,
    items: Vec<&'v Value>,
}

impl<'v> Elements<'v> {
    fn read(tensor: &'v Tensor) -> Result<Elements<'v>, Problem> {
        let (name, datatype) = (tensor.name.as_str(), tensor.datatype.as_str());
        let fail = |reason: &str| Problem::bad_request(format!("tensor `{name}`: {reason}"));
        let mut items = Vec::new();
        flatten(&tensor.data, &mut items);
        let sizes = tensor.shape.iter().map(|size| u64::try_from(*size).ok());
        let count = sizes
            .collect::<Option<Vec<_>>>()
            .and_then(|sizes| sizes.into_iter().try_fold(1_u64, u64::checked_mul));
        if count != u64::try_from(items.len()).ok() {
            return Err(fail("`shape` and the number of elements in `data` disagree"));
        }
        let tensor = Elements { name, datatype, items };
        match tensor.items.iter().find(|item| !tensor.fits(item)) {
            Some(item) => Err(fail(&format!("{} is not of type {datatype}", item.kind()))),
            None => Ok(tensor),
        }
    }

    fn is_texts(&self) -> bool {
        self.datatype == "BYTES"
    }

    fn fits(&self, item: &Value) -> bool {
        match item {
            Value::String(_) => self.is_texts(),
            Value::Bool(_) => self.datatype == "BOOL",
            Value::Number(number) => {
                FLOATING.contains(&self.datatype) || (number.is_integer() && WHOLE.contains(&self.datatype))
            }
            _ => false,
        }
    }

    /// An element as a whole request.
    fn request(&self, item: &Value) -> Result<Value, Problem> {
        let text = item.as_str().filter(|_| self.is_texts());
        let text = text.ok_or_else(|| {
            Problem::bad_request(format!(
                "tensor `{}` must be of type BYTES, a JSON text in each element",
                self.name
            ))
        })?;
        stave_canon::parse_untrusted(text).map_err(|error| {
            Problem::bad_request(format!("an element of `{}` is not JSON: {error}", self.name))
        })
    }

    /// An element as the value of a field. A text that is an object or a list in JSON is that.
    fn field(&self, item: &Value) -> Value {
        match item {
            Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
                stave_canon::parse_untrusted(text).unwrap_or_else(|_| item.clone())
            }
            Value::Number(number) if FLOATING.contains(&self.datatype) && number.is_integer() => {
                Value::Number(Number::Float(number.as_f64()))
            }
            _ => item.clone(),
        }
    }
}

/// One tensor for each field, with as many elements as there are requests.
fn columns(tensors: &[Elements<'_>], fields: &[&str], most: usize) -> Result<Vec<Value>, Problem> {
    let rows = tensors.first().map_or(0, |tensor| tensor.items.len());
    if rows > most {
        return Err(too_many(rows, most));
    }
    let mut requests = vec![Object::new(); rows];
    for tensor in tensors {
        if !fields.contains(&tensor.name) {
            let detail = format!("the flow has no field `{}`; it has {}", tensor.name, fields.join(", "));
            return Err(Problem::bad_request(detail));
        }
        if tensor.items.len() != rows {
            return Err(Problem::bad_request("tensors of fields must have equally many elements"));
        }
        for (request, item) in requests.iter_mut().zip(&tensor.items) {
            request.insert(tensor.name.to_owned(), tensor.field(item));
        }
    }
    Ok(requests.into_iter().map(Value::Object).collect())
}

fn too_many(rows: usize, most: usize) -> Problem {
    let detail = format!("{rows} requests are more than the {most} that a batch may have");
    Problem::new(hyper::StatusCode::PAYLOAD_TOO_LARGE, "batch-too-large", detail)
}

/// The elements in row order; the protocol allows nested arrays.
fn flatten<'v>(items: &'v [Value], found: &mut Vec<&'v Value>) {
    for item in items {
        match item {
            Value::Array(inner) => flatten(inner, found),
            item => found.push(item),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn told(body: &str) -> Result<Vec<String>, String> {
        let body = stave_canon::parse(body).unwrap();
        let requests = read(&body).and_then(|body| requests(&body.inputs, &["query", "count"], 3));
        requests
            .map(|requests| requests.iter().map(ToString::to_string).collect())
            .map_err(|problem| problem.to_value().to_string())
    }

    #[test]
    fn a_tensor_of_texts_is_a_batch_of_requests() {
        let body = r#"{"inputs": [{"name": "request", "datatype": "BYTES", "shape": [2], "data": ["{\"query\":1}", "[]"]}]}"#;
        assert_eq!(told(body), Ok(vec!["{\"query\":1}".to_owned(), "[]".to_owned()]));
        let other = body.replace("\"request\"", "\"input-0\"");
        assert_eq!(told(&other).map(|requests| requests.len()), Ok(2));
    }

    #[test]
    fn a_tensor_for_each_field_is_a_batch_too() {
        let body = r#"{"inputs": [
          {"name": "query", "datatype": "BYTES", "shape": [2, 1], "data": [["a"], ["{\"b\": 1}"]]},
          {"name": "count", "datatype": "FP32", "shape": [2], "data": [1, 2.5]}]}"#;
        let wanted = [r#"{"query":"a","count":1.0}"#, r#"{"query":{"b":1},"count":2.5}"#];
        assert_eq!(told(body), Ok(wanted.map(str::to_owned).to_vec()));
        let one = r#"{"inputs": [{"name": "query", "datatype": "BYTES", "shape": [1], "data": ["a"]}]}"#;
        assert_eq!(told(one), Ok(vec![r#"{"query":"a"}"#.to_owned()]));
    }

    #[test]
    fn what_is_no_tensor_is_told() {
        let cases = [
            (r#"{}"#, "`inputs` is missing"),
            (r#"{"inputs": []}"#, "inputs"),
            (r#"{"inputs": [{"datatype": "BYTES"}]}"#, "name` is missing"),
            (
                r#"{"inputs": [{"name": "query", "datatype": "BYTES", "shape": [2], "data": ["a"]}]}"#,
                "disagree",
            ),
            (
                r#"{"inputs": [{"name": "query", "datatype": "BYTES", "shape": [-1], "data": ["a"]}]}"#,
                "disagree",
            ),
            (
                r#"{"inputs": [{"name": "query", "datatype": "INT8", "shape": [1], "data": [1.5]}]}"#,
                "not of type INT8",
            ),
            (
                r#"{"inputs": [{"name": "request", "datatype": "BYTES", "shape": [1], "data": ["{"]}]}"#,
                "not JSON",
            ),
            (
                r#"{"inputs": [{"name": "request", "datatype": "BYTES", "shape": [4], "data": ["1","2","3","4"]}]}"#,
                "more than the 3",
            ),
            (
                r#"{"inputs": [{"name": "query", "datatype": "BYTES", "shape": [1], "data": ["a"]},
                              {"name": "other", "datatype": "BYTES", "shape": [1], "data": ["a"]}]}"#,
                "no field `other`",
            ),
            (
                r#"{"inputs": [{"name": "request", "datatype": "BYTES", "shape": [1], "parameters": {"binary_data_size": 3}}]}"#,
                "binary data",
            ),
        ];
        for (body, reason) in cases {
            let said = told(body).unwrap_err();
            assert!(said.contains(reason), "{body}: {said}");
        }
    }

    proptest! {
        #[test]
        fn no_body_makes_it_panic(text in "[\\[\\]{}\":,a-z0-9]{0,80}") {
            if let Ok(body) = stave_canon::parse(&text) {
                for body in [body.clone(), Value::from_iter([("inputs", body)])] {
                    let _ = read(&body).and_then(|body| requests(&body.inputs, &["query"], 2));
                }
            }
        }
    }
}
