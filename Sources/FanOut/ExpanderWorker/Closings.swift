internal import LiveActivity
internal import Stages

/// What the lanes of one transaction say of the sends that they are through with. Lanes that had nobody for a send say
/// so in one record: a send to a small group finds nobody in nearly all of them.
struct Closings {
    private(set) var all: [(key: [UInt8], progress: Progress)] = []
    /// The first record of a send that says that there was nobody.
    private var empty: [KeyBytes: Int] = [:]
    /// Lanes mostly come through sends in one order: which of `all` the next one is probably about.
    private var next = 0

    mutating func add(_ progress: Progress) {
        guard case .lanes(let lanes, let tally) = progress.part, tally.isEmpty else {
            return all.append((RecordKey.join(progress.send), progress))
        }
        guard let index = index(of: progress), case .lanes(let others, _) = all[index].progress.part else {
            let key = RecordKey.join(progress.send)
            let name = KeyBytes(key)
            if empty[name] == nil { empty[name] = all.count }
            next = all.count + 1
            return all.append((key, progress))
        }
        next = index + 1
        all[index].progress.part = .lanes(others + lanes, tally)
    }

    private func index(of progress: Progress) -> Int? {
        if next < all.count, isSaid(of: progress, at: next) { return next }
        guard let index = empty[KeyBytes(RecordKey.join(progress.send))], isSaid(of: progress, at: index)
        else {
            return nil
        }
        return index
    }

    /// Whether a record says of the same send that there was nobody. Two apps can have sends of one id.
    private func isSaid(of progress: Progress, at index: Int) -> Bool {
        let other = all[index].progress
        guard other.send.isExactly(progress.send), other.key == progress.key,
            case .lanes(_, let tally) = other.part
        else { return false }
        return tally.isEmpty
    }
}
