internal import Identifiers
internal import Registry
package import Sends

/// The index of a group in a lane: members that a walk cannot find by the group's rows in the registry, in the order of
/// positions in which a walk goes through the registry. So a page reads its part of the index beside its tokens.
package enum GroupIndex {
    package enum Kind: UInt8, Sendable, CaseIterable {
        /// An activity that has joined the group without reporting it.
        case joinedActivity = 1
        /// A recipient with a separate scope row in the group.
        case recipientRow = 2

        /// The length of the part of a name that does not count for its bucket: `u:` or `i:` of a recipient.
        fileprivate var markBytes: Int { self == .recipientRow ? 2 : 0 }

        /// Returns the position of a name: its bucket, then the name. It lies among the positions of the registry, and
        /// a recipient's position has the bucket of the recipient's tokens.
        package func position(of name: [UInt8]) -> [UInt8] {
            let bucket = RecipientBucket.bucket(
                of: name.span.extracting(min(markBytes, name.count)..<name.count))
            return [UInt8(truncatingIfNeeded: bucket >> 8), UInt8(truncatingIfNeeded: bucket)] + name
        }
    }

    package struct Entry: Sendable, Hashable {
        package let position: [UInt8]

        package init(position: [UInt8]) { self.position = position }

        /// The id of the activity, or the recipient's text.
        package var name: [UInt8] { Array(position.dropFirst(RecipientBucket.byteCount)) }
    }

    /// The group and the position of one row of `starts` in the index of its group.
    package struct Row: Sendable, Hashable {
        package let kind: Kind
        package let group: ScopeKey
        package let position: [UInt8]

        /// Returns nil for a scope that no index contains.
        package init?(_ scope: LaneScope, under key: ScopeKey) {
            switch (key.subject, key.recipient) {
            case (.activity(let activity), _):
                guard let joined = scope.joinedGroup else { return nil }
                (kind, group) = (.joinedActivity, joined)
                position = kind.position(of: Array(activity.utf8))
            case (.group, let recipient?):
                (kind, group) = (.recipientRow, key.wholeGroup)
                position = kind.position(of: Array(recipient.text.utf8))
            case (.group, nil): return nil
            }
        }
    }

    /// Whether the index surely contains the row of a recipient that has one. A key with many escaped bytes may be too
    /// long for it. An escaped byte takes three.
    static func surelyContains(_ recipient: [UInt8], inGroupOf key: [UInt8]) -> Bool {
        key.count + 1 + 3 * recipient.count <= ScopeKey.bytesMax
    }
}
