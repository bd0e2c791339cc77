//! Tables that have a row for every variant of an enum, for tests.

/// What is expected of examples of every variant: a variant without a row does not compile, and an example in the row of
/// another variant fails the test, so that no row can be there in name only.
#[macro_export]
macro_rules! every_variant {
    ($type:ty { $($variant:pat => $([$example:expr, $expected:expr]),+;)+ }) => {{
        let row = |example: &$type| match example {
            $($variant => stringify!($variant),)+
        };
        let table = vec![$($((stringify!($variant), $example, $expected),)+)+];
        for (expected, example, _) in &table {
            assert_eq!(row(example), *expected, "the row that the example is of");
        }
        table.into_iter().map(|(_, example, expected)| (example, expected))
    }};
}
