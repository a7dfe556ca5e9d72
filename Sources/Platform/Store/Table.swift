/// One named table of one environment: byte keys in byte order, with one value each. Use with another
/// environment is a programming error and traps.
package struct Table: Sendable, Hashable {
    let number: UInt32
    /// The environment of the table. Numbers are not reused within a process.
    let environmentID: Int
}
