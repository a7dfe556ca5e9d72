package import Identifiers
package import RecordFormat

/// The key of a `registry` record, for example `rides/u:anna/PHONE-1/update:A1`: the app, the recipient, the
/// installation and one of its entries.
package struct RegistryKey: Sendable, Hashable {
    /// A start token, an update token or the profile of an installation.
    package enum Entry: Sendable, Hashable {
        /// The push-to-start token of an activity type, or of every type of the app if `type` is nil.
        case start(type: String?)
        /// The update token of a running activity.
        case update(activity: String)
        case profile

        /// The last part of the key.
        package var text: String {
            switch self {
            case .start(let type): "start:\(type ?? "")"
            case .update(let activity): "update:\(activity)"
            case .profile: "profile"
            }
        }

        fileprivate static let startPrefix = Array("start:".utf8)
        fileprivate static let updatePrefix = Array("update:".utf8)
        fileprivate static let profileName = Array("profile".utf8)

        package static func == (a: Entry, b: Entry) -> Bool {
            switch (a, b) {
            case (.start(let a), .start(let b)): a.isExactlyEqual(to: b)
            case (.update(let a), .update(let b)): a.isExactlyEqual(to: b)
            case (.profile, .profile): true
            case (.start, _), (.update, _), (.profile, _): false
            }
        }

        /// Parses bytes and not characters, because a name may begin with a combining mark that Swift would
        /// join to the colon.
        package init?(text: some StringProtocol) {
            let bytes = text.utf8
            if bytes.elementsEqual(Self.profileName) {
                self = .profile
            } else if bytes.starts(with: Self.startPrefix) {
                let type = String(decoding: bytes.dropFirst(Self.startPrefix.count), as: UTF8.self)
                self = .start(type: type.isEmpty ? nil : type)
            } else if bytes.starts(with: Self.updatePrefix), bytes.count > Self.updatePrefix.count {
                let activity = String(decoding: bytes.dropFirst(Self.updatePrefix.count), as: UTF8.self)
                self = .update(activity: activity)
            } else {
                return nil
            }
        }
    }

    package var app: String
    package var recipient: Recipient
    /// Nil for a user's profile from a backend, which applies to all the user's installations.
    package var installation: Maybe<String>
    package var entry: Entry

    package init(app: String, recipient: Recipient, installation: String?, entry: Entry) {
        self.app = app
        self.recipient = recipient
        self.installation = installation
        self.entry = entry
    }

    package static func == (a: RegistryKey, b: RegistryKey) -> Bool {
        a.entry == b.entry && a.recipient == b.recipient && a.app == b.app
            && a.installation.isExactlyEqual(to: b.installation)
    }

    /// The encoded key. Without an installation, the third part is empty.
    package var bytes: [UInt8] {
        var bytes: [UInt8] = []
        write(to: &bytes)
        return bytes
    }

    /// Writes the key into a reused buffer.
    ///
    /// - Returns: the length in bytes of the prefix that equals `partitionKey(app:recipient:)`.
    @discardableResult
    package func write(to bytes: inout [UInt8]) -> Int {
        bytes.removeAll(keepingCapacity: true)
        RecordKey.append(app, to: &bytes)
        bytes.append(RecordKey.separator)
        RecordKey.append(recipient, to: &bytes)
        let partitionKeyByteCount = bytes.count
        bytes.append(RecordKey.separator)
        if let installation { RecordKey.append(installation, to: &bytes) }
        bytes.append(RecordKey.separator)
        switch entry {
        case .start(let type):
            bytes.append(contentsOf: Entry.startPrefix)
            if let type { RecordKey.append(type, to: &bytes) }
        case .update(let activity):
            bytes.append(contentsOf: Entry.updatePrefix)
            RecordKey.append(activity, to: &bytes)
        case .profile: bytes.append(contentsOf: Entry.profileName)
        }
        return partitionKeyByteCount
    }

    /// Returns nil if the bytes are not a registry key.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard let parts = unsafe RecordKey.split(bytes), parts.count == 4,
            AppIDRules.problem(parts[0]) == nil,
            let recipient = Recipient(text: parts[1]), let entry = Entry(text: parts[3])
        else { return nil }
        let installation = parts[2].isEmpty ? nil : parts[2]
        guard installation != nil || entry == .profile else { return nil }
        self.init(app: parts[0], recipient: recipient, installation: installation, entry: entry)
    }

    /// Returns the partition key of the topic. All records of one recipient lie in one lane.
    package static func partitionKey(app: String, recipient: Recipient) -> [UInt8] {
        RecordKey.join(app, recipient.text)
    }
}
