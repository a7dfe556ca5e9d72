import FanOut
import Foundation
import LiveActivity

/// A second account of what phones must show: it knows in which order sends were planned, and no versions.
struct FleetAccount {
    private var cancelled: Set<String> = []
    /// What was said to each user of each group, in its order.
    private var events: [String: [Event]] = [:]
    private var isOpen: [String: Bool] = [:]
    /// Lives of single recipients that a start has opened.
    private var ownLives: Set<String> = []
    /// Of each send to named activities: users who had one of them in their lane when it came there.
    private var reached: [String: Set<String>] = [:]
    /// Of each start of one user alone: how many events its user had when it was planned.
    private var saidBefore: [String: Int] = [:]

    mutating func note(startsIn plan: Plan) {
        for progress in plan.progress {
            guard case .verdict(let part) = progress.part, let recipient = part.recipient?.text,
                plan.parts.contains(where: {
                    $0.expansion.send == progress.send && $0.expansion.content.event == .start
                }),
                let events = events["\(progress.key.group ?? "")/\(recipient.dropFirst(2))"]
            else { continue }
            saidBefore["\(progress.send)/\(recipient)"] = events.count
        }
    }

    /// Nil where nothing was said before, where the start was for others as well, and where its user was ended since:
    /// then it may say what others were told after that, and its end follows.
    func statesWhenStarted(_ head: SheetHead, _ recipient: String) -> Set<String?>? {
        guard let count = saidBefore["\(head.send)/\(recipient)"] else { return nil }
        let (group, user) = (head.group ?? "", String(recipient.dropFirst(2)))
        let before = truth(group, user, upTo: count)
        let truth = truth(group, user, upTo: nil)
        guard before.isKnown, !before.said.isEmpty, truth.ends == before.ends else { return nil }
        return truth.states(since: before.said.count, without: cancelled)
    }

    /// Nil where nothing was said.
    func truth(_ group: String, _ user: String) -> Truth? {
        let truth = truth(group, user, upTo: nil)
        return truth.isKnown ? truth : nil
    }

    private func truth(_ group: String, _ user: String, upTo count: Int?) -> Truth {
        let events = events["\(group)/\(user)"] ?? []
        var truth = Truth()
        for event in events.prefix(count ?? events.count) {
            if event.isByName, reached[event.send]?.contains(user) != true { continue }
            truth.take(event)
        }
        return truth
    }

    /// Starts that must have begun something on whoever had a start token in the lane by then, in the life that is.
    func standingStarts(_ group: String, _ user: String) -> [Event] {
        guard let truth = truth(group, user), !truth.hasEnded, let life = truth.life else { return [] }
        let events = events["\(group)/\(user)"] ?? []
        // Of a life of the user's own whose start was taken back a start for all may know nothing.
        let isOnlyNamed = cancelled.contains(life) && events.contains { $0.send == life && $0.namesUser }
        return events.filter {
            $0.isFor && truth.lives[$0.send] == life && !cancelled.contains($0.send)
                && (!isOnlyNamed || $0.namesUser)
        }
    }

    /// What holds when sends are planned, where they lie in the user's lane.
    struct User {
        let name: String
        /// Records of the registry that its lane has read for good.
        let registry: Int
    }

    /// A plan can have several sends: one that was held goes before the one that came.
    mutating func take(_ plan: Plan, users: [User]) {
        var sends: [String] = []
        for part in plan.parts where !sends.contains(part.expansion.send) {
            sends.append(part.expansion.send)
        }
        for send in sends { take(plan.parts.filter { $0.expansion.send == send }, users: users) }
    }

    private mutating func take(_ parts: [Plan.Part], users: [User]) {
        let send = parts[0].expansion
        guard let group = send.key.group else { return }
        let recipients = parts.flatMap { part -> [Expansion.ScopedRecipient] in
            if case .recipients(let list) = part.expansion.targets { list } else { [] }
        }
        let named = Dictionary(recipients.map { (String($0.recipient.text.dropFirst(2)), $0) }) { $1 }
        let isByName = if case .activities = send.targets { true } else { false }
        let isPrivate = send.key.recipient != nil
        let isWhole = !isPrivate && recipients.isEmpty && !isByName
        let scope = isPrivate ? "\(group)/\(named.keys.first ?? "")" : group
        let opens = send.content.event == .start && isOpen[scope] != true
        if send.content.event == .start { isOpen[scope] = true }
        if send.content.event == .end, isWhole || isPrivate { isOpen[scope] = false }
        for user in users {
            let scoped = named[user.name]
            let isFor = isWhole || isByName || scoped != nil
            guard isFor || opens && !isPrivate else { continue }
            var event = Event(send)
            event.isByName = isByName
            event.isFor = isFor
            event.registry = user.registry
            event.opens = opens
            event.namesUser = scoped != nil
            event.generation = scoped?.generation ?? event.generation
            if let scoped, !isPrivate, scoped.scope == .recipient, scoped.version == scoped.generation {
                // Another start of the same life joins it: what was said to the recipient since stands.
                event.opens = ownLives.insert("\(group)/\(user.name)/\(scoped.generation)").inserted
            }
            events["\(group)/\(user.name)", default: []].append(event)
        }
    }

    /// A send to named activities has come to a lane, and found them there.
    mutating func reach(_ users: Set<String>, by send: String) {
        reached[send, default: []].formUnion(users)
    }

    mutating func takeBack(_ send: Send) { cancelled.insert(send.id) }

    /// - Parameter isOwn: the app began it by itself.
    func states(of truth: Truth, isOwn: Bool) -> Set<String?> {
        isOwn ? truth.ownStates(without: cancelled) : truth.states(without: cancelled)
    }

}
