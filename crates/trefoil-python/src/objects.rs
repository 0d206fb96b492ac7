//! Values of the library as objects of Python, without JSON between them.
//!
//! `trefoil_search.types` says what its classes are made of, one [`Shape`] each. A value is then
//! serialised into an object: a struct becomes an instance of its class, all else what the module
//! `json` would make of it.

mod instance;
mod serializer;

use std::collections::HashMap;

use pyo3::{
    Bound, Py, PyAny, PyResult, Python,
    exceptions::PyTypeError,
    pyclass, pymethods,
    types::{PyAnyMethods, PyList, PyTuple, PyType, PyTypeMethods},
};
use serde::Serialize;

use self::{
    instance::{Class, Slot},
    serializer::ObjectSerializer,
};
use crate::failure::Failure;

/// What a value of JSON becomes.
#[derive(Debug)]
enum Kind {
    /// What it is in JSON.
    Plain,
    /// A date, which JSON has as a text.
    Date,
    /// An instance of the class at this place.
    Class(usize),
    List(Box<Kind>),
    /// A mapping by texts.
    Map(Box<Kind>),
}

/// What a field has that is left out of the JSON.
#[derive(Clone, Copy, Debug)]
enum Missing {
    Error,
    None,
    List,
    Map,
}

#[derive(Debug)]
struct Field {
    wire: String,
    slot: Slot,
    kind: Kind,
    missing: Missing,
}

/// What a class is made of.
#[derive(Debug)]
struct Shape {
    class: Class,
    fields: Vec<Field>,
    /// Where everything goes that is no field.
    others: Option<(Slot, Kind)>,
}

impl Shape {
    /// As many as a `u64` has bits, one for each field that is filled.
    const MOST_FIELDS: usize = u64::BITS as usize;

    /// The field of this name in JSON, which is most often at `next` or soon after.
    fn field(&self, name: &str, next: usize) -> Option<(usize, &Field)> {
        let places = (next..self.fields.len()).chain(0..next);
        let mut fields = places.filter_map(|place| Some((place, self.fields.get(place)?)));
        fields.find(|(_, field)| field.wire == name)
    }
}

/// Makes objects of values.
#[derive(Debug)]
#[pyclass(frozen, name = "Reader", module = "trefoil_search._native")]
pub(crate) struct Reader {
    shapes: Vec<Shape>,
    /// By the addresses of the classes, which the shapes keep alive.
    places: HashMap<usize, usize>,
    date: Py<PyAny>,
    /// Of what is asked for by name: the class of an answer to a question.
    answer: usize,
}

type Row<'py> = (String, String, Bound<'py, PyAny>, Bound<'py, PyAny>);

#[pymethods]
impl Reader {
    /// Takes classes with their fields: name, name in JSON, kind, and what a missing one is:
    /// `None`, `list` or `dict`, or `...` where it has to be there. A kind is `None`, a class, or a
    /// list or a tuple with the kind of what is in a list or in a mapping. A field with an empty
    /// name in JSON takes all that is no field. The first class is that of an answer to a question.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python is taken by value")]
    fn new(py: Python<'_>, classes: Vec<(Bound<'_, PyType>, Vec<Row<'_>>)>) -> PyResult<Self> {
        let date = py.import("datetime")?.getattr("date")?;
        let places = classes.iter().enumerate();
        let places: HashMap<_, _> =
            places.map(|(place, (class, _))| (class.as_ptr() as usize, place)).collect();
        let kinds = Kinds { places: &places, date: &date };
        let shapes = classes.iter().map(|(class, rows)| kinds.shape(class, rows));
        let shapes = shapes.collect::<PyResult<_>>()?;
        let date = date.getattr("fromisoformat")?.unbind();
        Ok(Self { shapes, places, date, answer: 0 })
    }

    /// Makes an instance of a class of JSON.
    #[pyo3(signature = (class_, json))]
    fn read<'py>(
        &self,
        py: Python<'py>,
        class_: &Bound<'py, PyType>,
        json: &[u8],
    ) -> PyResult<Bound<'py, PyAny>> {
        let place = self.places.get(&(class_.as_ptr() as usize)).copied();
        let place = place.ok_or_else(|| {
            PyTypeError::new_err(format!("`{class_}` is no class of `trefoil_search.types`"))
        })?;
        let value: serde_json::Value = serde_json::from_slice(json)
            .map_err(|error| Failure::from(error).into_exception(py))?;
        if !value.is_object() {
            let reason = format!("this is no `{}`", class_.name()?);
            return Err(Failure::Arguments(reason).into_exception(py));
        }
        self.make(py, &Kind::Class(place), &value)
    }
}

impl Reader {
    /// Makes the object of an answer to a question.
    pub(crate) fn answer<'py>(
        &self,
        py: Python<'py>,
        answer: &trefoil::SearchResult,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.make(py, &Kind::Class(self.answer), answer)
    }

    fn make<'py>(
        &self,
        py: Python<'py>,
        kind: &Kind,
        value: &impl Serialize,
    ) -> PyResult<Bound<'py, PyAny>> {
        value
            .serialize(ObjectSerializer { py, reader: self, kind })
            .map_err(|error| error.into_exception(py))
    }
}

/// Reads what Python says of its classes.
struct Kinds<'a, 'py> {
    places: &'a HashMap<usize, usize>,
    date: &'a Bound<'py, PyAny>,
}

impl<'py> Kinds<'_, 'py> {
    fn shape(&self, class: &Bound<'py, PyType>, rows: &[Row<'py>]) -> PyResult<Shape> {
        let mut shape = Shape { class: Class::of(class)?, fields: Vec::new(), others: None };
        for (name, wire, kind, missing) in rows {
            let slot = Slot::of(class, name)?;
            let kind = self.kind(kind)?;
            if wire.is_empty() {
                shape.others = Some((slot, kind));
            } else {
                let missing = self::missing(missing)?;
                shape.fields.push(Field { wire: wire.clone(), slot, kind, missing });
            }
        }
        if shape.fields.len() > Shape::MOST_FIELDS {
            let reason = format!("`{class}` has more than {} fields", Shape::MOST_FIELDS);
            return Err(PyTypeError::new_err(reason));
        }
        Ok(shape)
    }

    fn kind(&self, kind: &Bound<'py, PyAny>) -> PyResult<Kind> {
        if kind.is_none() {
            return Ok(Kind::Plain);
        }
        if kind.is(self.date) {
            return Ok(Kind::Date);
        }
        if let Some(&place) = self.places.get(&(kind.as_ptr() as usize)) {
            return Ok(Kind::Class(place));
        }
        if kind.is_instance_of::<PyList>() {
            return Ok(Kind::List(Box::new(self.kind(&kind.get_item(0)?)?)));
        }
        if kind.is_instance_of::<PyTuple>() {
            return Ok(Kind::Map(Box::new(self.kind(&kind.get_item(0)?)?)));
        }
        Err(PyTypeError::new_err(format!("`{kind}` is no kind of a field")))
    }
}

fn missing(told: &Bound<'_, PyAny>) -> PyResult<Missing> {
    let py = told.py();
    Ok(if told.is_none() {
        Missing::None
    } else if told.is(py.Ellipsis()) {
        Missing::Error
    } else if told.is(py.get_type::<PyList>()) {
        Missing::List
    } else if told.is(py.get_type::<pyo3::types::PyDict>()) {
        Missing::Map
    } else {
        return Err(PyTypeError::new_err(format!("`{told}` is no default of a field")));
    })
}
