import FanOut
import Foundation
import Identifiers
import Jobs
import Payloads
import Sends

/// An independent account of the states that phones must show. It knows the order in which sends were
/// planned, but no versions.
struct FleetAccount {
    private var cancelled: Set<String> = []
    /// The events for each user of each group, in order.
    private var events: [String: [Event]] = [:]
    private var isOpen: [String: Bool] = [:]
    /// The separate generations of single recipients that a start has opened.
    private var separateGenerations: Set<String> = []
    /// Per send to named activities: the users who had one of them in their lane when the send arrived.
    private var reached: [String: Set<String>] = [:]
    /// Per send to named activities: the activities that their lane did not know when the send arrived. It reaches each of
    /// them alone, with its token.
    private var kept: [String: Set<String>] = [:]
    /// Per start of one user: the number of the user's events when it was planned.
    private var eventCountAtStart: [String: Int] = [:]
    /// Per group or private group: the number of the newest send that gave all its phones a state.
    private var newestSend: [String: Int] = [:]

    mutating func note(startsIn plan: Plan) {
        for progress in plan.progress {
            guard case .planner(let part) = progress.part, let recipient = part.recipient?.text,
                plan.expansions.contains(where: {
                    $0.expansion.send == progress.send && $0.expansion.content.event == .start
                }),
                let events = events["\(progress.key.group ?? "")/\(recipient.dropFirst(2))"]
            else { continue }
            eventCountAtStart["\(progress.send)/\(recipient)"] = events.count
        }
    }

    /// Returns the states that the start of one user may carry. Returns nil if there was no earlier event, if
    /// the start was also for others, or if the user got an END since. In the last case the start may carry
    /// later states, because its END follows.
    func statesWhenStarted(_ head: SheetHead, _ recipient: String) -> Set<String?>? {
        guard let count = eventCountAtStart["\(head.send)/\(recipient)"] else { return nil }
        let (group, user) = (head.group ?? "", String(recipient.dropFirst(2)))
        let before = truth(group, user, upTo: count)
        let truth = truth(group, user, upTo: nil)
        guard before.isKnown, !before.sentStates.isEmpty, truth.endCount == before.endCount else {
            return nil
        }
        return truth.states(since: before.sentStates.count, without: cancelled)
    }

    /// Returns the truth of a user in a group, or of one activity of the user. Nil without events.
    func truth(_ group: String, _ user: String, activity: String? = nil) -> Truth? {
        let truth = truth(group, user, activity: activity, upTo: nil)
        return truth.isKnown ? truth : nil
    }

    private func truth(_ group: String, _ user: String, activity: String? = nil, upTo count: Int?) -> Truth {
        let events = events["\(group)/\(user)"] ?? []
        var truth = Truth()
        for event in events.prefix(count ?? events.count) {
            if event.namesActivities, reached[event.send]?.contains(user) != true,
                activity.map({ kept[event.send]?.contains($0) != true }) ?? true
            {
                continue
            }
            truth.apply(event)
        }
        return truth
    }

    /// Returns the starts of the current generation that must have reached every phone with a start token in
    /// the lane at that time.
    func standingStarts(_ group: String, _ user: String) -> [Event] {
        guard let truth = truth(group, user), !truth.hasEnded, let openingSend = truth.openingSend else {
            return []
        }
        let events = events["\(group)/\(user)"] ?? []
        // If a cancelled start opened the user's separate generation, a start for everyone may not know that
        // generation.
        let isKnownOnlyByName =
            cancelled.contains(openingSend) && events.contains { $0.send == openingSend && $0.namesUser }
        return events.filter {
            $0.isInAudience && truth.openingSendOfStart[$0.send] == openingSend
                && !cancelled.contains($0.send)
                && (!isKnownOnlyByName || $0.namesUser)
        }
    }

    /// The state of a user's lane when a send is planned.
    struct User {
        let name: String
        /// The number of registry records that the lane has read and committed.
        let registryOffset: Int
    }

    /// Takes the sends of a plan. There can be several: a held send goes before the one that came.
    mutating func take(_ plan: Plan, users: [User]) throws {
        var sends: [String] = []
        for part in plan.expansions where !sends.contains(part.expansion.send) {
            sends.append(part.expansion.send)
        }
        for send in sends { try take(plan.expansions.filter { $0.expansion.send == send }, users: users) }
    }

    private mutating func take(_ parts: [Plan.LaneExpansion], users: [User]) throws {
        let send = parts[0].expansion
        guard let group = send.key.group else { return }
        let recipients = parts.flatMap { part -> [Expansion.ScopedRecipient] in
            if case .recipients(let list) = part.expansion.targets { list } else { [] }
        }
        let named = Dictionary(recipients.map { (String($0.recipient.text.dropFirst(2)), $0) }) { $1 }
        let namesActivities = if case .activities = send.targets { true } else { false }
        let isPrivate = send.key.recipient != nil
        let isForWholeGroup = !isPrivate && recipients.isEmpty && !namesActivities
        let scope = isPrivate ? "\(group)/\(named.keys.first ?? "")" : group
        let opensGeneration = send.content.event == .start && isOpen[scope] != true
        if isForWholeGroup || isPrivate, send.content.event != .start || opensGeneration {
            try checkOrder(of: send.send, in: scope)
        }
        if send.content.event == .start { isOpen[scope] = true }
        if send.content.event == .end, isForWholeGroup || isPrivate { isOpen[scope] = false }
        for user in users {
            let scoped = named[user.name]
            let isInAudience = isForWholeGroup || namesActivities || scoped != nil
            guard isInAudience || opensGeneration && !isPrivate else { continue }
            var event = Event(send)
            event.namesActivities = namesActivities
            event.isInAudience = isInAudience
            event.registryOffset = user.registryOffset
            event.opensGeneration = opensGeneration
            event.namesUser = scoped != nil
            event.generation = scoped?.generation ?? event.generation
            if let scoped, !isPrivate, scoped.scope == .recipient, scoped.version == scoped.generation {
                // Another start of the same generation joins it. The states since its opening stay valid.
                event.opensGeneration =
                    separateGenerations.insert("\(group)/\(user.name)/\(scoped.generation)").inserted
            }
            events["\(group)/\(user.name)", default: []].append(event)
        }
    }

    /// Checks that no send is planned after a send that was accepted later and has another state for the same phones. The
    /// number of a send is its place in the order of acceptance.
    private mutating func checkOrder(of send: String, in scope: String) throws {
        guard let number = Int(send.dropFirst()) else { return }
        if number < newestSend[scope, default: 0] {
            throw FleetHistory.Violation(
                description: "\(send) of \(scope) is planned after s\(newestSend[scope, default: 0])")
        }
        newestSend[scope] = number
    }

    /// Notes that a send to named activities has arrived at a lane and found these users' activities there.
    mutating func reach(_ users: Set<String>, by send: String) {
        reached[send, default: []].formUnion(users)
    }

    /// Notes that a send to named activities has arrived at the lane of these activities, which did not know them.
    mutating func keep(_ activities: Set<String>, by send: String) {
        kept[send, default: []].formUnion(activities)
    }

    func isCancelled(_ send: String) -> Bool { cancelled.contains(send) }

    mutating func cancel(_ send: Send) { cancelled.insert(send.id) }

    /// - Parameter isOwn: Whether the app began the activity itself.
    func states(of truth: Truth, isOwn: Bool) -> Set<String?> {
        isOwn ? truth.ownStates(without: cancelled) : truth.states(without: cancelled)
    }

}
