/// The source of producer ids. It never gives an id twice in the life of a data directory. Ids are reserved
/// in blocks: an id is given only if the log has a record with a larger end.
package struct ProducerIDAllocator {
    /// The largest valid id. Calculations below it cannot overflow.
    package static let largest = Int64.max / 2

    private var next: Int64 = 0
    /// The end of the reserved ids.
    private var end: Int64 = 0
    /// Whether a record with a larger end is being appended.
    package private(set) var isExtending = false

    /// Returns an id, or nil if all reserved ids are used.
    package mutating func take() -> Int64? {
        guard next < end else { return nil }
        let id = next
        next += 1
        return id
    }

    /// Begins the reservation of a block. Returns the end to write to the log, or nil while an append is
    /// under way.
    package mutating func beginExtension(by block: Int64) -> Int64? {
        guard !isExtending else { return nil }
        isExtending = true
        return end + block
    }

    /// Ends the reservation with the end that the log confirmed, or with nil if the append failed.
    package mutating func finishExtension(to confirmedEnd: Int64?) {
        isExtending = false
        if let confirmedEnd { end = confirmedEnd }
    }

    /// Continues at an end from the log. The ids of the last block may have been given, so they are skipped.
    package mutating func restore(end: Int64) {
        self.end = max(self.end, end)
        next = self.end
    }

    /// Skips an id that a transactional id has, and all below it.
    package mutating func skip(past usedID: Int64) {
        guard usedID >= end else { return }
        restore(end: usedID + 1)
    }
}
