internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Sends
internal import Telemetry

/// The facts from which the reason for one installation is made: its record, the rows of its groups, and the
/// newest pushes to it, newest first.
struct PhoneDiagnosis {
    let installation: Installation
    let scopes: [ScopeKey: GroupRow]
    let pushes: [TimelinePush]
    /// Milliseconds since 1970.
    let now: Int64

    var id: String { if case .installation(let id) = installation.subject { id } else { "" } }

    static func time(_ milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).rfc3339 }

    /// Returns the pushes to an entry of the registry, newest first.
    func pushes(to entry: RegistryKey.Entry) -> [TimelinePush] {
        pushes.filter { $0.addressee.entry == entry.text }
    }

    /// Returns the push whose answer rejected the entry's token, or nil if no push was rejected.
    func refusal(of entry: RegistryKey.Entry, since time: Int64) -> TimelinePush? {
        pushes(to: entry).first { $0.outcome == .rejected && $0.at >= time }
    }
}
