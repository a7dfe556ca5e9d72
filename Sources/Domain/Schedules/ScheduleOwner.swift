package import Identifiers
internal import JSON
package import Sends

/// The owner of a timer: the owner of a private group, else the send's only user, else its group, else its
/// activity without a group. All timers of one owner lie in one partition, so that a cancel finds them in one
/// place.
package enum ScheduleOwner: Sendable, Hashable {
    case recipient(Recipient)
    case group(String)
    case activity(String)

    // Names are equal only byte by byte. `==` of String ignores differences in Unicode normalization.
    package static func == (a: ScheduleOwner, b: ScheduleOwner) -> Bool {
        switch (a, b) {
        case (.recipient(let a), .recipient(let b)): a == b
        case (.group(let a), .group(let b)), (.activity(let a), .activity(let b)): a.isExactlyEqual(to: b)
        case (.recipient, _), (.group, _), (.activity, _): false
        }
    }

    /// Creates the owner of a timed send. Nil for an invalid send.
    package init?(of send: Send) {
        if let owner = send.owner {
            self = .recipient(owner)
        } else if case .users(let users) = send.audience, users.count == 1 {
            self = .recipient(.user(users[0]))
        } else {
            switch send.scopeKey?.subject {
            case .group(let name): self = .group(name)
            case .activity(let name): self = .activity(name)
            case nil: return nil
            }
        }
    }

    private static let groupPrefix = "g:"
    private static let activityPrefix = "a:"

    /// The form in keys and records: `u:<user>`, `i:<installation>`, `g:<group>` or `a:<activity>`.
    package var text: String {
        switch self {
        case .recipient(let recipient): recipient.text
        case .group(let name): Self.groupPrefix + name
        case .activity(let name): Self.activityPrefix + name
        }
    }

    /// Reads the property `text` of another owner. Nil for any other text.
    package init?(text: String) {
        if let recipient = Recipient(text: text) {
            self = .recipient(recipient)
            return
        }
        // `u:` and `i:` were read above. The two remaining prefixes, `g:` and `a:`, have the same length.
        let name = String(decoding: text.utf8.dropFirst(Self.groupPrefix.utf8.count), as: UTF8.self)
        guard NameRules.problem(name) == nil else { return nil }
        if text.utf8.starts(with: Self.groupPrefix.utf8) {
            self = .group(name)
        } else if text.utf8.starts(with: Self.activityPrefix.utf8) {
            self = .activity(name)
        } else {
            return nil
        }
    }

    /// Returns the key of the owner's commands, `app/owner`. Its hash decides the partition of the timers.
    package func key(app: String) -> [UInt8] { RecordKey.join(app, text) }
}

extension JSONValue {
    /// Reads an owner and reports any other text.
    func scheduleOwner() -> ScheduleOwner {
        let text = string()
        if let owner = ScheduleOwner(text: text) { return owner }
        if isString {
            report("must be u: and a user, i: and an installation, g: and a group, or a: and an activity")
        }
        // The record is rejected because of the report, so this placeholder is not used.
        return .group("")
    }
}
