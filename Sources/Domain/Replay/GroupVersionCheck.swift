internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends
internal import Topics

/// A check whether a group got a newer send after a record of `sends` was written. The planner assigns the
/// version, so a redriven old send would become the newest.
struct GroupVersionCheck {
    /// The later of the newest send's time and the newest version, in milliseconds, of each requested group.
    /// `Int64.min` until a row is read.
    private var times: [[UInt8]: Int64] = [:]
    private var partitions: Set<Int32> = []
    private let reader = JSONReader()

    var isFull: Bool { times.count >= ScopeVersionCheck.keysMax }

    mutating func request(_ key: [UInt8], in partition: Int32) {
        times[key] = Int64.min
        partitions.insert(partition)
    }

    mutating func read(from box: DeadLetterTopic) throws {
        for partition in partitions.sorted() {
            try box.scan(.groups, in: partition) { record in
                guard let key = [UInt8](copying: record.key), times[key] != nil else { return }
                let row = [UInt8](copying: record.value).flatMap { try? GroupRow.decode($0, with: reader) }
                times[key] = row.map { max($0.lastSendAt, $0.highestVersion * 1_000) } ?? Int64.min
            }
        }
    }

    /// Whether the group has no send that is newer than the given time.
    func hasNoNewerSend(_ key: [UInt8], writtenAt: Int64) -> Bool { (times[key] ?? Int64.min) <= writtenAt }
}
