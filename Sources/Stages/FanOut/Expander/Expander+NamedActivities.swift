internal import CatalogRecords
internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// Sends to activities of a group by their ids. Only a lane knows the owner of an activity, so every lane gets such a
// send.

extension Expander {
    /// Replaces named activities by their owners. All activities of a recipient in the group then stay alike. The state
    /// is kept for activities that the lane does not know, because their tokens may come later.
    func nameOwners(in walk: inout ExpansionWalk) throws(StoreError) {
        let expansion = walk.expansion
        guard case .activities(let names) = expansion.targets, let group = expansion.key.group else { return }
        let selection = TokenSelection(
            app: expansion.key.app, tokens: .activities(names), environments: walk.app.environments, now: now)
        var owners: [Expansion.ScopedRecipient] = []
        var recipients: Set<[UInt8]> = []
        var activities: Set<[UInt8]> = []
        try forEachRow(of: selection) { row throws(StoreError) in
            guard let activity = row.activity, try isMember(row, of: group, app: expansion.key.app) else {
                return
            }
            activities.insert(Array(activity.utf8))
            let text = [UInt8](copying: row.recipient)
            guard recipients.insert(text).inserted,
                let recipient = Recipient(text: String(decoding: text, as: UTF8.self))
            else { return }
            owners.append(
                Expansion.ScopedRecipient(
                    recipient, scope: .recipient, generation: expansion.generation,
                    version: expansion.version, timestamp: expansion.timestamp))
        }
        walk.expansion.targets = .recipients(owners)
        if expansion.isDryRun || !expansion.key.isSharedGroup
            || names.count > NamedActivityCopies.keptActivitiesMax
        {
            return
        }
        try keepState(of: expansion, for: names.filter { !activities.contains(Array($0.utf8)) })
    }

    /// Keeps the state of a send for activities that the lane does not know. `catchUp` brings it to their tokens.
    private func keepState(of expansion: Expansion, for activities: [String]) throws(StoreError) {
        for activity in activities {
            let key = expansion.key.bytes(ofNamedActivity: activity)
            var scope = try table.scope(for: key) ?? LaneScope()
            scope.noteSend(
                with: expansion.state(version: expansion.version, timestamp: expansion.timestamp),
                as: expansion.content.event, generation: expansion.generation)
            set(scope, under: key)
        }
        try noteRows(of: activities, in: expansion.key)
    }

    /// Notes in the row of a group that recipients or activities have separate rows.
    func noteRows(of names: [String], in group: ScopeKey) throws(StoreError) {
        if names.isEmpty { return }
        let key = group.bytes
        var whole = try table.scope(for: key) ?? .unsubscribed
        let known = whole.namesWithRows
        for name in names { whole.namesWithRows.insert(name) }
        if whole.namesWithRows == known { return }
        set(whole, under: key)
        cachedGroup = nil
    }
}
