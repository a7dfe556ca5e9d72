internal import Identifiers
internal import Sends
internal import StageSupport

/// The reports of a transaction's lanes about the sends that they have finished. Lanes without recipients for
/// a send share one record, because a start for everyone can have no recipients in many lanes.
struct CompletionReports {
    private(set) var records: [(key: [UInt8], progress: ProgressRecord)] = []
    /// The index in `records` of the record that lanes without recipients share, by scope and send. The id of a send
    /// alone is not enough, because two apps can have sends with the same id.
    private var sharedRecordIndex: [HashedKey: Int] = [:]

    mutating func add(_ progress: ProgressRecord) {
        let key = progress.recordKey
        guard case .lanes(let lanes, let tally) = progress.part, tally.isEmpty else {
            return records.append((key, progress))
        }
        let scopeAndSend = HashedKey(progress.key.bytes + [RecordKey.separator] + key)
        if let index = sharedRecordIndex[scopeAndSend],
            case .lanes(let others, _) = records[index].progress.part
        {
            records[index].progress.part = .lanes(others + lanes, tally)
        } else {
            sharedRecordIndex[scopeAndSend] = records.count
            records.append((key, progress))
        }
    }
}
