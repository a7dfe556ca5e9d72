/// A handle of one named table of one environment: byte keys in byte order, with one value each. Use with
/// another environment is a programming error and traps.
package struct Table: Sendable, Hashable {
    /// LMDB's number of the table.
    let number: UInt32
    /// The number of the environment. Numbers are not reused within a process.
    let environmentID: Int
}
