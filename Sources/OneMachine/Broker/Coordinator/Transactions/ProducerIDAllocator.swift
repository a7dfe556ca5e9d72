/// The source of producer ids. It never gives an id twice in the life of a data directory: all ids are
/// below an end that the log has confirmed.
struct ProducerIDAllocator {
    /// The largest valid id. Calculations below it cannot overflow.
    static let largest = Int64.max / 2

    private var next: Int64 = 0
    private var end: Int64 = 0
    private(set) var isExtending = false

    mutating func take() -> Int64? {
        guard next < end else { return nil }
        defer { next += 1 }
        return next
    }

    /// Returns the end to write to the log, or nil while an append is under way.
    mutating func extend(by block: Int64) -> Int64? {
        guard !isExtending else { return nil }
        isExtending = true
        return end + block
    }

    /// Takes the confirmed end, or nil if the append failed.
    mutating func finishExtension(to confirmed: Int64?) {
        isExtending = false
        if let confirmed { end = confirmed }
    }

    /// Skips the last block after a restart, because its ids may have been given out.
    mutating func restore(end: Int64) {
        self.end = max(self.end, end)
        next = self.end
    }

    /// Skips an id that is in use.
    mutating func skip(past used: Int64) {
        guard used >= end else { return }
        restore(end: used + 1)
    }
}
