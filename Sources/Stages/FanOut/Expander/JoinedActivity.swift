internal import Registry

/// An activity that has joined a group without reporting it. A walk cannot find it by the group's rows in the registry. So
/// the lane has an index of them for each group, in the order of positions in which a walk goes through the registry. A
/// page reads its part of the index beside its tokens.
package struct JoinedActivity: Sendable, Hashable {
    /// The bucket of the id, then the id.
    package let position: [UInt8]

    package init(position: [UInt8]) { self.position = position }

    package init(id: String) {
        let id = Array(id.utf8)
        let bucket = RecipientBucket.bucket(of: id.span)
        position = [UInt8(truncatingIfNeeded: bucket >> 8), UInt8(truncatingIfNeeded: bucket)] + id
    }

    package var id: String { String(decoding: position.dropFirst(RecipientBucket.byteCount), as: UTF8.self) }
}
