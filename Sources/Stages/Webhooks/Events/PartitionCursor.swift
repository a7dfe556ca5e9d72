/// The progress of an endpoint in one partition: the next record to read, and the events before it that are not finished.
/// Finished records need no entry. So one event that its endpoint always refuses holds back no other recipient.
///
/// Events of an earlier owner that were not finished come from the committed cursor (`restored`). Records before
/// `firstNew` that are not among them are finished.
struct PartitionCursor: Sendable, Equatable {
    /// An unfinished offset with its failed attempts.
    struct OpenOffset: Sendable, Equatable {
        let offset: Int64
        let attempts: Int
    }

    /// The unfinished offsets of the last owner, with the attempts that have failed.
    private let restored: [Int64: Int]
    /// The offset of the first record that the last owner had not read.
    let firstNew: Int64
    /// The offset after the last record read.
    private(set) var next: Int64
    /// The number of unfinished events by the offset of their record.
    private var unfinished: [Int64: Int] = [:]
    /// The failed attempts of unfinished events, by the offset of their record: the highest number of its events.
    private var attempts: [Int64: Int] = [:]

    init(firstNew: Int64, restored: [Int64: Int] = [:]) {
        self.firstNew = firstNew
        self.restored = restored
        next = min(firstNew, restored.keys.min() ?? firstNew)
    }

    /// The offset at which reading begins.
    var start: Int64 { min(firstNew, restored.keys.min() ?? firstNew) }

    /// Whether events of this record are to be sent.
    func isWanted(_ offset: Int64) -> Bool { offset >= firstNew || restored[offset] != nil }

    /// Returns the failed attempts of an earlier owner.
    func restoredAttempts(of offset: Int64) -> Int { offset < firstNew ? restored[offset] ?? 0 : 0 }

    mutating func didRead(_ offset: Int64) { next = max(next, offset + 1) }

    /// Notes an event of this record that is not finished.
    mutating func hold(_ offset: Int64) { unfinished[offset, default: 0] += 1 }

    mutating func recordAttempts(_ count: Int, of offset: Int64) {
        attempts[offset] = max(attempts[offset] ?? 0, count)
    }

    mutating func finish(_ offset: Int64) {
        guard let count = unfinished[offset] else { preconditionFailure("offset \(offset) is not held") }
        unfinished[offset] = count == 1 ? nil : count - 1
        if count == 1 { attempts[offset] = nil }
    }

    /// The unfinished offsets with their failed attempts. Until all records of an earlier owner are read again, its
    /// unread entries count too.
    var openOffsets: [OpenOffset] {
        var open = unfinished.keys.map { offset in
            OpenOffset(offset: offset, attempts: max(attempts[offset] ?? 0, restoredAttempts(of: offset)))
        }
        let unread = restored.filter { $0.key >= next && $0.key < firstNew }
        open += unread.map { OpenOffset(offset: $0.key, attempts: $0.value) }
        return open.sorted { $0.offset < $1.offset }
    }

    /// The first offset that neither this owner nor an earlier one has read.
    var committedNext: Int64 { max(next, firstNew) }
}
