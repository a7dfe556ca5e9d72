internal import LiveActivity

/// The newest known versions of whole groups, and the cancelled sends. The sources are `superseded` and the
/// sheets themselves. Versions only rise. At the limit the entries that were not seen for longest are
/// forgotten.
struct SupersededView: Sendable {
    struct GroupVersions: Sendable, Hashable {
        var update: Int64 = 0
        var end: Int64 = 0
    }

    static let groupsMax = 1_000_000
    static let cancelledMax = 200_000

    private var groups: BoundedTable<Fingerprint, GroupVersions>
    private var cancelled = BoundedTable<Fingerprint, Bool>(max: SupersededView.cancelledMax)
    private let seed: UInt64
    /// Number of changes.
    private(set) var revision = 0

    init(groupsMax: Int = SupersededView.groupsMax, seed: UInt64) {
        groups = BoundedTable(max: groupsMax)
        self.seed = seed
    }

    var count: Int { groups.count }

    func fingerprint(app: String, group: String) -> Fingerprint { Fingerprint(seed: seed, app, group) }
    private func fingerprint(app: String, send: String) -> Fingerprint { Fingerprint(seed: ~seed, app, send) }

    /// Merges a note. Returns the group's fingerprint if something is new.
    mutating func merge(_ note: SupersededVersions) -> Fingerprint? {
        var isNew = false
        for send in note.cancelledSends {
            let key = fingerprint(app: note.app, send: send)
            if cancelled[key] == nil { isNew = true }
            cancelled.set(true, for: key)
        }
        let group = fingerprint(app: note.app, group: note.group)
        if raise(group, to: GroupVersions(update: note.updateVersion, end: note.endVersion)) { isNew = true }
        if isNew { revision += 1 }
        return isNew ? group : nil
    }

    /// Merges the version of a sheet for the whole group. Returns whether it is new.
    mutating func merge(_ head: SheetHead, of group: Fingerprint) -> Bool {
        guard head.scope == .group else { return false }
        let isNew =
            switch head.event {
            case .start: false
            // The state that a start opened with goes as an update to phones that joined later. It supersedes
            // nothing for phones that were members before.
            case .update where head.version <= head.generation: false
            case .update: raise(group, to: GroupVersions(update: head.version))
            case .end: raise(group, to: GroupVersions(end: head.version))
            }
        if isNew { revision += 1 }
        return isNew
    }

    private mutating func raise(_ group: Fingerprint, to versions: GroupVersions) -> Bool {
        let known = groups[group] ?? GroupVersions()
        let higher = GroupVersions(
            update: max(known.update, versions.update), end: max(known.end, versions.end))
        if higher == known { return false }
        groups.set(higher, for: group)
        return true
    }

    /// Returns the reason why a job of such a sheet must not be sent any more; nil if it may be sent.
    ///
    /// An END is never dropped. A start is dropped only by an END or by the cancellation of its send.
    func staleness(of head: SheetHead, group: Fingerprint?) -> Staleness? {
        if head.event == .end { return nil }
        if cancelled.count > 0, cancelled[fingerprint(app: head.app, send: head.send)] != nil {
            return .cancelled
        }
        guard let group, let known = groups[group] else { return nil }
        switch head.event {
        case .end: return nil
        case .start: return known.end > head.version ? .ended : nil
        case .update:
            guard head.scope == .group, head.isConflatable else { return nil }
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
