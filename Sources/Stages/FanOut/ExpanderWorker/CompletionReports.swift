internal import Identifiers
internal import Sends
internal import StageSupport

/// The reports of a transaction's lanes about the sends that they have finished. Lanes without recipients for
/// a send share one record, because a start for everyone can have no recipients in many lanes.
struct CompletionReports {
    private(set) var records: [(key: [UInt8], progress: ProgressRecord)] = []
    /// The records of lanes without recipients, by scope and send. Two apps can have sends with the same id.
    private var emptyReports: [HashedKey: Int] = [:]

    mutating func add(_ progress: ProgressRecord) {
        let key = RecordKey.join(progress.send)
        guard case .lanes(let lanes, let tally) = progress.part, tally.isEmpty else {
            return records.append((key, progress))
        }
        let name = HashedKey(progress.key.bytes + [RecordKey.separator] + key)
        guard let index = emptyReports[name], case .lanes(let others, _) = records[index].progress.part else {
            emptyReports[name] = records.count
            return records.append((key, progress))
        }
        records[index].progress.part = .lanes(others + lanes, tally)
    }
}
