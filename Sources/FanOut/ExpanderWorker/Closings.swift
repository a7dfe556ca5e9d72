internal import LiveActivity
internal import Stages

/// What the lanes of one transaction say of the sends that they are through with. Lanes that had nobody for a send say
/// so in one record: a send to a small group finds nobody in nearly all of them.
struct Closings {
    private(set) var all: [(key: [UInt8], progress: Progress)] = []
    /// The first record of a send that says that there was nobody.
    private var empty: [KeyBytes: Int] = [:]

    mutating func add(_ progress: Progress) {
        let key = RecordKey.join(progress.send)
        guard case .lanes(let lanes, let tally) = progress.part, tally.isEmpty else {
            return all.append((key, progress))
        }
        let name = KeyBytes(key)
        // Two apps can have sends of one id.
        guard let index = empty[name], all[index].progress.key == progress.key,
            case .lanes(let others, _) = all[index].progress.part
        else {
            if empty[name] == nil { empty[name] = all.count }
            return all.append((key, progress))
        }
        all[index].progress.part = .lanes(others + lanes, tally)
    }
}
