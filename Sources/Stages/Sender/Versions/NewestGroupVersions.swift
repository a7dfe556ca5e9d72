internal import Jobs
internal import Payloads
internal import Sends

/// The newest known versions of whole groups, and the cancelled sends. The sources are the topic `superseded` and the
/// sheets themselves. Versions only rise. At the limit the entries that were not seen for longest are forgotten.
struct NewestGroupVersions: Sendable {
    /// The versions of the newest update and of the newest END; 0 without one.
    struct GroupVersions: Sendable, Hashable {
        var update: Int64 = 0
        var end: Int64 = 0
    }

    /// Limit of remembered groups.
    static let groupsMax = 1_000_000
    /// Limit of remembered cancelled sends.
    static let cancelledMax = 200_000

    private var groups: BoundedTable<Fingerprint, GroupVersions>
    /// The cancelled sends. The values have no meaning.
    private var cancelled = BoundedTable<Fingerprint, Bool>(max: NewestGroupVersions.cancelledMax)
    private let seed: UInt64

    init(groupsMax: Int = NewestGroupVersions.groupsMax, seed: UInt64) {
        groups = BoundedTable(max: groupsMax)
        self.seed = seed
    }

    func fingerprint(app: String, group: String) -> Fingerprint { Fingerprint(seed: seed, app, group) }

    /// Returns the fingerprint of a send. Its seed differs, so that a send and a group of one name have different
    /// fingerprints.
    private func fingerprint(app: String, send: String) -> Fingerprint { Fingerprint(seed: ~seed, app, send) }

    // MARK: Known versions

    func versions(of group: Fingerprint) -> GroupVersions? { groups[group] }

    /// Returns whether the send of a sheet was cancelled.
    func isCancelled(_ head: SheetHead) -> Bool {
        cancelled.count > 0 && cancelled[fingerprint(app: head.app, send: head.send)] != nil
    }

    // MARK: New versions

    /// Merges a record of `superseded`. Returns the group's fingerprint if it has something new.
    mutating func merge(_ record: SupersededVersions) -> Fingerprint? {
        var isNew = false
        for send in record.cancelledSends {
            let key = fingerprint(app: record.app, send: send)
            if cancelled[key] == nil { isNew = true }
            cancelled.set(true, for: key)
        }
        let group = fingerprint(app: record.app, group: record.group)
        let versions = GroupVersions(update: record.updateVersion, end: record.endVersion)
        if raise(group, to: versions) { isNew = true }
        return isNew ? group : nil
    }

    /// Merges the version of a sheet for the whole group. Returns whether it is new.
    mutating func merge(_ head: SheetHead, of group: Fingerprint) -> Bool {
        guard head.scope == .group else { return false }
        switch head.event {
        case .start: return false
        // A start opens a group with a state, and phones that join later get this state as an update. Its version is
        // not above the generation. It supersedes nothing for phones that were members before.
        case .update where head.version <= head.generation: return false
        case .update: return raise(group, to: GroupVersions(update: head.version))
        case .end: return raise(group, to: GroupVersions(end: head.version))
        }
    }

    /// Raises the known versions of a group. Returns whether one has risen.
    private mutating func raise(_ group: Fingerprint, to versions: GroupVersions) -> Bool {
        let known = groups[group] ?? GroupVersions()
        let higher = GroupVersions(
            update: max(known.update, versions.update), end: max(known.end, versions.end))
        if higher == known { return false }
        groups.set(higher, for: group)
        return true
    }
}
