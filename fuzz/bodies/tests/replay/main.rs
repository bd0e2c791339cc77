//! Runs the fuzz targets without a fuzzer: replays earlier inputs and runs random operations against the
//! model.

mod corpus;
mod model;
