package import Identifiers

/// The name of a scope, within which the versions of sends are ordered: a group, one recipient within a group, a
/// group that is private to one recipient, or an activity without a group. It is also the key of the scope's row
/// in `groups`.
package struct ScopeKey: Sendable, Hashable {
    /// The group, or the activity without a group.
    package enum Subject: Sendable, Hashable {
        case group(String)
        case activity(String)

        package static func == (a: Subject, b: Subject) -> Bool {
            switch (a, b) {
            case (.group(let a), .group(let b)), (.activity(let a), .activity(let b)): a.isExactlyEqual(to: b)
            case (.group, .activity), (.activity, .group): false
            }
        }
    }

    /// The maximum length of `bytes`. The views of planner and scheduler accept keys of this length, with
    /// space for their own prefixes. Only names with many escaped slashes or percent signs come near it.
    package static let bytesMax = 480

    package var app: String
    package var subject: Subject
    package var recipient: Recipient?

    package init(app: String, group: String, recipient: Recipient? = nil) {
        self.app = app
        subject = .group(group)
        self.recipient = recipient
    }

    package init(app: String, activity: String) {
        self.app = app
        subject = .activity(activity)
    }

    package var group: String? { if case .group(let name) = subject { name } else { nil } }

    /// Whether this is a group that may have many recipients.
    package var isSharedGroup: Bool { group != nil && recipient == nil }

    /// The same key without the recipient.
    package var wholeGroup: ScopeKey {
        var key = self
        key.recipient = nil
        return key
    }

    /// Returns the scope of one recipient within the group.
    package func narrowed(to recipient: Recipient) -> ScopeKey {
        var key = self
        key.recipient = recipient
        return key
    }

    /// Returns `app/group/a:activity`: the key of a lane's row for an activity that a send has named before its token was
    /// known. No recipient's text begins with `a:`.
    package func bytes(ofNamedActivity activity: String) -> [UInt8] {
        RecordKey.join(app, group ?? "", "a:" + activity)
    }

    /// `app/group`, `app/group/recipient`, or `app//activity`, for example `shop/match-42/u:ann`. No group has an
    /// empty name, so the forms are distinct.
    package var bytes: [UInt8] {
        switch (subject, recipient) {
        case (.group(let group), nil): RecordKey.join(app, group)
        case (.group(let group), let recipient?): RecordKey.join(app, group, recipient.text)
        case (.activity(let activity), _): RecordKey.join(app, "", activity)
        }
    }

    /// Returns nil if the bytes are not such a key, for example if they are the key of a `SendIdempotencyRow`.
    package init?(bytes: UnsafeRawBufferPointer) {
        guard let parts = unsafe RecordKey.split(bytes), parts.count >= 2, AppIDRules.problem(parts[0]) == nil
        else { return nil }
        switch (parts.count, parts[1].isEmpty) {
        case (2, false): self.init(app: parts[0], group: parts[1])
        case (3, false):
            guard let recipient = Recipient(text: parts[2]) else { return nil }
            self.init(app: parts[0], group: parts[1], recipient: recipient)
        case (3, true): self.init(app: parts[0], activity: parts[2])
        default: return nil
        }
        guard NameRules.problem(subjectText) == nil else { return nil }
    }

    private var subjectText: String {
        switch subject {
        case .group(let text), .activity(let text): text
        }
    }
}
