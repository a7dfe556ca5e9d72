internal import Jobs
internal import Payloads
internal import Sends

/// The newest known versions of groups and activities. Lines with an older version are stale and are dropped
/// (`Staleness.swift` has the rule). The sources are the topic `superseded` and the sheets.
struct NewestVersions {
    private var groups: NewestGroupVersions
    private var activities = NewestActivityVersions()
    /// Whether `superseded` was read to its end. Before that no push leaves.
    private(set) var isComplete = false

    init(seed: UInt64) { groups = NewestGroupVersions(seed: seed) }

    /// Returns the fingerprint by which a group is known here.
    func fingerprint(app: String, group: String) -> Fingerprint {
        groups.fingerprint(app: app, group: group)
    }

    /// Notes that `superseded` was read to its end.
    mutating func markComplete() { isComplete = true }

    /// Merges a record of `superseded`. Returns the group if it has something new.
    mutating func merge(_ record: SupersededVersions) -> Fingerprint? { groups.merge(record) }

    /// Merges the versions of a sheet. Returns the group if its version is new.
    mutating func merge(_ sheet: Sheet) -> Fingerprint? {
        for activity in sheet.activities { activities.note(sheet.head.version, of: activity) }
        guard let group = sheet.group else { return nil }
        return groups.merge(sheet.head, of: group) ? group : nil
    }

    /// Returns the reason why the sheet's jobs must not be sent any more; nil if they may be sent.
    func staleness(of sheet: Sheet) -> Staleness? { groups.staleness(of: sheet.head, group: sheet.group) }

    /// Returns whether a newer version than the sheet's is known for the line's activity, and replaces the line. Only
    /// sends to a recipient's scope have such versions.
    func hasNewerActivityVersion(than sheet: Sheet, line: Int) -> Bool {
        let isReplaceableUpdate = sheet.head.event == .update && sheet.head.isConflatable
        guard isReplaceableUpdate, !sheet.activities.isEmpty else { return false }
        return activities.isOlder(sheet.head.version, of: sheet.activities[line])
    }
}
