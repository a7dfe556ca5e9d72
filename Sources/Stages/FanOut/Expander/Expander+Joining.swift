internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// Activities that join a group without reporting it. Such an activity was started by a push, and its app reports its
// token without the group. It joins the group of the newest start of its type on its installation.

/// An activity that has joined a group without reporting it. A walk cannot find it by the group's rows in the registry.
/// So the lane has an index of them for each group, in the order of positions in which a walk goes through the
/// registry. A page reads its part of the index beside its tokens.
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

extension Expander {
    /// The most joined activities that are read together.
    static var joinedAtATimeMax: Int { 1000 }

    // MARK: Membership

    /// Returns the group that an activity without a reported group has joined.
    func joined(_ row: borrowing TokenPageRow, app: String) throws(StoreError) -> ScopeKey? {
        guard row.group == nil, let activity = row.activity else { return nil }
        return try table.scope(for: ScopeKey(app: app, activity: activity).bytes)?.joinedGroup
    }

    /// Whether the row's activity has reported the group, or has joined it and reported none.
    func isMember(_ row: borrowing TokenPageRow, of group: String, app: String) throws(StoreError) -> Bool {
        if let reported = row.group { return Array(group.utf8).equals(reported) }
        return try joined(row, app: app)?.group?.isExactlyEqual(to: group) ?? false
    }

    // MARK: Walks

    /// Whether the walk must look for activities that have joined the group without reporting it.
    func mayHaveJoined(_ walk: ExpansionWalk) -> Bool {
        walk.expansion.content.event != .start && walk.expansion.key.group != nil && walk.scope.hasJoined
    }

    /// Reads the activities that have joined the group, from the beginning of a range.
    func joinedMembers(of walk: ExpansionWalk, in range: KeyRange) throws(StoreError) -> JoinedMembers {
        guard mayHaveJoined(walk) else { return JoinedMembers() }
        let countMax = min(max(1, walk.rowsLeft), Self.joinedAtATimeMax)
        let joined = try table.joinedActivities(of: walk.expansion.key, in: range, countMax: countMax + 1)
        return JoinedMembers(
            activities: joined.prefix(countMax), restPosition: joined.dropFirst(countMax).first?.position)
    }

    /// Walks joined activities of a part. The registry has their rows under no group, so they are looked up by their
    /// ids.
    func walkJoined(_ activities: [String], of walk: inout ExpansionWalk) throws(StoreError) {
        if activities.isEmpty { return }
        let selection = TokenSelection(
            app: walk.expansion.key.app, tokens: .activities(activities), environments: walk.app.environments,
            now: now)
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &buffer.page)
            try take(buffer.page, of: &walk, isOfJoined: true)
        }
    }

    /// Returns the number of the activities that have joined the group, and that are still in the registry without a
    /// group.
    func joinedCount(of group: ScopeKey) throws(StoreError) -> Int {
        var count = 0
        var range = KeyRange.everything
        while true {
            let joined = try table.joinedActivities(of: group, in: range, countMax: Self.joinedAtATimeMax)
            count += try registry.countOfActivitiesWithoutGroup(among: joined.map(\.id), app: group.app)
            guard joined.count == Self.joinedAtATimeMax, let last = joined.last else { return count }
            range.advance(past: last.position.span)
        }
    }

    // MARK: Joining

    /// Returns the group of an activity that reported none. It is the group of the newest start of its type on its
    /// installation, at the time of the activity's first token. It never changes, even if something is started later.
    func join(
        _ row: borrowing TokenPageRow, _ activity: String, of recipient: Recipient, app: String
    ) throws(StoreError) -> String? {
        let key = ScopeKey(app: app, activity: activity)
        var scope = try table.scope(for: key.bytes) ?? LaneScope()
        if let joined = scope.joinedGroup { return joined.group }
        // The index of the group reads the activity's name from the key of this row. A very long key is replaced by its
        // digest, without the name. So an activity with a key above the limit joins no group.
        guard key.bytes.count <= ScopeKey.bytesMax, let type = row.attributesType,
            let found = try table.newestStart(
                app: app, recipient: recipient,
                installation: String(copying: row.installation),
                type: String(copying: type))
        else { return nil }
        scope.joinedGroup = found.group.map { ScopeKey(app: app, group: $0) }
        set(scope, under: key.bytes)
        if let joined = scope.joinedGroup { try noteJoin(of: recipient, to: joined) }
        return found.group
    }

    /// Notes in the rows of a group, and of the recipient in it, that an activity has joined it. The sends to a private
    /// group look only at its owner's row.
    private func noteJoin(of recipient: Recipient, to key: ScopeKey) throws(StoreError) {
        let ownKey = key.narrowed(to: recipient).bytes
        if var own = try table.scope(for: ownKey), !own.hasJoined {
            own.hasJoined = true
            set(own, under: ownKey)
        }
        // `subscribedScope` comes first: it subscribes again if the row was not written for long, and the write below
        // makes the row look recent.
        var whole = try subscribedScope(of: key)
        if whole.hasJoined { return }
        whole.hasJoined = true
        set(whole, under: key.bytes)
        cachedGroup = nil
    }
}

/// The next activities of a walk that have joined a group.
struct JoinedMembers {
    /// The activities that were read at once, in the order of their positions.
    var activities: ArraySlice<JoinedActivity> = []
    /// The position of the first one that was not read. Nil if there is no other in the range.
    var restPosition: [UInt8]?

    /// Returns the ids of the activities before a position.
    func ids(before end: [UInt8]?) -> [String] {
        activities.prefix { activity in end.map { activity.position.lexicographicallyPrecedes($0) } ?? true }
            .map(\.id)
    }
}
