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

/// The newest dead letters behind a position, while all of them pass by in any order. It keeps the lines of the
/// answer, and not the records, which can have megabytes.
package struct NewestDeadLetters {
    private let limit: Int
    private let after: DeadLetterPosition?
    private var lines: [(position: DeadLetterPosition, json: [UInt8])] = []
    private var isSorted = true
    /// The number of dead letters behind the position.
    private var count = 0

    package init(limit: Int, after: DeadLetterPosition?) {
        precondition(limit > 0, "a list has entries")
        (self.limit, self.after) = (limit, after)
    }

    package mutating func add(_ letter: DeadLetterRecord, state: DeadLetterJournal.DeadLetterState) {
        let position = DeadLetterPosition(of: letter)
        if let after, !after.isNewer(than: position) { return }
        count += 1
        if lines.count > limit, let last = lines.last, last.position.isNewer(than: position), isSorted {
            return
        }
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        letter.write(state: state, to: &json)
        json.endObject()
        lines.append((position, json.bytes))
        isSorted = false
        if lines.count >= 2 * limit + 2 { keepNewest() }
    }

    private mutating func keepNewest() {
        lines.sort { $0.position.isNewer(than: $1.position) }
        if lines.count > limit + 1 { lines.removeLast(lines.count - limit - 1) }
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
