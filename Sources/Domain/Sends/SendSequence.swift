/// The order of the sends of a group. The planner gives each send the next sequence, which records call its version. It
/// alone orders sends. It is not the timestamp that phones compare.
package enum SendSequence {
    /// Records of an earlier version have seconds since 1970 as sequences. In milliseconds such a number is in 1973, so
    /// each sequence of this version is higher.
    private static let earliestMilliseconds: Int64 = 100_000_000_000

    /// Returns the next sequence: the time of the send's record, or the next number if the group already has that one.
    /// A group would need more than a thousand sends a second to run ahead of the clock.
    ///
    /// - Parameter stamp: milliseconds since 1970.
    package static func next(after previous: Int64, at stamp: Int64) -> Int64 { max(previous + 1, stamp) }

    /// Returns the time of a sequence in milliseconds since 1970.
    package static func milliseconds(of sequence: Int64) -> Int64 {
        sequence < earliestMilliseconds ? sequence * 1000 : sequence
    }
}
