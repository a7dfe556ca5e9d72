import Foundation
import JSON
import Payloads
import Sends

/// A send, from the view of one user of a group.
struct Event {
    let send: String
    let kind: PushEvent
    let state: String?
    /// For a start: whether it opens a generation of the group or of the user.
    var opensGeneration = false
    /// Whether the user is in the audience. False if a start only opens the group's generation.
    var isInAudience = false
    var namesUser = false
    /// For a start: its generation, and the generation that it may open in the lane for a user that it names.
    var generation: Int64
    let sequence: Int64
    /// Whether the send names activities. Only lanes know their owners.
    var namesActivities = false
    /// The number of registry records that the user's lane had read when the send was planned.
    var registryOffset = 0

    init(_ expansion: Expansion) {
        send = expansion.send
        kind = expansion.content.event
        generation = expansion.generation
        sequence = expansion.sequence
        state = expansion.content.contentState.flatMap { raw in
            (try? JSONSerialization.jsonObject(with: Data(raw.bytes)) as? [String: Any])?["goals"].map {
                "\($0)"
            }
        }
    }
}

/// The states that one user of a group was sent.
struct Truth {
    /// The sends and their states, the newest last.
    private(set) var sentStates: [(send: String, state: String?, isStart: Bool)] = []
    private(set) var hasEnded = false
    private(set) var endCount = 0
    private(set) var isKnown = false
    /// The send that opened the current generation. Nil before the first.
    private(set) var openingSend: String?
    /// The generation of each start, by its opening send.
    private(set) var openingSendOfStart: [String: String] = [:]
    /// The generation numbers under which lanes know the current generation. It has one start under all of
    /// them together.
    private(set) var generations: Set<Int64> = []
    /// The number of sends before the newest END.
    private var sentCountAtEnd = 0

    mutating func apply(_ event: Event) {
        switch event.kind {
        case .start:
            // An END by activity id has removed this user. A start by the user's name restarts the user.
            if event.opensGeneration || event.namesUser && hasEnded {
                hasEnded = false
                openingSend = event.send
                generations = event.opensGeneration ? [event.generation] : []
                record(event, isStart: true)
            }
            if event.namesUser { generations.insert(event.sequence) }
            openingSendOfStart[event.send] = openingSend
        case .update: if !hasEnded { record(event, isStart: false) }
        case .end:
            hasEnded = true
            endCount += 1
            isKnown = true
            sentCountAtEnd = sentStates.count
        }
    }

    private mutating func record(_ event: Event, isStart: Bool) {
        sentStates.append((event.send, event.state, isStart))
        isKnown = true
    }

    /// Returns the states that a start may carry that came after the first `count` sends.
    func states(since count: Int, without cancelled: Set<String>) -> Set<String?> {
        let newest =
            sentStates.prefix(count).lastIndex { !Self.isCancelled($0.send, $0.state, in: cancelled) } ?? 0
        return Set(sentStates[newest...].map(\.state))
    }

    /// Returns the valid states. After a cancel, phones may show the cancelled state or the one before. A
    /// lane keeps one state behind the newest. If two were cancelled, a late token may get none.
    func states(without cancelled: Set<String>) -> Set<String?> {
        var states: Set<String?> = []
        for (send, state, _) in sentStates.reversed() {
            if states.count > 1 { states.insert(nil) }
            states.insert(state)
            if !Self.isCancelled(send, state, in: cancelled) { return states }
        }
        return states.union([nil])
    }

    /// Returns whether a state is cancelled. A restored state is cancelled with the send that it came from. A
    /// state is the number of its send.
    private static func isCancelled(_ send: String, _ state: String?, in cancelled: Set<String>) -> Bool {
        if cancelled.contains(send) { return true }
        guard let state, send.hasSuffix(".undo") else { return false }
        return cancelled.contains("s\(state)")
    }

    /// Returns the valid states of an activity that its app began. It may get the state of a start, but need
    /// not. Then the earlier state stands.
    func ownStates(without cancelled: Set<String>) -> Set<String?> {
        var states: Set<String?> = []
        var cancelledStates: Set<String?> = []
        for (send, state, isStart) in sentStates[sentCountAtEnd...].reversed() {
            if cancelledStates.count > 1 { states.insert(nil) }
            states.insert(state)
            if isStart { continue }
            if !Self.isCancelled(send, state, in: cancelled) { return states }
            cancelledStates.insert(state)
        }
        return states.union([nil])
    }
}
