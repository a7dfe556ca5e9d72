internal import Kafka

/// The form in which a cursor is committed: an offset with metadata. The offset is the next record to read. The metadata
/// holds the replay that was carried out, and the unfinished offsets before the committed one, each with its failed
/// attempts: `w1 <replay> <distance>:<attempts> …`. Numbers are in base 36. A distance is counted from the entry before.
struct CommittedCursor: Sendable, Equatable {
    private static let version = "w1"
    private static let base = 36

    /// The next record to read.
    var next: Int64
    /// `WebhookEndpoint.Replay.requestedAt` of the newest replay that was carried out, or 0.
    var replay: Int64
    /// The unfinished offsets before `next` with their failed attempts.
    var openOffsets: [Int64: Int]

    init(next: Int64, replay: Int64, openOffsets: [Int64: Int] = [:]) {
        self.next = next
        self.replay = replay
        self.openOffsets = openOffsets
    }

    /// Makes the cursor of a partition. If not all unfinished offsets fit into the metadata, the offset of the first one
    /// that does not fit is committed. Then records behind it can be sent a second time, and none is lost.
    init(_ cursor: PartitionCursor, replay: Int64) {
        self.init(next: cursor.committedNext, replay: replay)
        var length = metadata.utf8.count
        var previous: Int64 = 0
        for entry in cursor.openOffsets {
            length += Self.text(of: entry.offset, after: previous, attempts: entry.attempts).utf8.count
            guard length <= OffsetToCommit.metadataBytesMax else {
                next = entry.offset
                return
            }
            openOffsets[entry.offset] = entry.attempts
            previous = entry.offset
        }
    }

    var metadata: String {
        var text = Self.version + " " + String(replay, radix: Self.base)
        var previous: Int64 = 0
        for (offset, attempts) in openOffsets.sorted(by: { $0.key < $1.key }) {
            text += Self.text(of: offset, after: previous, attempts: attempts)
            previous = offset
        }
        return text
    }

    private static func text(of offset: Int64, after previous: Int64, attempts: Int) -> String {
        " \(String(offset - previous, radix: base)):\(String(attempts, radix: base))"
    }

    /// Reads a committed offset. Metadata of another form means that a person has set the offset, so nothing before it is
    /// unfinished.
    init(next: Int64, metadata: String) {
        self.init(next: next, replay: 0)
        let words = metadata.split(separator: " ")
        guard words.count >= 2, words[0] == Self.version, let replay = Int64(words[1], radix: Self.base)
        else {
            return
        }
        self.replay = replay
        var previous: Int64 = 0
        for word in words.dropFirst(2) {
            let parts = word.split(separator: ":")
            guard parts.count == 2, let distance = Int64(parts[0], radix: Self.base),
                let attempts = Int(parts[1], radix: Self.base), distance >= 0, attempts >= 0,
                // A person can have written any number.
                distance <= Int64.max - previous
            else {
                openOffsets = [:]
                return
            }
            previous += distance
            openOffsets[previous] = attempts
        }
    }

    var cursor: PartitionCursor { PartitionCursor(firstNew: next, restored: openOffsets) }
}
