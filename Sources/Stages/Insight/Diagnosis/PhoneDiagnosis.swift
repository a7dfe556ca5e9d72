internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Sends
internal import Telemetry

/// Finds the reason for what a phone shows, from facts that `QueryHandler` has collected: the installation, the
/// rows of its groups, and the newest pushes to it.
struct PhoneDiagnosis {
    let installation: Installation
    /// The states of the installation's groups, by scope.
    let scopes: [ScopeKey: GroupRow]
    /// Newest first.
    let pushes: [TimelinePush]
    /// Milliseconds since 1970.
    let now: Int64

    /// The reason for what the phone shows. A problem of the whole phone comes first, then its activities,
    /// then its start tokens.
    var reason: DisplayReason {
        var reason = wholePhoneReason ?? activityReason ?? startReason
        reason.installation = installationID
        return reason
    }

    /// Returns the reason for what one activity shows. The end of the activity comes first, then a problem
    /// that keeps all pushes from it, then the versions that were pushed.
    func reason(for activity: Installation.Activity) -> DisplayReason {
        var reason = endReason(of: activity) ?? unreachableReason(of: activity) ?? shownReason(of: activity)
        reason.installation = installationID
        reason.activity = activity.id
        reason.group = activity.group?.value
        return reason
    }

    // MARK: Facts

    var installationID: String { if case .installation(let id) = installation.subject { id } else { "" } }

    static func time(_ milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).rfc3339 }

    /// Returns a time to append to a clause, such as " at 2026-11-20T20:00:00.000Z", or an empty text for no time.
    static func timeSuffix(_ milliseconds: Int64?) -> String { milliseconds.map { " at \(time($0))" } ?? "" }

    /// Returns the pushes to an entry of the registry, newest first.
    func pushes(to entry: RegistryKey.Entry) -> [TimelinePush] {
        pushes.filter { $0.addressee.entry == entry.text }
    }

    /// Returns the newest push to the entry that APNs rejected, or nil if none was rejected since `time`.
    func newestRefusal(of entry: RegistryKey.Entry, since time: Int64) -> TimelinePush? {
        pushes(to: entry).first { $0.outcome == .rejected && $0.at >= time }
    }
}
