/// Producer ids, none given twice in the life of a data directory: only those below an end that the
/// log has confirmed are given out.
struct ProducerIDs {
    /// A record that says more is not ours; nothing here can overflow below it.
    static let largest = Int64.max / 2

    private var next: Int64 = 0
    private var end: Int64 = 0
    private(set) var isExtending = false

    mutating func take() -> Int64? {
        guard next < end else { return nil }
        defer { next += 1 }
        return next
    }

    /// The end to write to the log, or nil while one is on its way.
    mutating func extend(by block: Int64) -> Int64? {
        guard !isExtending else { return nil }
        isExtending = true
        return end + block
    }

    /// `confirmed` is nil when the append failed.
    mutating func extended(to confirmed: Int64?) {
        isExtending = false
        if let confirmed { end = confirmed }
    }

    /// After a restart nobody knows how many of the last block were given out: none of it is.
    mutating func restore(end: Int64) {
        self.end = max(self.end, end)
        next = self.end
    }

    /// An id seen in use is below every id that will be given.
    mutating func avoid(_ used: Int64) {
        guard used >= end else { return }
        restore(end: used + 1)
    }
}
