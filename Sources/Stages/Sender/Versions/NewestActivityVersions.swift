/// The newest known version of each activity within a recipient's scope. `superseded` has no notes for these.
/// A forgotten version costs a push that the phone ignores.
struct NewestActivityVersions: Sendable {
    static let activitiesMax = 200_000

    private var versions: BoundedTable<Fingerprint, Int64>

    init(max: Int = NewestActivityVersions.activitiesMax) { versions = BoundedTable(max: max) }

    mutating func saw(_ version: Int64, of activity: Fingerprint) {
        if let known = versions[activity], known >= version { return }
        versions.set(version, for: activity)
    }

    func isOlder(_ version: Int64, of activity: Fingerprint) -> Bool {
        versions[activity].map { $0 > version } ?? false
    }
}
