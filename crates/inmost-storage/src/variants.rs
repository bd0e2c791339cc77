//! Test tables with a row for every variant of an enum.

/// Builds a table of examples and expected values with a row for every variant.
///
/// A variant without a row does not compile. An example in the row of another variant fails the test.
#[macro_export]
macro_rules! every_variant {
    ($type:ty { $($variant:pat => $([$example:expr, $expected:expr]),+;)+ }) => {{
        let row = |example: &$type| match example {
            $($variant => stringify!($variant),)+
        };
        let table = vec![$($((stringify!($variant), $example, $expected),)+)+];
        for (expected, example, _) in &table {
            assert_eq!(row(example), *expected, "the example is in the row of another variant");
        }
        table.into_iter().map(|(_, example, expected)| (example, expected))
    }};
}
