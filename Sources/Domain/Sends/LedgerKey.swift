package import Identifiers

/// The key of a ledger row: `app/group/recipient/generation/installation`, for example
/// `shop/match-42/u:ann/1763600000/phone-1`. For an activity without a group it is
/// `app//activity/recipient/generation/installation`.
package struct LedgerKey: Sendable, Hashable {
    package var app: String
    package var subject: ScopeKey.Subject
    package var recipient: Recipient
    package var generation: Int64
    package var installation: String

    /// The number of parts after the subject: recipient, generation and installation.
    private static let trailingPartCount = 3

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

    /// Returns nil if the bytes are not such a key, for example if they are the key of a scope.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard let parts = unsafe RecordKey.split(bytes), parts.count >= 2 + Self.trailingPartCount,
            AppIDRules.problem(parts[0]) == nil
        else { return nil }
        // An activity without a group has an empty part before its name.
        let isActivity = parts[1].isEmpty
        let subjectIndex = isActivity ? 2 : 1
        let subjectName = parts[subjectIndex]
        let subject: ScopeKey.Subject = isActivity ? .activity(subjectName) : .group(subjectName)
        let trailingParts = parts.dropFirst(subjectIndex + 1)
        guard trailingParts.count == Self.trailingPartCount, NameRules.problem(subjectName) == nil,
            let recipient = Recipient(text: trailingParts[trailingParts.startIndex]),
            let generation = Int64(trailingParts[trailingParts.startIndex + 1]),
            let installation = trailingParts.last, NameRules.problem(installation) == nil
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

/// A builder of the keys of a group's scopes and ledger rows, from names that lie as bytes in a page of the
/// registry. An expander builds keys for every member of a group, so the part `app/group/` is encoded only once,
/// and the caller's buffer is reused.
package struct LedgerKeyWriter {
    private let groupPrefix: [UInt8]

    package init(app: String, group: String) {
        groupPrefix = RecordKey.join(app, group) + [RecordKey.separator]
    }

    /// Replaces the content of `key` by the key of a recipient's scope: `app/group/recipient`.
    ///
    /// - Parameter recipient: `u:<user>` or `i:<installation>`.
    package func writeScopeKey(of recipient: Span<UInt8>, into key: inout [UInt8]) {
        key.removeAll(keepingCapacity: true)
        key.append(contentsOf: groupPrefix)
        RecordKey.append(recipient, to: &key)
    }

    /// Replaces the content of `key` by `app/group/recipient/generation/installation`.
    ///
    /// - Parameter generation: the generation in decimal digits.
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
