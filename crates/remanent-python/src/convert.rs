//! Values of Python as values of a configuration, and results as values of Python.
//!
//! A list of rows, which JSON has as a list of objects, becomes one NumPy array for each field.

use numpy::PyArray1;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString, PyTuple};
use serde_json::Value as Json;
use toml::{Table, Value};

/// The deepest nesting of what is read: a list may contain itself.
const DEEPEST: usize = 8;

/// Options by their keys. An option that is None is not given.
pub fn table(options: &Bound<'_, PyDict>) -> PyResult<Table> {
    table_at(options, 0)
}

fn table_at(options: &Bound<'_, PyDict>, depth: usize) -> PyResult<Table> {
    let mut table = Table::new();
    for (key, value) in options.iter() {
        if value.is_none() {
            continue;
        }
        let key: String = key.extract().map_err(|_| {
            PyTypeError::new_err(format!("{} is not the name of an option", shown(&key)))
        })?;
        let value = read(&key, &value, depth + 1)?;
        table.insert(key, value);
    }
    Ok(table)
}

/// The value of an option.
pub fn value(key: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    read(key, given, 0)
}

fn read(key: &str, given: &Bound<'_, PyAny>, depth: usize) -> PyResult<Value> {
    if depth > DEEPEST {
        return Err(PyValueError::new_err(format!("{key} is nested too deeply")));
    }
    if given.is_instance_of::<PyBool>() {
        return Ok(Value::Boolean(given.is_truthy()?));
    }
    if let Ok(text) = given.cast::<PyString>() {
        return Ok(Value::String(text.to_cow()?.into_owned()));
    }
    if given.is_instance_of::<PyInt>() {
        return whole(key, given);
    }
    if given.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(given.extract()?));
    }
    if let Ok(options) = given.cast::<PyDict>() {
        return Ok(Value::Table(table_at(options, depth)?));
    }
    if given.is_instance_of::<PyList>() || given.is_instance_of::<PyTuple>() {
        let list: PyResult<Vec<Value>> =
            given.try_iter()?.map(|entry| read(key, &entry?, depth + 1)).collect();
        return Ok(Value::Array(list?));
    }
    // Arrays, scalars and ranges of NumPy, pandas and others.
    if let Ok(list) = given.call_method0("tolist") {
        if !list.is(given) {
            return read(key, &list, depth + 1);
        }
    } else if let Ok(path) = given.call_method0("__fspath__") {
        return read(key, &path, depth + 1);
    } else if given.hasattr("__index__")? {
        return whole(key, &given.call_method0("__index__")?);
    } else if given.hasattr("__float__")? {
        return Ok(Value::Float(given.call_method0("__float__")?.extract()?));
    }
    let kind = given.get_type().name()?;
    Err(PyTypeError::new_err(format!(
        "{key} = {} cannot be used: it must be a number, a text or a list of these, not {kind}",
        shown(given)
    )))
}

fn whole(key: &str, given: &Bound<'_, PyAny>) -> PyResult<Value> {
    given.extract::<i64>().map(Value::Integer).map_err(|_| {
        let largest = i64::MAX;
        PyValueError::new_err(format!(
            "{key} = {} is out of range: it must be at most {largest}",
            shown(given)
        ))
    })
}

/// What Python shows, cut short.
fn shown(given: &Bound<'_, PyAny>) -> String {
    const LONGEST: usize = 60;
    let text = given.repr().map_or_else(|_| "?".into(), |text| text.to_string());
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// A result as lists, dictionaries, numbers and texts of Python.
pub fn object<'py>(py: Python<'py>, value: &Json) -> PyResult<Bound<'py, PyAny>> {
    Ok(match value {
        Json::Null => py.None().into_bound(py),
        Json::Bool(value) => PyBool::new(py, *value).to_owned().into_any(),
        Json::Number(number) => match (number.as_i64(), number.as_u64(), number.as_f64()) {
            (Some(number), ..) => number.into_pyobject(py)?.into_any(),
            (_, Some(number), _) => number.into_pyobject(py)?.into_any(),
            (.., number) => number.into_pyobject(py)?.into_any(),
        },
        Json::String(text) => PyString::new(py, text).into_any(),
        Json::Array(list) => {
            let list: PyResult<Vec<_>> = list.iter().map(|value| object(py, value)).collect();
            PyList::new(py, list?)?.into_any()
        }
        Json::Object(fields) => {
            let dict = PyDict::new(py);
            for (key, value) in fields {
                dict.set_item(key, object(py, value)?)?;
            }
            dict.into_any()
        }
    })
}

/// One array for each field of the rows. A number that is missing is NaN.
pub fn columns<'py>(py: Python<'py>, rows: &[Json]) -> PyResult<Bound<'py, PyDict>> {
    let columns = PyDict::new(py);
    let Some(Json::Object(first)) = rows.first() else { return Ok(columns) };
    for key in first.keys() {
        let field: Vec<&Json> = rows.iter().map(|row| &row[key]).collect();
        columns.set_item(key, column(py, &field)?)?;
    }
    Ok(columns)
}

fn column<'py>(py: Python<'py>, field: &[&Json]) -> PyResult<Bound<'py, PyAny>> {
    let all = |is: fn(&Json) -> bool| field.iter().all(|value| is(value));
    if all(Json::is_i64) {
        let numbers = field.iter().filter_map(|value| value.as_i64());
        return Ok(PyArray1::from_iter(py, numbers).into_any());
    }
    if all(|value| value.is_number() || value.is_null()) {
        let numbers = field.iter().map(|value| value.as_f64().unwrap_or(f64::NAN));
        return Ok(PyArray1::from_iter(py, numbers).into_any());
    }
    if all(Json::is_boolean) {
        let answers = field.iter().filter_map(|value| value.as_bool());
        return Ok(PyArray1::from_iter(py, answers).into_any());
    }
    let list: PyResult<Vec<_>> = field.iter().map(|value| object(py, value)).collect();
    Ok(PyList::new(py, list?)?.into_any())
}
