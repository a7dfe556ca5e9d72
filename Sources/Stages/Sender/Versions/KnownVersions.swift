internal import LiveActivity

/// The newest known versions, by which stale lines are dropped. The sources are `superseded` and the sheets.
struct KnownVersions {
    private var superseded: SupersededView
    private var activities = NewestActivityVersions()
    /// Whether `superseded` was read to its end. Before that no push leaves.
    private(set) var isComplete = false

    init(seed: UInt64) { superseded = SupersededView(seed: seed) }

    func fingerprint(app: String, group: String) -> Fingerprint {
        superseded.fingerprint(app: app, group: group)
    }

    /// Notes that `superseded` was read to its end.
    mutating func complete() { isComplete = true }

    /// Merges a record of `superseded`. Returns the group if something is new.
    mutating func merge(_ note: SupersededVersions) -> Fingerprint? { superseded.merge(note) }

    /// Merges the versions of a sheet. Returns the group if its version is new.
    mutating func merge(_ sheet: Sheet) -> Fingerprint? {
        for activity in sheet.activities { activities.saw(sheet.head.version, of: activity) }
        guard let group = sheet.group else { return nil }
        return superseded.merge(sheet.head, of: group) ? group : nil
    }

    /// Returns the reason why the sheet's jobs must not be sent any more; nil if they may be sent.
    func staleness(of sheet: Sheet) -> Staleness? { superseded.staleness(of: sheet.head, group: sheet.group) }

    /// Whether a newer version of the line's activity is known, within a recipient's scope.
    func isOutdated(_ sheet: Sheet, line: Int) -> Bool {
        guard sheet.head.event == .update, sheet.head.isConflatable, !sheet.activities.isEmpty else {
            return false
        }
        return activities.isOlder(sheet.head.version, of: sheet.activities[line])
    }
}
