package import Identifiers
package import JSON
internal import RecordFormat

/// A start for which a lane has written a job, or an activity that its app began: a row of the ledger in
/// `starts`. An installation gets at most one start in a generation of a scope.
package struct LedgerRow: JSONRecord, Hashable {
    package static let schemaVersion = 1

    /// The newest state that the start carried.
    package var version: Int64
    /// The time of the start, in milliseconds since 1970.
    package var startedAt: Int64
    /// The Swift name of the `ActivityAttributes` type.
    package var type: String
    /// The version of the safety END, which precedes the system's own end. 0 if there was none.
    package var safetyEndVersion: Int64 = 0

    package init(version: Int64, startedAt: Int64, type: String) {
        self.version = version
        self.startedAt = startedAt
        self.type = type
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("version", version)
        writer.field("at", startedAt)
        writer.field("type", type)
        writer.field("endedAt", safetyEndVersion == 0 ? nil : safetyEndVersion)
    }

    package init(from record: JSONObject) {
        self.init(
            version: record["version"].version(), startedAt: record["at"].timeMilliseconds(),
            type: record["type"].name())
        safetyEndVersion = record["endedAt"].optional?.version() ?? 0
    }
}

/// The key of a ledger row: `app/group/recipient/generation/installation`. For an activity without a group it
/// is `app//activity/recipient/generation/installation`.
package struct LedgerKey: Sendable, Hashable {
    package var app: String
    package var subject: ScopeKey.Subject
    package var recipient: Recipient
    package var generation: Int64
    package var installation: String

    /// The number of parts after the subject.
    private static let trailingParts = 3

    package init(
        app: String, subject: ScopeKey.Subject, recipient: Recipient, generation: Int64,
        installation: String
    ) {
        self.app = app
        self.subject = subject
        self.recipient = recipient
        self.generation = generation
        self.installation = installation
    }

    package var group: String? { if case .group(let name) = subject { name } else { nil } }

    package var bytes: [UInt8] {
        let generation = String(generation)
        return switch subject {
        case .group(let group): RecordKey.join(app, group, recipient.text, generation, installation)
        case .activity(let activity):
            RecordKey.join(app, "", activity, recipient.text, generation, installation)
        }
    }

    /// Returns nil for the key of a scope.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard let parts = unsafe RecordKey.split(bytes), parts.count >= 2 + Self.trailingParts,
            AppIDRules.problem(parts[0]) == nil
        else { return nil }
        let subject: ScopeKey.Subject = parts[1].isEmpty ? .activity(parts[2]) : .group(parts[1])
        let rest = parts.dropFirst(parts[1].isEmpty ? 3 : 2)
        guard rest.count == Self.trailingParts, NameRules.problem(parts[parts[1].isEmpty ? 2 : 1]) == nil,
            let recipient = Recipient(text: rest[rest.startIndex]),
            let generation = Int64(rest[rest.startIndex + 1]), let installation = rest.last,
            NameRules.problem(installation) == nil
        else { return nil }
        self.init(
            app: parts[0], subject: subject, recipient: recipient, generation: generation,
            installation: installation)
    }

    package init?(bytes: [UInt8]) {
        guard let key = unsafe bytes.withUnsafeBytes({ unsafe LedgerKey(bytes: $0) }) else { return nil }
        self = key
    }
}

/// A builder of keys for a group's scopes and ledger rows from the texts of a page. It encodes the group's
/// part only once.
package struct LedgerKeyWriter {
    private let group: [UInt8]

    /// - Parameter group: the group, without a recipient.
    package init(app: String, group: String) {
        self.group = RecordKey.join(app, group) + [RecordKey.separator]
    }

    /// Builds the key of a recipient's scope.
    ///
    /// - Parameter recipient: `u:<user>` or `i:<installation>`.
    package func writeScopeKey(of recipient: Span<UInt8>, into key: inout [UInt8]) {
        key.removeAll(keepingCapacity: true)
        key.append(contentsOf: group)
        RecordKey.append(recipient, to: &key)
    }

    package func writeLedgerKey(
        of recipient: Span<UInt8>, on installation: Span<UInt8>, generation: [UInt8], into key: inout [UInt8]
    ) {
        writeScopeKey(of: recipient, into: &key)
        key.append(RecordKey.separator)
        key.append(contentsOf: generation)
        key.append(RecordKey.separator)
        RecordKey.append(installation, to: &key)
    }
}
