//! The fuzz targets without a fuzzer: the inputs that were found before, and random operations against the model.

mod corpus;
mod model;
