//! What serde gives, as objects of Python.

use std::fmt::{self, Display};

use pyo3::{
    Bound, IntoPyObject, PyAny, PyErr, Python,
    types::{PyAnyMethods, PyDict, PyDictMethods, PyList, PyString, PyStringMethods},
};
use serde::{
    Serialize, Serializer,
    ser::{
        Error as _, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant,
        SerializeTuple, SerializeTupleStruct, SerializeTupleVariant,
    },
};

use super::{Kind, Missing, Reader, Shape};
use crate::failure::Failure;

/// Why there is no object.
#[derive(Debug)]
pub(super) enum Failed {
    /// Python says why.
    Python(PyErr),
    /// The value is not what its class is made of.
    Value(String),
}

impl Failed {
    pub(super) fn into_exception(self, py: Python<'_>) -> PyErr {
        match self {
            Self::Python(error) => error,
            Self::Value(reason) => Failure::Arguments(reason).into_exception(py),
        }
    }
}

impl Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Python(error) => error.fmt(f),
            Self::Value(reason) => reason.fmt(f),
        }
    }
}

impl std::error::Error for Failed {}

impl serde::ser::Error for Failed {
    fn custom<T: Display>(reason: T) -> Self {
        Self::Value(reason.to_string())
    }
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

type Made<'py> = Result<Bound<'py, PyAny>, Failed>;

/// Makes the object of one value.
#[derive(Clone, Copy)]
pub(super) struct ObjectSerializer<'a, 'py> {
    pub(super) py: Python<'py>,
    pub(super) reader: &'a Reader,
    pub(super) kind: &'a Kind,
}

impl<'a, 'py> ObjectSerializer<'a, 'py> {
    fn of(self, kind: &'a Kind) -> Self {
        Self { kind, ..self }
    }

    fn none(self) -> Bound<'py, PyAny> {
        self.py.None().into_bound(self.py)
    }

    fn list(self, length: Option<usize>) -> Elements<'a, 'py> {
        let kind = if let Kind::List(kind) = self.kind { kind } else { &Kind::Plain };
        Elements { to: self.of(kind), made: Vec::with_capacity(length.unwrap_or(0)), variant: None }
    }

    fn entries(self) -> Result<Entries<'a, 'py>, Failed> {
        let shape = match self.kind {
            Kind::Class(place) => self.reader.shapes.get(*place),
            Kind::Plain | Kind::Date | Kind::List(_) | Kind::Map(_) => None,
        };
        let target = if let Some(shape) = shape {
            Target::Instance {
                shape,
                instance: shape.class.instance(self.py)?,
                filled: 0,
                next: 0,
                others: shape.others.as_ref().map(|_| PyDict::new(self.py)),
            }
        } else {
            let kind = if let Kind::Map(kind) = self.kind { kind } else { &Kind::Plain };
            Target::Map(PyDict::new(self.py), kind)
        };
        Ok(Entries { to: self, target, key: None, variant: None })
    }

    /// A variant with a value, as JSON has it: a mapping of one entry.
    fn variant(self, name: &str, value: Bound<'py, PyAny>) -> Made<'py> {
        let made = PyDict::new(self.py);
        made.set_item(name, value)?;
        Ok(made.into_any())
    }
}

macro_rules! numbers {
    ($($name:ident: $type:ty),*) => {
        $(fn $name(self, value: $type) -> Made<'py> {
            let Ok(made) = value.into_pyobject(self.py);
            Ok(made.into_any())
        })*
    };
}

impl<'a, 'py> Serializer for ObjectSerializer<'a, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;
    type SerializeSeq = Elements<'a, 'py>;
    type SerializeTuple = Elements<'a, 'py>;
    type SerializeTupleStruct = Elements<'a, 'py>;
    type SerializeTupleVariant = Elements<'a, 'py>;
    type SerializeMap = Entries<'a, 'py>;
    type SerializeStruct = Entries<'a, 'py>;
    type SerializeStructVariant = Entries<'a, 'py>;

    numbers! {
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    }

    fn serialize_bool(self, value: bool) -> Made<'py> {
        let Ok(made) = value.into_pyobject(self.py);
        Ok(made.to_owned().into_any())
    }

    /// The number that its shortest decimal names, as in JSON.
    fn serialize_f32(self, value: f32) -> Made<'py> {
        let whole = value.trunc();
        #[expect(clippy::float_cmp, reason = "whether it is whole is told exactly")]
        if whole == value {
            return self.serialize_f64(f64::from(value));
        }
        self.serialize_f64(value.to_string().parse().unwrap_or(f64::NAN))
    }

    fn serialize_f64(self, value: f64) -> Made<'py> {
        if !value.is_finite() {
            return Ok(self.none());
        }
        let Ok(made) = value.into_pyobject(self.py);
        Ok(made.into_any())
    }

    fn serialize_char(self, value: char) -> Made<'py> {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Made<'py> {
        if matches!(self.kind, Kind::Date) {
            return Ok(self.reader.date.bind(self.py).call1((value,))?);
        }
        Ok(PyString::new(self.py, value).into_any())
    }

    fn serialize_bytes(self, value: &[u8]) -> Made<'py> {
        Ok(PyList::new(self.py, value)?.into_any())
    }

    fn serialize_none(self) -> Made<'py> {
        Ok(self.none())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Made<'py> {
        Ok(self.none())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Made<'py> {
        Ok(self.none())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, name: &'static str) -> Made<'py> {
        self.serialize_str(name)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> Made<'py> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        value: &T,
    ) -> Made<'py> {
        let made = value.serialize(self.of(&Kind::Plain))?;
        self.variant(name, made)
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<Elements<'a, 'py>, Failed> {
        Ok(self.list(length))
    }

    fn serialize_tuple(self, length: usize) -> Result<Elements<'a, 'py>, Failed> {
        Ok(self.list(Some(length)))
    }

    fn serialize_tuple_struct(
        self,
        _: &'static str,
        length: usize,
    ) -> Result<Elements<'a, 'py>, Failed> {
        Ok(self.list(Some(length)))
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        length: usize,
    ) -> Result<Elements<'a, 'py>, Failed> {
        Ok(Elements { variant: Some(name), ..self.of(&Kind::Plain).list(Some(length)) })
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Entries<'a, 'py>, Failed> {
        self.entries()
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Entries<'a, 'py>, Failed> {
        self.entries()
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        name: &'static str,
        _: usize,
    ) -> Result<Entries<'a, 'py>, Failed> {
        Ok(Entries { variant: Some(name), ..self.of(&Kind::Plain).entries()? })
    }
}

/// Makes a list.
pub(super) struct Elements<'a, 'py> {
    to: ObjectSerializer<'a, 'py>,
    made: Vec<Bound<'py, PyAny>>,
    variant: Option<&'static str>,
}

impl<'py> Elements<'_, 'py> {
    fn add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        self.made.push(value.serialize(self.to)?);
        Ok(())
    }

    fn list(self) -> Made<'py> {
        let made = PyList::new(self.to.py, self.made)?.into_any();
        match self.variant {
            Some(name) => self.to.variant(name, made),
            None => Ok(made),
        }
    }
}

