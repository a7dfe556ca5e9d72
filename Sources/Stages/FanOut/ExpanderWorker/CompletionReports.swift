internal import Identifiers
internal import Sends
internal import StageSupport

/// The reports of a transaction's lanes about the sends that they have finished. Lanes without recipients for
/// a send share one record, because a send to a small group has no recipients in nearly all lanes.
struct CompletionReports {
    private(set) var records: [(key: [UInt8], progress: ProgressRecord)] = []
    /// The first record of each send that reports lanes without recipients.
    private var emptyReports: [HashedKey: Int] = [:]
    /// The likely index of the next report in `all`. Most lanes finish sends in the same order.
    private var likelyNextIndex = 0

    mutating func add(_ progress: ProgressRecord) {
        guard case .lanes(let lanes, let tally) = progress.part, tally.isEmpty else {
            return records.append((RecordKey.join(progress.send), progress))
        }
        guard let index = index(of: progress), case .lanes(let others, _) = records[index].progress.part
        else {
            let key = RecordKey.join(progress.send)
            let name = HashedKey(key)
            if emptyReports[name] == nil { emptyReports[name] = records.count }
            likelyNextIndex = records.count + 1
            return records.append((key, progress))
        }
        likelyNextIndex = index + 1
        records[index].progress.part = .lanes(others + lanes, tally)
    }

    private func index(of progress: ProgressRecord) -> Int? {
        if likelyNextIndex < records.count, isEmptyReport(of: progress, at: likelyNextIndex) {
            return likelyNextIndex
        }
        guard let index = emptyReports[HashedKey(RecordKey.join(progress.send))],
            isEmptyReport(of: progress, at: index)
        else {
            return nil
        }
        return index
    }

    /// Whether the record reports lanes without recipients for the same send. Two apps can have sends with
    /// the same id.
    private func isEmptyReport(of progress: ProgressRecord, at index: Int) -> Bool {
        let other = records[index].progress
        guard other.send.isExactlyEqual(to: progress.send), other.key == progress.key,
            case .lanes(_, let tally) = other.part
        else { return false }
        return tally.isEmpty
    }
}
