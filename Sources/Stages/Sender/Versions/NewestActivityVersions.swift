/// The newest known version of each activity, for sends to a recipient's scope. The topic `superseded` has no records
/// about these, so the sheets are the only source. A forgotten version costs a push that the phone ignores.
struct NewestActivityVersions: Sendable {
    /// Limit of remembered activities. At the limit the ones that were not seen for longest are forgotten.
    static let activitiesMax = 200_000

    private var versions: BoundedTable<Fingerprint, Int64>

    init(max: Int = NewestActivityVersions.activitiesMax) { versions = BoundedTable(max: max) }

    /// Notes a version of an activity.
    mutating func note(_ version: Int64, of activity: Fingerprint) {
        if let known = versions[activity], known >= version { return }
        versions.set(version, for: activity)
    }

    /// Returns whether a newer version of the activity is known.
    func isOlder(_ version: Int64, of activity: Fingerprint) -> Bool {
        versions[activity].map { $0 > version } ?? false
    }
}
