internal import LiveActivity
internal import StageSupport

/// The reports of a transaction's lanes about the sends that they have finished. Lanes without recipients for
/// a send share one record, because a send to a small group has no recipients in nearly all lanes.
struct CompletionReports {
    private(set) var all: [(key: [UInt8], progress: ProgressRecord)] = []
    /// The first record of each send that reports lanes without recipients.
    private var emptyReports: [HashedKey: Int] = [:]
    /// The likely index of the next report in `all`. Most lanes finish sends in the same order.
    private var next = 0

    mutating func add(_ progress: ProgressRecord) {
        guard case .lanes(let lanes, let tally) = progress.part, tally.isEmpty else {
            return all.append((RecordKey.join(progress.send), progress))
        }
        guard let index = index(of: progress), case .lanes(let others, _) = all[index].progress.part else {
            let key = RecordKey.join(progress.send)
            let name = HashedKey(key)
            if emptyReports[name] == nil { emptyReports[name] = all.count }
            next = all.count + 1
            return all.append((key, progress))
        }
        next = index + 1
        all[index].progress.part = .lanes(others + lanes, tally)
    }

    private func index(of progress: ProgressRecord) -> Int? {
        if next < all.count, isEmptyReport(of: progress, at: next) { return next }
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
        let other = all[index].progress
        guard other.send.isExactlyEqual(to: progress.send), other.key == progress.key,
            case .lanes(_, let tally) = other.part
        else { return false }
        return tally.isEmpty
    }
}
