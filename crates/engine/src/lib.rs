//! Joins rules, shapes and files into operations, one function per verb.
