//! Instances of classes that cannot be changed: filled slot by slot, before anybody sees them.

use std::ptr;

use pyo3::{
    Bound, Py, PyAny, PyErr, PyResult, Python,
    exceptions::PyTypeError,
    ffi,
    types::{PyAnyMethods, PyTuple, PyType, PyTypeMethods},
};

/// Where an instance of a class has a field: one of its `__slots__`.
///
/// Its setter is called directly, since `__setattr__` of a frozen class refuses, and costs ten
/// times as much.
#[derive(Debug)]
pub(super) struct Slot {
    member: Py<PyAny>,
    set: ffi::descrsetfunc,
}

impl Slot {
    /// The slot of a class by its name.
    pub(super) fn of(class: &Bound<'_, PyType>, name: &str) -> PyResult<Self> {
        let member = class.getattr(name)?;
        let kind = member.get_type();
        let missing = || PyTypeError::new_err(format!("`{class}` has no slot `{name}`"));
        if kind.name()? != "member_descriptor" {
            return Err(missing());
        }
        #[expect(unsafe_code, reason = "a slot of a type has no other way in")]
        // SAFETY: `kind` is a type, and what it has as its `tp_descr_set` is of this type.
        let set = unsafe {
            let slot = ffi::PyType_GetSlot(kind.as_type_ptr(), ffi::Py_tp_descr_set);
            (!slot.is_null())
                .then(|| std::mem::transmute::<*mut std::ffi::c_void, ffi::descrsetfunc>(slot))
        };
        Ok(Self { member: member.unbind(), set: set.ok_or_else(missing)? })
    }

    /// Fills the slot of an instance of the class. Any other object is an error of Python.
    pub(super) fn fill(
        &self,
        instance: &Bound<'_, PyAny>,
        value: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        #[expect(unsafe_code, reason = "a slot of a type has no other way in")]
        // SAFETY: all three are alive, and a member looks whether the instance is of its class.
        let code = unsafe { (self.set)(self.member.as_ptr(), instance.as_ptr(), value.as_ptr()) };
        if code == 0 { Ok(()) } else { Err(PyErr::fetch(instance.py())) }
    }
}

/// A class whose instances are made with empty slots, as `object.__new__` makes them.
#[derive(Debug)]
pub(super) struct Class {
    object: Py<PyType>,
    new: ffi::newfunc,
    nothing: Py<PyTuple>,
}

impl Class {
    pub(super) fn of(class: &Bound<'_, PyType>) -> PyResult<Self> {
        #[expect(unsafe_code, reason = "a slot of a type has no other way in")]
        // SAFETY: `class` is a type, and what it has as its `tp_new` is of this type.
        let new = unsafe {
            let slot = ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_new);
            (!slot.is_null())
                .then(|| std::mem::transmute::<*mut std::ffi::c_void, ffi::newfunc>(slot))
        };
        let new = new.ok_or_else(|| PyTypeError::new_err("this class has no instances"))?;
        let nothing = PyTuple::empty(class.py()).unbind();
        Ok(Self { object: class.clone().unbind(), new, nothing })
    }

    pub(super) fn name(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.object.bind(py).name()?.to_string())
    }

    pub(super) fn instance<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        #[expect(unsafe_code, reason = "a slot of a type has no other way in")]
        // SAFETY: `new` is that of the class, which is alive, and takes a tuple.
        unsafe {
            let class = self.object.as_ptr().cast::<ffi::PyTypeObject>();
            let made = (self.new)(class, self.nothing.as_ptr(), ptr::null_mut());
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}
