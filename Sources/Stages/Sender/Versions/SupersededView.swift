internal import LiveActivity

/// The newest known versions of whole groups, and the cancelled sends. The sources are `superseded` and the
/// sheets themselves. Versions only rise. At the limit the entries that were not seen for longest are
/// forgotten.
struct SupersededView: Sendable {
    struct Versions: Sendable, Hashable {
        var update: Int64 = 0
        var end: Int64 = 0
    }

    static let groupsMax = 1_000_000
    static let cancelledMax = 200_000

    private var groups: BoundedTable<Fingerprint, Versions>
    private var cancelled = BoundedTable<Fingerprint, Bool>(max: SupersededView.cancelledMax)
    private let seed: UInt64
    /// Number of changes.
    private(set) var revision = 0

    init(groupsMax: Int = SupersededView.groupsMax, seed: UInt64) {
        groups = BoundedTable(max: groupsMax)
        self.seed = seed
    }

    var count: Int { groups.count }

    func name(app: String, group: String) -> Fingerprint { Fingerprint(seed: seed, app, group) }
    private func name(app: String, send: String) -> Fingerprint { Fingerprint(seed: ~seed, app, send) }

    /// Merges a note. Returns the group's name if something is new.
    mutating func note(_ note: SupersededNote) -> Fingerprint? {
        var isNew = false
        for send in note.cancelled {
            let key = name(app: note.app, send: send)
            if cancelled[key] == nil { isNew = true }
            cancelled.set(key, true)
        }
        let group = name(app: note.app, group: note.group)
        if raise(group, Versions(update: note.update, end: note.end)) { isNew = true }
        if isNew { revision += 1 }
        return isNew ? group : nil
    }

    /// Merges the version of a sheet for the whole group. Returns whether it is new.
    mutating func learn(_ head: SheetHead, _ group: Fingerprint) -> Bool {
        guard head.scope == .group else { return false }
        let isNew =
            switch head.event {
            case .start: false
            // The state that a start opened with goes as an update to phones that joined later. It supersedes
            // nothing for phones that were members before.
            case .update where head.version <= head.generation: false
            case .update: raise(group, Versions(update: head.version))
            case .end: raise(group, Versions(end: head.version))
            }
        if isNew { revision += 1 }
        return isNew
    }

    private mutating func raise(_ group: Fingerprint, _ versions: Versions) -> Bool {
        let known = groups[group] ?? Versions()
        let higher = Versions(update: max(known.update, versions.update), end: max(known.end, versions.end))
        if higher == known { return false }
        groups.set(group, higher)
        return true
    }

    /// Returns the reason why a job of such a sheet must not be sent any more; nil if it may be sent.
    ///
    /// An END is never dropped. A start is dropped only by an END or by the cancellation of its send.
    func staleness(of head: SheetHead, _ group: Fingerprint?) -> Staleness? {
        if head.event == .end { return nil }
        if cancelled.count > 0, cancelled[name(app: head.app, send: head.send)] != nil { return .cancelled }
        guard let group, let known = groups[group] else { return nil }
        switch head.event {
        case .end: return nil
        case .start: return known.end > head.version ? .ended : nil
        case .update:
            guard head.scope == .group, head.conflate else { return nil }
            if known.end > head.version { return .ended }
            return known.update > head.version ? .newer : nil
        }
    }
}

/// The reason why a job is stale, as its receipt names it.
enum Staleness: String, Sendable {
    case newer = "newer_version"
    case ended
    case cancelled
}
