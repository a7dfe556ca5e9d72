/// The id of a dead letter: its partition and offset in `dead-letters`, such as `3/1042`.
package struct DeadLetterID: Sendable, Hashable, Comparable {
    package let partition: Int32
    package let offset: Int64

    package init(partition: Int32, offset: Int64) {
        self.partition = partition
        self.offset = offset
    }

    /// Returns nil for a text that `text` cannot have produced.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2, let partition = Int32(parts[0]), let offset = Int64(parts[1]),
            partition >= 0, offset >= 0, "\(partition)/\(offset)" == text
        else { return nil }
        self.init(partition: partition, offset: offset)
    }

    package var text: String { "\(partition)/\(offset)" }

    package static func < (a: DeadLetterID, b: DeadLetterID) -> Bool {
        (a.partition, a.offset) < (b.partition, b.offset)
    }
}