macro_rules! elements {
    ($($trait:ident: $add:ident),*) => {
        $(impl<'py> $trait for Elements<'_, 'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = Failed;

            fn $add<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
                self.add(value)
            }

            fn end(self) -> Made<'py> {
                self.list()
            }
        })*
    };
}

elements! {
    SerializeSeq: serialize_element,
    SerializeTuple: serialize_element,
    SerializeTupleStruct: serialize_field,
    SerializeTupleVariant: serialize_field
}

/// What the entries of a mapping, or the fields of a struct, go into.
enum Target<'a, 'py> {
    Map(Bound<'py, PyDict>, &'a Kind),
    Instance {
        shape: &'a Shape,
        instance: Bound<'py, PyAny>,
        /// The fields that are filled, a bit for each.
        filled: u64,
        /// The place after the field that was filled last.
        next: usize,
        others: Option<Bound<'py, PyDict>>,
    },
}

/// Makes a mapping, or an instance of a class.
pub(super) struct Entries<'a, 'py> {
    to: ObjectSerializer<'a, 'py>,
    target: Target<'a, 'py>,
    key: Option<Bound<'py, PyString>>,
    variant: Option<&'static str>,
}

impl<'py> Entries<'_, 'py> {
    fn add<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Result<(), Failed> {
        match &mut self.target {
            Target::Map(made, kind) => made.set_item(key, value.serialize(self.to.of(kind))?)?,
            Target::Instance { shape, instance, filled, next, others } => {
                if let Some((place, field)) = shape.field(key, *next) {
                    field.slot.fill(instance, &value.serialize(self.to.of(&field.kind))?)?;
                    *filled |= 1 << place;
                    *next = place + 1;
                } else if let (Some(others), Some((_, kind))) = (others, &shape.others) {
                    others.set_item(key, value.serialize(self.to.of(kind))?)?;
                }
            }
        }
        Ok(())
    }

    fn made(self) -> Made<'py> {
        let made = match self.target {
            Target::Map(made, _) => made.into_any(),
            Target::Instance { shape, instance, filled, others, .. } => {
                let fields = shape.fields.iter().enumerate();
                for (_, field) in fields.filter(|(place, _)| filled >> place & 1 == 0) {
                    let value = match field.missing {
                        Missing::None => self.to.none(),
                        Missing::List => PyList::empty(self.to.py).into_any(),
                        Missing::Map => PyDict::new(self.to.py).into_any(),
                        Missing::Error => {
                            let class = shape.class.name(self.to.py)?;
                            let reason = format!("a `{class}` needs `{}`", field.wire);
                            return Err(Failed::Value(reason));
                        }
                    };
                    field.slot.fill(&instance, &value)?;
                }
                if let (Some((slot, _)), Some(others)) = (&shape.others, others) {
                    slot.fill(&instance, &others)?;
                }
                instance
            }
        };
        match self.variant {
            Some(name) => self.to.variant(name, made),
            None => Ok(made),
        }
    }
}

impl<'py> SerializeMap for Entries<'_, 'py> {
    type Ok = Bound<'py, PyAny>;
    type Error = Failed;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), Failed> {
        let key = key.serialize(self.to.of(&Kind::Plain))?;
        // A number is written as a text.
        let key = if key.is_instance_of::<PyString>() { key } else { key.str()?.into_any() };
        self.key = Some(key.cast_into().map_err(PyErr::from)?);
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Result<(), Failed> {
        let key = self.key.take().ok_or_else(|| Failed::custom("a value without a key"))?;
        self.add(key.to_str()?, value)
    }

    fn end(self) -> Made<'py> {
        self.made()
    }
}

macro_rules! fields {
    ($($trait:ident),*) => {
        $(impl<'py> $trait for Entries<'_, 'py> {
            type Ok = Bound<'py, PyAny>;
            type Error = Failed;

            fn serialize_field<T: Serialize + ?Sized>(
                &mut self,
                key: &'static str,
                value: &T,
            ) -> Result<(), Failed> {
                self.add(key, value)
            }

            fn end(self) -> Made<'py> {
                self.made()
            }
        })*
    };
}

fields!(SerializeStruct, SerializeStructVariant);
