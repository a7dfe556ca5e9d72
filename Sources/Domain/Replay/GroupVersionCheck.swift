internal import JSON
internal import Kafka
internal import RecordFormat
internal import Sends
internal import Topics

/// A check whether a group got a newer send after a record of `sends` was written. The planner gives each send that it
/// reads the newest version, so a redriven old send would replace the newer one.
///
/// A caller requests the keys of several groups, reads their rows once, and then asks about each group.
struct GroupVersionCheck {
    /// The later of the newest send's time and the newest version of each requested group, in milliseconds
    /// since 1970, by the group's key in `groups`. `Int64.min` until a row is read.
    private var newestSendTimes: [[UInt8]: Int64] = [:]
    /// The partitions of `groups` that have the requested keys.
    private var partitions: Set<Int32> = []
    private let reader = JSONReader()

    var isFull: Bool { newestSendTimes.count >= ScopeVersionCheck.keysMax }

    /// Requests the row of a group.
    ///
    /// - Parameter partition: The group's partition in `sends`, which has the same number in `groups`.
    mutating func request(_ key: [UInt8], in partition: Int32) {
        newestSendTimes[key] = Int64.min
        partitions.insert(partition)
    }

    /// Reads the rows of the requested groups.
    mutating func read(from deadLetters: DeadLetterTopic) throws {
        for partition in partitions.sorted() {
            try deadLetters.scan(.groups, in: partition) { record in
                guard let key = [UInt8](copying: record.key), newestSendTimes[key] != nil else { return }
                let row = [UInt8](copying: record.value).flatMap { try? GroupRow.decode($0, with: reader) }
                newestSendTimes[key] =
                    row.map { max($0.lastSendAt, SendSequence.milliseconds(of: $0.highestVersion)) }
                    ?? Int64.min
            }
        }
    }

    /// Whether the group has a send that is newer than the given time.
    func hasNewerSend(_ key: [UInt8], than writtenAt: Int64) -> Bool {
        (newestSendTimes[key] ?? Int64.min) > writtenAt
    }
}
