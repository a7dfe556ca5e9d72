internal import LiveActivity
internal import Telemetry

/// All that a sentence about one installation is made from: its record, the rows of its groups, and the newest pushes
/// to it, the newest first.
struct PhoneFacts {
    let installation: Installation
    let scopes: [GroupKey: GroupRow]
    let pushes: [PushSeen]
    /// Milliseconds since 1970.
    let now: Int64

    var id: String { if case .installation(let id) = installation.subject { id } else { "" } }

    static func time(_ milliseconds: Int64) -> String { WallTime(milliseconds: milliseconds).rfc3339 }

    /// Of an entry of the registry, the newest first.
    func pushes(to entry: RegistryKey.Entry) -> [PushSeen] {
        pushes.filter { $0.addressee.entry == entry.text }
    }

    /// When APNs refused the entry's token, and why; nil where no push says so.
    func refusal(of entry: RegistryKey.Entry, since time: Int64) -> PushSeen? {
        pushes(to: entry).first { $0.outcome == .rejected && $0.at >= time }
    }
}
