internal import JSON
internal import RecordFormat

/// The position of a dead letter in the list with the newest first: its time, and its id among those of one
/// millisecond.
package struct DeadLetterPosition: Sendable, Hashable {
    /// Milliseconds since 1970, by the clock of the stage that rejected the record.
    package let at: Int64
    package let id: DeadLetterID

    package init(at: Int64, id: DeadLetterID) { (self.at, self.id) = (at, id) }

    package init(of letter: DeadLetterRecord) { self.init(at: letter.rejection.rejectedAt, id: letter.id) }

    /// The text by which a caller asks for the rest of a list, such as `1795809600000.3.1042`.
    package var cursor: String { "\(at).\(id.partition).\(id.offset)" }

    /// Returns nil for a text that is not a cursor.
    package init?(cursor: String) {
        let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let at = Int64(parts[0]), at >= 0,
            let id = DeadLetterID("\(parts[1])/\(parts[2])")
        else { return nil }
        self.init(at: at, id: id)
    }

    /// Whether it comes before the other one in the list.
    package func isNewer(than other: DeadLetterPosition) -> Bool { (at, id) > (other.at, other.id) }
}

/// A collector of one page of dead letters, the newest first. All dead letters are added in any order. It keeps the lines
/// of the answer, and not the records, which can have megabytes.
package struct NewestDeadLetters {
    private let limit: Int
    /// The position behind which the page begins. Nil for the first page.
    private let after: DeadLetterPosition?
    /// The newest lines so far, and some older ones until the next `keepNewest`.
    private var lines: [(position: DeadLetterPosition, json: [UInt8])] = []
    /// Whether `lines` are the newest in order, so that the last one is the oldest.
    private var isSorted = true
    /// The number of dead letters behind `after`.
    private var count = 0

    package init(limit: Int, after: DeadLetterPosition?) {
        precondition(limit > 0, "a list has entries")
        (self.limit, self.after) = (limit, after)
    }

    package mutating func add(_ letter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState) {
        let position = DeadLetterPosition(of: letter)
        if let after, !after.isNewer(than: position) { return }
        count += 1
        let isTooOld =
            lines.count >= limit && isSorted && lines.last?.position.isNewer(than: position) == true
        if isTooOld { return }
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        letter.write(state: state, to: &json)
        json.endObject()
        lines.append((position, json.bytes))
        isSorted = false
        // Sorting at twice the limit costs little for each dead letter.
        if lines.count >= 2 * limit { keepNewest() }
    }

    private mutating func keepNewest() {
        lines.sort { $0.position.isNewer(than: $1.position) }
        if lines.count > limit { lines.removeLast(lines.count - limit) }
        isSorted = true
    }

    /// Returns the entries as JSON objects, the newest first, the position behind which the list continues, and the
    /// number of further dead letters.
    package mutating func finish() -> (entries: [[UInt8]], next: DeadLetterPosition?, more: Int) {
        keepNewest()
        let page = lines.prefix(limit)
        return (page.map(\.json), count > limit ? page.last?.position : nil, max(0, count - limit))
    }
}
