/// One named table of one environment: byte keys in byte order, one value each. Using it with another
/// environment is a fault in the program and traps.
package struct Table: Sendable, Hashable {
    let number: UInt32
    /// Which environment it belongs to; numbers are not reused within a process.
    let environment: Int
}
