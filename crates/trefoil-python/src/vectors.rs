//! Vectors on their way from Python.

use pyo3::{Bound, PyAny, PyResult, buffer::PyBuffer, exceptions::PyTypeError};

/// The numbers of a contiguous buffer of `f32`: an array of `NumPy`, or one of the module `array`.
pub(crate) fn floats(buffer: &Bound<'_, PyAny>) -> PyResult<Vec<f32>> {
    let floats = PyBuffer::<f32>::get(buffer)?;
    if !floats.is_c_contiguous() {
        return Err(PyTypeError::new_err("the buffer is not contiguous"));
    }
    floats.to_vec(buffer.py())
}

/// Whether all numbers of such a buffer are finite.
pub(crate) fn are_finite(buffer: &Bound<'_, PyAny>) -> PyResult<bool> {
    Ok(floats(buffer)?.iter().all(|number| number.is_finite()))
}
