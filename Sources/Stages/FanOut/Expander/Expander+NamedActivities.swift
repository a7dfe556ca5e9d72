internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// Sends to activities of a group by their ids. Only a lane knows the owner of an activity, so every lane gets such a
// send.

extension Expander {
    /// Replaces named activities by their recipients. All activities of a recipient in the group then stay alike. The
    /// state is kept for activities that the lane does not know, because their tokens may come later.
    mutating func nameRecipients(
        of expansion: inout Expansion, under scopeKey: [UInt8], _ app: App, by page: inout TokenPage
    ) throws(StoreError) {
        guard case .activities(let names) = expansion.targets, let group = expansion.key.group else { return }
        var selection = TokenSelection(
            app: expansion.key.app, tokens: .activities(names), environments: app.environments, now: now)
        selection.osMin = nil
        var found: [Expansion.ScopedRecipient] = []
        var recipients: Set<[UInt8]> = []
        var activities: Set<[UInt8]> = []
        var cursor: PageCursor? = PageCursor()
        while let place = cursor {
            cursor = try registry.fillPage(with: selection, from: place, into: &page)
            for index in 0..<page.count {
                guard try isMember(page[index], of: group, app: expansion.key.app),
                    let activity = page[index].activity
                else { continue }
                activities.insert(Array(activity.utf8))
                let text = [UInt8](copying: page[index].recipient)
                guard !recipients.contains(text),
                    let recipient = Recipient(text: String(decoding: text, as: UTF8.self))
                else { continue }
                recipients.insert(text)
                found.append(
                    Expansion.ScopedRecipient(
                        recipient, scope: .recipient, generation: expansion.generation,
                        version: expansion.version, timestamp: expansion.timestamp))
            }
        }
        expansion.targets = .recipients(found)
        if expansion.isDryRun || !expansion.key.isSharedGroup
            || names.count > NamedActivityCopies.keptActivitiesMax
        {
            return
        }
        try keepState(of: expansion, for: names.filter { !activities.contains(Array($0.utf8)) })
    }

    /// Keeps the state of a send for activities that the lane does not know. `catchUp` brings it to their tokens.
    private mutating func keepState(of expansion: Expansion, for activities: [String]) throws(StoreError) {
        for activity in activities {
            let key = expansion.key.bytes(ofNamedActivity: activity)
            var scope = try table.scope(for: key) ?? LaneScope()
            scope.begin(
                expansion.state(version: expansion.version, timestamp: expansion.timestamp),
                as: expansion.content.event, generation: expansion.generation)
            set(scope, under: key)
        }
        try noteRows(of: activities, in: expansion.key)
    }

    /// Notes in the row of a group that recipients or activities have separate rows.
    mutating func noteRows(of names: [String], in group: ScopeKey) throws(StoreError) {
        if names.isEmpty { return }
        let key = group.bytes
        var whole = try table.scope(for: key) ?? .unsubscribed
        let known = whole.namesWithRows
        for name in names { whole.namesWithRows.insert(name) }
        if whole.namesWithRows == known { return }
        set(whole, under: key)
        cachedGroup = nil
    }

    /// Keeps in the recipient's row that a late token of an activity gets a state that was kept for it. So later
    /// updates go above its timestamp, and none follows its END.
    ///
    /// - Parameters:
    ///   - known: the recipient's row, if there is one.
    ///   - key: the key of that row.
    mutating func noteKeptState(
        of activity: String, hasEnded: Bool, timestamp: Int64, version: Int64, in known: LaneScope?,
        under key: ScopeKey
    ) throws(StoreError) {
        var own = known ?? LaneScope()
        if hasEnded {
            let ended = LaneScope.EndedActivity(activity, endVersion: version)
            if own.endedActivities.contains(ended) { return }
            own.endedActivities = own.endedActivities.suffix(LaneScope.endedActivitiesMax - 1) + [ended]
        } else {
            guard version > own.timestampVersion else { return }
            (own.timestamp, own.timestampVersion) = (timestamp, version)
        }
        set(own, under: key.bytes)
        if known == nil, let recipient = key.recipient {
            try noteRows(of: [recipient.text], in: key.wholeGroup)
        }
    }
}
