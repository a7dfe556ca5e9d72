internal import JSON
internal import Kafka
internal import LiveActivity
internal import Topics

/// Whether a group has heard of anything since a record of `sends` was written. A send gets its version when
/// it is planned: sent once more behind a newer one, it would be the newest.
struct GroupGuard {
    /// When the newest send of a group was written, and the newest version of its scopes; nil until they are
    /// read.
    private var times: [[UInt8]: Int64] = [:]
    private var partitions: Set<Int32> = []
    private let reader = JSONReader()

    var isFull: Bool { times.count >= ScopeGuard.keysMax }

    mutating func ask(_ key: [UInt8], in partition: Int32) {
        times[key] = Int64.min
        partitions.insert(partition)
    }

    mutating func read(_ box: LetterBox) throws {
        for partition in partitions.sorted() {
            try box.scan(.groups, in: partition) { record in
                guard let key = [UInt8](copying: record.key), times[key] != nil else { return }
                let row = [UInt8](copying: record.value).flatMap { try? GroupRow.decode($0, with: reader) }
                times[key] = row.map { max($0.lastAt, $0.highest * 1_000) } ?? Int64.min
            }
        }
    }

    /// Nothing newer is known of the group than what was written then.
    func isNewest(_ key: [UInt8], writtenAt: Int64) -> Bool { (times[key] ?? Int64.min) <= writtenAt }
}
